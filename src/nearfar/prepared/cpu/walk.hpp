// Search spaces on the way to the root; one build for each instruction set.
#pragma once

#include <cstdint>

#include "cpu/instructions/isa.hpp"
#include "prepared/metric/metric.hpp"

namespace nearfar::prepared {

// The lowest label whose subtree holds both, or -1.
inline int32_t common_ancestor(const Arcs& arcs, int32_t a, int32_t b) {
  const int32_t least = a < b ? a : b;
  int32_t v = a < b ? b : a;
  while (v >= 0 && arcs.low[v] > least) v = arcs.parent[v];
  return v;
}

#define NEARFAR_DECLARE_WALK(level)                                                             \
  namespace level {                                                                             \
  /* space[d]: the least way over rising labels from `from` to its ancestor at depth d, for all \
     depths up to that of `from`. */                                                            \
  template <class Value>                                                                        \
  void upward_space(const Arcs& arcs, const Upward<Value>& up, int32_t from, Value* space);     \
  /* The distance between two labels, and the depth at which the two ways meet (-1: none).      \
     forward, backward: height values each, filled as far as the walk went. */                  \
  template <class Value>                                                                        \
  Value distance(const Metric<Value>& metric, int32_t source, int32_t target, Value* forward,   \
                 Value* backward, int32_t& meeting);                                            \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_WALK)
#undef NEARFAR_DECLARE_WALK

}  // namespace nearfar::prepared
