// Declarations of delta-stepping, one per build for an instruction set (cpu/isa.hpp).
//
// sequential.simd.cpp defines the first two, parallel.simd.cpp the third.
#pragma once

#include "cpu/buffer.hpp"
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

// Edges that nobody has packed or validated, and edges with weights of one or two bytes.
using BareCsr = SplitCsr<int32_t, double>;
using ByteCsr = NarrowCsr<int32_t, uint8_t>;
using ShortCsr = NarrowCsr<int32_t, uint16_t>;

// Sources for one worker, which searches them one after the other in the same memory.
template <class C>
struct DeltaFeed {
  // Called before each search: where from, and the n distances to fill. False ends the run.
  bool (*next)(void* self, typename C::Index& source, typename C::Weight*& distances);
  void* self;
  // Null, or where to note the vertices that are lowered, some of them repeatedly. The distances
  // are all unreached already then, so that a search costs what it visits and not O(n).
  Buffer<typename C::Index>* touched = nullptr;
};

#define NEARFAR_DECLARE_DELTA(level)                                                               \
  namespace level {                                                                                \
  template <class C> /* The log may be null. */                                                    \
  SearchStats delta_sequential(const C& csr, typename C::Index source,                             \
                               typename C::Weight* distances, StopRule<typename C::Weight> stop,   \
                               DeltaPlan plan, Interrupt& interrupt, IterationLog* log);           \
  template <class C> /* The sum of the counters. */                                                \
  SearchStats delta_feed(const C& csr, const DeltaFeed<C>& feed,                                   \
                         StopRule<typename C::Weight> stop, DeltaPlan plan, Interrupt& interrupt); \
  template <class C>                                                                               \
  SearchStats delta_parallel(const C& csr, typename C::Index source,                               \
                             typename C::Weight* distances, StopRule<typename C::Weight> stop,     \
                             DeltaPlan plan, WorkerPool& pool, int threads, Interrupt& interrupt); \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_DELTA)
#undef NEARFAR_DECLARE_DELTA

// What the definitions are instantiated for. Graphs with 64-bit indices take gigabytes, and what a
// search of them waits for is memory: they are built for the lowest instruction set only, which
// spares a third of the time that this family takes to compile.
#define NEARFAR_FOR_EACH_NARROW_INDEX(X) \
  X(int32_t, int32_t) X(int32_t, int64_t) X(int32_t, float) X(int32_t, double)
#if defined(__AVX2__)
#define NEARFAR_FOR_EACH_CSR(X) NEARFAR_FOR_EACH_NARROW_INDEX(X)
#else
#define NEARFAR_FOR_EACH_CSR(X)    \
  NEARFAR_FOR_EACH_NARROW_INDEX(X) \
  X(int64_t, int32_t) X(int64_t, int64_t) X(int64_t, float) X(int64_t, double)
#endif
// The build that runs here, of a function over rows of type C.
#define NEARFAR_PICK_FOR(C, ...)                          \
  [] {                                                    \
    if constexpr (sizeof(typename C::Index) == 8)         \
      return &::nearfar::NEARFAR_LOWEST_ISA::__VA_ARGS__; \
    else                                                  \
      return +NEARFAR_PICK_ISA(__VA_ARGS__);              \
  }()
#define NEARFAR_FOR_EACH_BARE(X) X(BareCsr) X(ByteCsr) X(ShortCsr)

}  // namespace nearfar
