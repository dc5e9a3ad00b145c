// The arcs of an elimination tree in the form that loops read: typed pointers into NumPy arrays.
//
// Everything is indexed by label (see symbolic.cpp). The arcs of x lead to ancestors of x, in
// ascending order of depth; an ancestor is identified by its depth. Weights are arrays of `sides`
// values per arc: up and down, or one for both where every edge weighs the same in both directions.
// A plain struct, shared by builds for several instruction sets.
#pragma once

#include <cstdint>

namespace nearfar::prepared {

struct Arcs {
  int32_t n = 0;
  int32_t height = 0;
  int64_t n_arcs = 0;
  const int32_t* vertex = nullptr;
  const int32_t* label = nullptr;
  const int32_t* parent = nullptr;
  const int32_t* depth = nullptr;
  const int32_t* low = nullptr;
  const int64_t* first = nullptr;       // shape (n + 1,)
  const int32_t* head_depth = nullptr;  // shape (n_arcs,)
  const int64_t* lower_first = nullptr;
  const int32_t* lower_arc = nullptr;
  const int32_t* lower_tail = nullptr;
  const int64_t* edge_first = nullptr;
  const int32_t* edge = nullptr;
  const int32_t* edge_place = nullptr;
  int64_t n_edges = 0;  // entries of edge and edge_place
};

}  // namespace nearfar::prepared
