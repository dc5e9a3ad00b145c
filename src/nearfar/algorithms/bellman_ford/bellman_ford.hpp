// Shared by the CPU forms of Bellman-Ford: the outcome of a run and the cycle in a predecessor
// graph.
//
// Rule for negative cycles (all forms): a cycle counts only if the exact sum of its weights is
// below zero. With integers every cycle of the predecessor graph is such a cycle. With floats,
// rounding can close a cycle whose exact sum is zero or more; that proves nothing, so the run is
// passed to the subtree method (subtree.hpp), which refuses exactly those improvements and
// therefore always ends. Rounding can also hide a cycle: exact_cycles.hpp proves every run on
// floats.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/bellman_ford/exact_sum.hpp"
#include "cpu/distances/tree.hpp"
#include "cpu/graph/graph_view.hpp"

namespace nearfar::bellman_ford {

struct Outcome {
  int64_t iterations = 0;
  int64_t edges_relaxed = 0;
  int64_t vertices_processed = 0;
  int64_t refused = 0;         // improvements refused because they are due to rounding
  bool saturated = false;      // a sum fell below the range of the weights
  bool proven = false;         // no reached vertex leads to a negative cycle
  bool undecided = false;      // due to rounding, saturation or `most`: repeat by subtrees
  std::vector<int64_t> cycle;  // vertices in order of the edges; empty when there is none
  int64_t most = std::numeric_limits<int64_t>::max();  // work after which a run ends, undecided
  bool full = false;  // whether to fill the two arrays below, one entry per iteration
  std::vector<int64_t> frontier;
  std::vector<int64_t> edges;

  void step(int64_t vertices, int64_t looked_at) {
    ++iterations;
    vertices_processed += vertices;
    edges_relaxed += looked_at;
    if (full) {
      frontier.push_back(vertices);
      edges.push_back(looked_at);
    }
  }
};

// Predecessor of each vertex during a run: the vertex, and the place in its row of the edge taken.
struct Arrival {
  Index vertex = -1;
  Index place = -1;  // none: a source, virtual ones included
};

template <class Graph>
int64_t edge_of(const Graph& graph, const Arrival& arrival) {
  return graph.indptr[arrival.vertex] + arrival.place;
}

// Returns the vertices of one cycle of the predecessor graph, in order of the edges; empty if it
// has none. O(n).
inline std::vector<int64_t> predecessor_cycle(const std::vector<Arrival>& arrival) {
  const auto before = [&](Index v) { return arrival[v].vertex; };
  const Index v = vertex_on_cycle(static_cast<Index>(arrival.size()), before);
  if (v < 0) return {};
  std::vector<int64_t> backwards;
  Index x = v;
  do {
    backwards.push_back(x);
    x = before(x);
  } while (x != v);
  return {backwards.rbegin(), backwards.rend()};
}

// Searches for a cycle; true if the run must stop because a cycle is proven or undecidable.
template <class Graph>
bool stopped_by_cycle(const Graph& graph, const std::vector<Arrival>& arrival, bool last,
                      Outcome& outcome) {
  auto cycle = predecessor_cycle(arrival);
  if (cycle.empty()) {
    outcome.undecided = last;
    return last;
  }
  ExactSum<typename Graph::Weight> sum;
  for (int64_t v : cycle) sum.add(graph.weights[edge_of(graph, arrival[v])]);
  if (sum.negative())
    outcome.cycle = std::move(cycle);
  else
    outcome.undecided = true;
  return true;
}

// Returns the candidate distance; records when an integer falls below the range.
template <class Weight>
inline Weight candidate(Weight d, Weight w, bool& saturated) {
  if constexpr (std::is_floating_point_v<Weight>) {
    return d + w;
  } else {
    Weight sum;
    if (!__builtin_add_overflow(d, w, &sum)) return sum;
    if (w > 0) return unreached<Weight>();
    saturated = true;
    return std::numeric_limits<Weight>::lowest() + 1;
  }
}

// The same without rounding, in an unlimited range.
template <int kLimbs>
inline Fixed<kLimbs> candidate(const Fixed<kLimbs>& d, const Fixed<kLimbs>& w, bool&) {
  return d + w;
}

}  // namespace nearfar::bellman_ford
