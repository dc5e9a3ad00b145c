// Allocation of the pages of fresh memory before rows are written to it.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace nearfar {

inline constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21;

// Writes a byte's own value back. Other threads may store to the byte or next to it meanwhile, and
// a locked instruction loses none of their stores. C++ calls that a race, so sanitizers skip it.
#if defined(_MSC_VER) && !defined(__clang__)
inline void touch_byte(char* byte) {
  _InterlockedOr8(byte, 0);
}
#else
__attribute__((no_sanitize("thread"))) inline void touch_byte(char* byte) {
  __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);  // libc++ has std::atomic_ref from 19 on
}
#endif

// Allocates the huge page of an address, in memory that ends at `end`. Touching its last byte makes
// the system clear the page upwards, which takes half the time.
inline void make_page(std::uintptr_t address, std::uintptr_t end) {
  const std::uintptr_t last = (address / kHugePage + 1) * kHugePage;
  touch_byte(reinterpret_cast<char*>((last < end ? last : end) - 1));
}

// Allocates the pages of some entries, in memory that ends at `end`.
template <class T>
void make_pages(T* first, std::size_t count, const T* end) {
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  const auto stop = reinterpret_cast<std::uintptr_t>(first + count);
  for (std::uintptr_t at = begin; at < stop; at = (at / kHugePage + 1) * kHugePage)
    make_page(at, reinterpret_cast<std::uintptr_t>(end));
}

}  // namespace nearfar
