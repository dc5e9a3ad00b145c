// Declarations of parallel delta-stepping and of what reads bare arrays, one a build for an
// instruction set (cpu/isa.hpp).
#pragma once

#include "cpu/buckets/sequential.hpp"

namespace nearfar {

class WorkerPool;

// What one pass over them finds. NaN improves nothing and is passed over.
struct EdgeFacts {
  uint32_t top = 0;  // greatest target as an unsigned number, so that a negative one is large
  double least = 0;  // weight, or 0
  double greatest = 0;
};

#define NEARFAR_DECLARE_DELTA(level)                                                               \
  namespace level {                                                                                \
  template <class C>                                                                               \
  SearchStats delta_parallel(const C& csr, typename C::Index source,                               \
                             typename C::Weight* distances, StopRule<typename C::Weight> stop,     \
                             DeltaPlan plan, WorkerPool& pool, int threads, Interrupt& interrupt); \
  EdgeFacts look_over(const BareCsr& csr);                                                         \
  /* Copies the weights; false, and an unfinished copy, unless all are whole and fit. */           \
  template <class Small>                                                                           \
  bool narrow_weights(const BareCsr& csr, Small* out, EdgeFacts& facts);                           \
  template <class Small>                                                                           \
  bool narrow_weights(const int32_t* weights, std::size_t m, Small* out);                          \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_DELTA)
#undef NEARFAR_DECLARE_DELTA

}  // namespace nearfar
