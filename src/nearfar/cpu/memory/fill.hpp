// Filling an array with one number at the speed of memory. Without -O3 compilers store the numbers
// of std::fill one by one.
#pragma once

#include <cstddef>

namespace nearfar {

template <class Number>
inline void fill_numbers(Number* at, std::size_t n, Number number) {
  constexpr std::size_t kBytes = 16, kLanes = kBytes / sizeof(Number), kTogether = 4;
  typedef Number Lanes __attribute__((vector_size(kBytes), aligned(alignof(Number)), may_alias));
  Lanes lanes;
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = number;
  Number* const end = at + n;
  for (; n >= kTogether * kLanes; n -= kTogether * kLanes)
    for (std::size_t i = 0; i < kTogether; ++i, at += kLanes) *reinterpret_cast<Lanes*>(at) = lanes;
  while (at < end) *at++ = number;
}

}  // namespace nearfar
