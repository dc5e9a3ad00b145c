// Distances from many sources to all labels or to some; compiled once per instruction set.
#pragma once

#include <cstdint>

#include "cpu/instructions/isa.hpp"
#include "prepared/metric/metric.hpp"

namespace nearfar::prepared {

// The labels that a sweep visits, in descending order and closed under parents, and the arcs into
// them. A sweep over all labels reads the metric's own arrays; one for some targets reads a copy of
// what their ancestors need.
template <class Value>
struct SweepPlan {
  int32_t count = 0;
  const int32_t* label = nullptr;  // null: count - 1, count - 2, ...
  const int64_t* first = nullptr;  // of each label, or of each entry if `label` is given
  const int32_t* head_depth = nullptr;
  const Value* weight = nullptr;
};

// Memory of one worker. The `lanes` values of one label are adjacent.
template <class Value>
struct SweepState {
  Value* path = nullptr;       // height * lanes: distances on the path to the root
  Value* space = nullptr;      // height: one source's upward search space
  int32_t* place = nullptr;    // shape (n,), -1: which labels have initial values of their own
  Value* started = nullptr;    // their values, height * lanes * lanes at most
  int32_t* touched = nullptr;  // labels to which `place` refers
  Value* rows = nullptr;  // count * lanes: the result, by vertex, or by entry of a plan with labels
};

#define NEARFAR_DECLARE_SWEEP(level)                                                            \
  namespace level {                                                                             \
  /* Distances from one source to every label: out[vertex[label]]. path, space,                 \
     ancestor: height entries. */                                                               \
  template <class Value, class Out>                                                             \
  void sweep_one(const Metric<Value>& metric, int32_t source, Value* path, Value* space,        \
                 int32_t* ancestor, Out* out);                                                  \
  /* Distances from `count` <= kLanes sources to the labels of the plan: state.rows. */         \
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
