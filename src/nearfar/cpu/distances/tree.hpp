// Whether the predecessors of a search form a tree.
//
// The left-to-right sums of a search are unique if they form a tree and no edge improves one: each
// is the least sum of all walks. With negative weights and floats, rounding can improve sums around
// a cycle whose exact weight is 0 until they no longer change; these are the sums of no path, and
// differ by the order of the search. Such results are left to the subtree method.
#pragma once

#include <vector>

#include "cpu/graph/graph_view.hpp"

namespace nearfar {

// Returns a vertex on a cycle of predecessors, or -1. before(v) is the predecessor of v, negative
// or n for none. O(n).
template <class Before>
Index vertex_on_cycle(Index n, Before&& before) {
  std::vector<Index> walk(n, -1);  // start of the walk that met the vertex first
  for (Index start = 0; start < n; ++start) {
    Index v = start;
    while (v >= 0 && v < n && walk[v] < 0) {
      walk[v] = start;
      v = before(v);
    }
    if (v >= 0 && v < n && walk[v] == start) return v;
  }
  return -1;
}

}  // namespace nearfar
