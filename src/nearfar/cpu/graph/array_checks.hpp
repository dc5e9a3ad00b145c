// Results of one pass over unvalidated indices or weights, at the speed of memory.
//
// With `out` the pass also copies, and checks what it writes, so that the checked values are those
// that will be used. Fresh memory is half the cost of a copy, because the first access clears it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/instructions/isa.hpp"

namespace nearfar {

// A NaN is visible only in the sum, an infinity also in the minimum or maximum.
template <class W>
struct Extent {
  W least, most;
  double sum;  // of eight sums, of every eighth weight: the same bits on every processor
};

#define NEARFAR_DECLARE_CHECKS(level)                                     \
  namespace level {                                                       \
  /* Whether no number is below the one before. */                        \
  template <class I>                                                      \
  bool never_falls(const I* in, std::size_t count);                       \
  /* The greatest of unsigned numbers, 0 of none; `out` may be null. */   \
  template <class U>                                                      \
  U greatest_of(const U* in, U* out, std::size_t count);                  \
  /* Of no weights the least is above the greatest; `out` may be null. */ \
  template <class W>                                                      \
  Extent<W> extent_of(const W* in, W* out, std::size_t count);            \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_CHECKS)
#undef NEARFAR_DECLARE_CHECKS

}  // namespace nearfar
