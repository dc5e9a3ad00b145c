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

// A search in rows that nobody has validated.
template <class Weight>
struct CheckedSearch {
  SearchStats stats;
  Weight greatest = 0;   // weight of all edges
  bool refused = false;  // an edge leads nowhere or is negative: the distances mean nothing
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
  template <class C>                                                                               \
  CheckedSearch<typename C::Weight> delta_checked(const C& csr, typename C::Index source,          \
                                                  typename C::Weight* distances,                   \
                                                  StopRule<typename C::Weight> stop,               \
                                                  DeltaPlan plan, Interrupt& interrupt);           \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_DELTA)
#undef NEARFAR_DECLARE_DELTA

#define NEARFAR_FOR_EACH_CSR(X) \
  X(int32_t, int32_t)           \
  X(int32_t, int64_t)           \
  X(int32_t, float)             \
  X(int32_t, double) X(int64_t, int32_t) X(int64_t, int64_t) X(int64_t, float) X(int64_t, double)

}  // namespace nearfar
