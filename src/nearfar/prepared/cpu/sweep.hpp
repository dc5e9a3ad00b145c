// Distances from many sources to all labels or to some; compiled once per instruction set.
#pragma once

#include <cstdint>

#include "cpu/instructions/isa.hpp"
#include "prepared/metric/metric.hpp"

namespace nearfar::prepared {

// The labels that a sweep visits, in descending order and closed under parents, and the arcs into
// them: those of the metric, or a copy of what is needed, in the order in which it is read.
template <class Value>
struct SweepPlan {
  int32_t count = 0;
  const int32_t* label = nullptr;  // null: count - 1, count - 2, ...
  bool copied = false;             // whether `first` is that of each entry, not of each label
  Upward<Value> down;
};

// Memory of one worker. The `lanes` values of one label are adjacent.
template <class Value>
struct SweepState {
  Value* path = nullptr;       // height * lanes: distances on the path to the root
  Value* started = nullptr;    // height * lanes * lanes: distances of the sources' ancestors
  int32_t* touched = nullptr;  // height * lanes: these ancestors, ascending
  Value* rows = nullptr;  // count * lanes: the result, by vertex, or by entry of a plan with labels
};

#define NEARFAR_DECLARE_SWEEP(level)                                                            \
  namespace level {                                                                             \
  /* Distances from one source to every label: out[vertex[label]]. path, space,                 \
     ancestor: height entries. */                                                               \
  template <class Value, class Out>                                                             \
  void sweep_one(const Metric<Value>& metric, int32_t source, Value* path, Value* space,        \
                 int32_t* ancestor, Out* out);                                                  \
  /* Distances from `count` <= kLanes ascending sources to the labels of the plan: state.rows.  \
   */                                                                                           \
  template <class Value, int kLanes>                                                            \
  void sweep_lanes(const Metric<Value>& metric, const SweepPlan<Value>& plan,                   \
                   const int32_t* sources, int count, SweepState<Value>& state);                \
  /* rows[lane][i] = values[place[i] * kLanes + lane] for all i < n; place null: i. */          \
  template <class Value, class Out, int kLanes>                                                 \
  void write_rows(const Value* values, const int32_t* place, int64_t n, int count, double step, \
                  Out* const* rows);                                                            \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_SWEEP)
#undef NEARFAR_DECLARE_SWEEP

}  // namespace nearfar::prepared
