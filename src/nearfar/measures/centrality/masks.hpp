// Arithmetic in place of branches that no processor can foresee.
//
// Whether an edge is on a shortest path is as good as random, and a branch on it costs more than
// all the rest of the loop. What does not count is masked to nothing, or read from vertex 0, which
// is nobody; compilers are kept from making a branch of it again (opaque).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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
template <class Index>
NEARFAR_INLINE std::size_t picked(Index t, Index mask) {
  using Bits = std::make_unsigned_t<Index>;
  return static_cast<Bits>(t) & static_cast<Bits>(opaque(mask));
}

}  // namespace nearfar::measures
