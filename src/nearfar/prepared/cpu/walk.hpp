// Search spaces on the way to the root; one build for each instruction set.
#pragma once

#include <bit>
#include <cstdint>

#include "cpu/instructions/isa.hpp"
#include "prepared/metric/metric.hpp"

namespace nearfar::prepared {

// Returns the lowest label whose subtree holds both, or -1.
inline int32_t common_ancestor(const Arcs& arcs, int32_t a, int32_t b) {
  const int32_t least = a < b ? a : b;
  int32_t v = a < b ? b : a;
  while (v >= 0 && arcs.low[v] > least) v = arcs.parent[v];
  return v;
}

// Arcs of some labels in one direction, stored as windows of adjacent slots with a bit per slot
// that has an arc. See walks.hpp.
template <class Value>
struct Windows {
  static constexpr int kSlots = 64 / sizeof(Value);
  struct Word {
    uint64_t labels = 0;  // labels of 64 that have a row
    int32_t rows = 0;     // rows before these
  };
  struct Row {
    int32_t window = 0, weight = 0;  // first window and first weight
  };
  struct Window {
    uint16_t at;     // depth of the first slot, in windows
    uint16_t slots;  // slots with an arc
  };
  const Word* words = nullptr;
  const Row* rows = nullptr;  // and one past the last
  const Window* windows = nullptr;
  const Value* weights = nullptr;  // weights of the arcs, and kSlots more

  // Returns the row of a label, or -1.
  int32_t row(int32_t v) const {
    const Word& word = words[v >> 6];
    const uint64_t bit = uint64_t{1} << (v & 63);
    if ((word.labels & bit) == 0) return -1;
    return word.rows + std::popcount(word.labels & (bit - 1));
  }
};

template <class Value>
struct WalkRows {
  Windows<Value> up, down;
};

#define NEARFAR_DECLARE_WALK(level)                                                             \
  namespace level {                                                                             \
  /* space[d]: the least way over rising labels from `from` to its ancestor at depth d, for all \
     depths up to that of `from`. */                                                            \
  template <class Value>                                                                        \
  void upward_space(const Arcs& arcs, const Upward<Value>& up, int32_t from, Value* space);     \
  /* The distance between two labels, and the depth at which the two ways meet (-1: none).      \
     forward, backward: of a WalkSpace, filled as far as the walk went. */                      \
  template <class Value>                                                                        \
  Value distance(const Metric<Value>& metric, const WalkRows<Value>& rows, int32_t source,      \
                 int32_t target, Value* forward, Value* backward, int32_t& meeting);            \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_WALK)
#undef NEARFAR_DECLARE_WALK

}  // namespace nearfar::prepared
