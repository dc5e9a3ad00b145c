// A customized tree in the form that queries read: typed pointers into NumPy arrays. A plain
// struct, shared by the builds for several instruction sets.
#pragma once

#include <cstdint>

#include "prepared/order/arcs.hpp"

namespace nearfar::prepared {

// The arcs that queries follow in one direction; label v has [first[v], first[v + 1]).
template <class Value>
struct Upward {
  const int64_t* first = nullptr;
  const int32_t* head_depth = nullptr;
  const Value* weight = nullptr;
};

template <class ValueT>
struct Metric {
  using Value = ValueT;
  Arcs arcs;
  Upward<Value> up, down;          // tail to head, head to tail
  const Value* weights = nullptr;  // of all arcs, `sides` each
  int sides = 1;
  bool prunes = true;  // no weight is negative, so a walk may stop at its bound
  double step = 1;     // value of an integer 1; a power of two
};

}  // namespace nearfar::prepared
