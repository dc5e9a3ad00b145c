// What the CPU forms of Bellman-Ford share: the outcome of a run, the cycle in a predecessor graph,
// and the exact sign of its weight.
//
// Rule for negative cycles (all forms): a cycle counts only if the exact sum of its weights is
// below zero. Integer weights make every cycle of the predecessor graph such a cycle. With floats,
// rounding can close a cycle whose exact sum is zero or above; such a find proves nothing, so the
// run is handed to the subtree method (subtree.hpp), which refuses exactly those improvements and
// so always ends.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/graph_view.hpp"

namespace nearfar::bellman_ford {

struct Outcome {
  int64_t iterations = 0;
  int64_t edges_relaxed = 0;
  int64_t vertices_processed = 0;
  int64_t refused = 0;     // improvements refused because only rounding made them
  bool saturated = false;  // a sum fell below the range of the weights
  bool undecided = false;  // only rounding or saturation can explain the run: repeat by subtrees
  std::vector<int64_t> cycle;  // vertices in order of the edges; empty when there is none
  bool full = false;           // whether to fill the two arrays below, one entry per iteration
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

// Sign-exact sum: integers in 128 bits, floats as a list of non-overlapping parts (Shewchuk 1997),
// whose last part has the sign of the whole.
template <class Weight>
class ExactSum {
 public:
  void add(Weight w) {
    if constexpr (std::is_floating_point_v<Weight>) {
      double x = w;
      std::size_t kept = 0;
      for (double part : parts_) {
        if (std::fabs(x) < std::fabs(part)) std::swap(x, part);
        const double high = x + part;
        const double low = part - (high - x);
        if (low != 0) parts_[kept++] = low;
        x = high;
      }
      parts_.resize(kept);
      parts_.push_back(x);
    } else {
      total_ += w;
    }
  }
  bool negative() const {
    if constexpr (std::is_floating_point_v<Weight>)
      return !parts_.empty() && parts_.back() < 0;
    else
      return total_ < 0;
  }

 private:
  __int128 total_ = 0;
  std::vector<double> parts_;
};

// Predecessor of each vertex during a run: the vertex and the edge it came by.
template <class Index>
struct Arrival {
  Index vertex = -1;
  Index edge = -1;
};

// The vertices of one cycle of the predecessor graph, in order of the edges; empty if it has none.
// O(n).
template <class Index>
std::vector<int64_t> predecessor_cycle(const std::vector<Arrival<Index>>& arrival) {
  const auto n = static_cast<Index>(arrival.size());
  std::vector<Index> walk(arrival.size(), -1);  // start of the walk that met the vertex first
  for (Index start = 0; start < n; ++start) {
    Index v = start;
    while (v >= 0 && walk[v] < 0) {
      walk[v] = start;
      v = arrival[v].vertex;
    }
    if (v < 0 || walk[v] != start) continue;
    std::vector<int64_t> backwards;
    Index x = v;
    do {
      backwards.push_back(x);
      x = arrival[x].vertex;
    } while (x != v);
    return {backwards.rbegin(), backwards.rend()};
  }
  return {};
}

// Looks for a cycle; true when the run must stop: either the cycle is proven, or nothing can be
// said.
template <class Graph, class Index>
bool stopped_by_cycle(const Graph& graph, const std::vector<Arrival<Index>>& arrival, bool last,
                      Outcome& outcome) {
  auto cycle = predecessor_cycle(arrival);
  if (cycle.empty()) {
    outcome.undecided = last;
    return last;
  }
  ExactSum<typename Graph::Weight> sum;
  for (int64_t v : cycle) sum.add(graph.weights[arrival[v].edge]);
  if (sum.negative())
    outcome.cycle = std::move(cycle);
  else
    outcome.undecided = true;
  return true;
}

// Candidate distance; notes when it left the range downwards.
template <class Weight>
inline Weight candidate(Weight d, Weight w, bool& saturated) {
  const Weight sum = saturating_add(d, w);
  if constexpr (!std::is_floating_point_v<Weight>)
    if (sum == std::numeric_limits<Weight>::lowest() + 1) saturated = true;
  return sum;
}

}  // namespace nearfar::bellman_ford
