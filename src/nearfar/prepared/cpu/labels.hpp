// Tree labels: every vertex's whole search space, stored; compiled once per instruction set.
#pragma once

#include <cstdint>

#include "cpu/instructions/isa.hpp"
#include "prepared/metric/metric.hpp"

namespace nearfar::prepared {

// A label's position among its ancestors (see labels.cpp).
struct Ancestry {
  uint32_t node;    // of a complete binary tree
  uint32_t levels;  // bit k: an ancestor or the label itself is mapped to a node of that level
};

// Rows of depth + 1 values; row v starts at offset[v]. In compact labels a vertex with few others
// below it has no row; queries compute it.
template <class Value>
struct TreeLabels {
  const int64_t* offset = nullptr;     // shape (n + 1,)
  const Ancestry* ancestry = nullptr;  // shape (n,)
  const int32_t* above = nullptr;  // shape (n + 2,): depth above the path that is mapped to a node
  const Value* up = nullptr;       // [d]: shortest path from v up to its ancestor at depth d
  const Value* down = nullptr;     // [d]: shortest path from that ancestor down to v
};

#define NEARFAR_DECLARE_LABELS(level)                                                              \
  namespace level {                                                                                \
  /* The row of v from its arcs and the rows of its ancestors; ancestor[d]: the one at depth d. */ \
  template <class Value>                                                                           \
  void label_row(const Arcs& arcs, const Upward<Value>& up, const int64_t* offset, int32_t v,      \
                 const int32_t* ancestor, Value* rows);                                            \
  /* The least of the first `count` values of a row and of another row and a way to its vertex. */ \
  template <class Value>                                                                           \
  void lower_row(Value* mine, const Value* other, Value way, int32_t count);                       \
  /* The least sum of two rows' first `count` values. */                                           \
  template <class Value>                                                                           \
  Value meet(const Value* a, const Value* b, int32_t count);                                       \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_LABELS)
#undef NEARFAR_DECLARE_LABELS

}  // namespace nearfar::prepared
