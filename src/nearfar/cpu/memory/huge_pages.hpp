// The pages of fresh memory, made before rows are written to it.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace nearfar {

inline constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21;

// Writes a byte to itself. Other threads may store their rows beside it or on it meanwhile: one
// locked instruction loses no store of theirs. C++ calls that a race, so no sanitizer looks.
#if defined(_MSC_VER) && !defined(__clang__)
inline void touch_byte(char* byte) {
  _InterlockedOr8(byte, 0);
}
#else
__attribute__((no_sanitize("thread"))) inline void touch_byte(char* byte) {
  __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);  // libc++ has std::atomic_ref from 19 on
}
#endif

// Makes the huge page that holds an address, up to `end` of the memory. The system clears a page
// towards the byte that is touched: at the last one it goes upwards, which halves the time.
inline void make_page(std::uintptr_t address, std::uintptr_t end) {
  const std::uintptr_t last = (address / kHugePage + 1) * kHugePage;
  touch_byte(reinterpret_cast<char*>((last < end ? last : end) - 1));
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
