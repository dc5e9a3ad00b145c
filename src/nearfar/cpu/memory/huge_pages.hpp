// The pages of fresh memory, made before rows are written to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nearfar {

inline constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21;

// Makes the huge page that holds an address, up to `end` of the memory. The system clears a page
// towards the byte that is touched: at the last one it goes upwards, which halves the time.
inline void make_page(std::uintptr_t address, std::uintptr_t end) {
  const std::uintptr_t last = (address / kHugePage + 1) * kHugePage;
  auto* byte = reinterpret_cast<unsigned char*>((last < end ? last : end) - 1);
  std::atomic_ref<unsigned char>(*byte).fetch_or(0, std::memory_order_relaxed);  // keeps its value
}

// Makes the pages of some entries, which are part of memory that ends at `end`.
template <class T>
void make_pages(T* first, std::size_t count, const T* end) {
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  const auto stop = reinterpret_cast<std::uintptr_t>(first + count);
  for (std::uintptr_t at = begin; at < stop; at = (at / kHugePage + 1) * kHugePage)
    make_page(at, reinterpret_cast<std::uintptr_t>(end));
}

}  // namespace nearfar
