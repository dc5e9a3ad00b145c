// Arithmetic that replaces unpredictable branches.
//
// Whether an edge is on a shortest path is nearly random, and a mispredicted branch costs more than
// the rest of the loop. Values that do not count are masked to zero, or read from the dummy vertex
// 0; opaque() keeps compilers from turning the arithmetic back into a branch.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar::measures {

template <class Number>
NEARFAR_INLINE Number opaque(Number x) {
  asm("" : "+r"(x));
  return x;
}

// x where the mask is all ones, else 0.
NEARFAR_INLINE double masked(double x, int64_t mask) {
  return std::bit_cast<double>(std::bit_cast<int64_t>(x) & opaque(mask));
}

// t where the mask is all ones, else 0.
NEARFAR_INLINE std::size_t picked(int32_t t, int32_t mask) {
  return static_cast<uint32_t>(t) & static_cast<uint32_t>(opaque(mask));
}

}  // namespace nearfar::measures
