// Declarations of the delta-stepping solvers, one a build for an instruction set (cpu/isa.hpp).
#pragma once

#include "cpu/interrupt.hpp"
#include "cpu/isa.hpp"
#include "cpu/search.hpp"

namespace nearfar {

class WorkerPool;

// How a run starts: the width of a bucket and whether it may change.
struct DeltaPlan {
  double delta = 1;
  bool adapt = true;
};

// Edges that nobody has validated.
using BareCsr = SplitCsr<int32_t, double>;

// What one pass over them finds. NaN improves nothing and is passed over.
struct EdgeFacts {
  uint32_t top = 0;  // greatest target as an unsigned number, so that a negative one is large
  double least = 0;  // weight, or 0
  double greatest = 0;
};

#define NEARFAR_DECLARE_DELTA(level)                                                               \
  namespace level {                                                                                \
  template <class C>                                                                               \
  SearchStats delta_sequential(const C& csr, typename C::Index source,                             \
                               typename C::Weight* distances, StopRule<typename C::Weight> stop,   \
                               DeltaPlan plan, Interrupt& interrupt);                              \
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

#define NEARFAR_FOR_EACH_CSR(X) \
  X(int32_t, int32_t)           \
  X(int32_t, int64_t)           \
  X(int32_t, float)             \
  X(int32_t, double) X(int64_t, int32_t) X(int64_t, int64_t) X(int64_t, float) X(int64_t, double)

using ByteCsr = NarrowCsr<int32_t, uint8_t>;
using ShortCsr = NarrowCsr<int32_t, uint16_t>;
#define NEARFAR_FOR_EACH_BARE(X) X(BareCsr) X(ByteCsr) X(ShortCsr)

}  // namespace nearfar
