// Many sources in the lanes of vector registers: arguments and results of the kernel of one batch.
//
// The kernel is compiled once per instruction set (lanes.simd.cpp); everything here is plain data,
// and the caller owns the memory, so that a worker reuses it for each batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/graph/graph_view.hpp"
#include "cpu/instructions/isa.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar::batched {

// An edge with its weight in the type of the lanes. A target without out-edges is stored as
// ~target: its distance is lowered, but it is never queued.
template <class Lane>
struct LaneEdge {
  int32_t target;
  Lane weight;
};

template <class Lane>
struct LaneGraph {
  int32_t n = 0;
  RowStarts indptr;
  const LaneEdge<Lane>* edges = nullptr;
  Lane cap = 0;  // a distance of cap or more counts as unreached; cap + any weight fits the type
  float inverse_delta = 0;
};

// Memory of one worker. Between batches every bucket, head and tail entry is -1.
template <class Lane>
struct LaneState {
  static constexpr int kSlots = 1024;
  Lane* distance = nullptr;  // [n][width], 64-byte aligned
  int32_t* next = nullptr;   // [n] links of the bucket lists
  int32_t* previous = nullptr;
  int32_t* bucket = nullptr;  // [n] bucket number of the vertex, -1 for none
  int32_t head[kSlots] = {};
  int32_t tail[kSlots] = {};
};

struct LaneCounts {
  uint64_t scans = 0;  // vertices taken from the queue, all lanes at once
  uint64_t edges = 0;  // edges looked at, all lanes at once
};

#define NEARFAR_DECLARE_LANES(level)                                                              \
  namespace level {                                                                               \
  /* Distances of `count` (at most Width) sources into state.distance. Targets, if any, allow the \
     run to end once all of them are settled in every lane. */                                    \
  template <class Lane, int Width>                                                                \
  LaneCounts lanes_solve(const LaneGraph<Lane>& graph, LaneState<Lane>& state,                    \
                         const int32_t* sources, int count, const int64_t* targets,               \
                         std::size_t n_targets, Interrupt& interrupt);                            \
  /* Largest reached distance of the batch, 0 if none. */                                         \
  template <class Lane, int Width>                                                                \
  Lane lanes_farthest(const LaneGraph<Lane>& graph, const LaneState<Lane>& state);                \
  /* Rows of the batch, unreached as Out has it: all vertices, or the columns named. */           \
  template <class Lane, int Width, class Out>                                                     \
  void lanes_write(const LaneGraph<Lane>& graph, const LaneState<Lane>& state, int count,         \
                   Out* const* rows, const int64_t* columns, std::size_t n_columns);              \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_LANES)
#undef NEARFAR_DECLARE_LANES

}  // namespace nearfar::batched
