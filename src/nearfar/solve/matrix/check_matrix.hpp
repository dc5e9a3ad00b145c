// Results of one pass over the edges of an unvalidated matrix.
#pragma once

#include <cstdint>

#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "cpu/instructions/isa.hpp"

namespace nearfar {

// NaN improves nothing and is ignored.
struct EdgeFacts {
  uint32_t top = 0;  // greatest target as an unsigned number, so that a negative one is large
  double least = 0;  // weight, or 0
  double greatest = 0;
};

#define NEARFAR_DECLARE_CHECK(level)                                                     \
  namespace level {                                                                      \
  EdgeFacts check_edges(const BareCsr& csr);                                             \
  EdgeFacts check_weights(const double* weights, std::size_t m);                         \
  /* Copies the weights; false, and an unfinished copy, unless all are whole and fit. */ \
  template <class Small>                                                                 \
  bool check_and_narrow(const BareCsr& csr, Small* out, EdgeFacts& facts);               \
  /* Copies to 32 bits and returns the union of the bits of all values. */               \
  uint64_t narrow_indices(const int64_t* from, std::size_t count, int32_t* to);          \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_CHECK)
#undef NEARFAR_DECLARE_CHECK

}  // namespace nearfar
