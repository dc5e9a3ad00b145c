// Goldberg and Radzik (1993): scan the vertices whose distance fell in topological order of the
// edges that could still improve something.
//
// Each round takes the vertices labelled since the last round, traverses the admissible edges
// (those with distance[v] + w <= distance[t]) depth first from them, and scans the reverse
// postorder: a vertex is scanned after everything that can lower it in this round. An acyclic graph
// takes one round, whatever its weights, where the queue form takes O(n m). An admissible cycle
// with a strict improvement is negative; the depth-first search finds it as an edge back into its
// own path. O(n m) in the worst case.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/bellman_ford/bellman_ford.hpp"

namespace nearfar::bellman_ford {

// source < 0 means a virtual source with an edge of weight 0 to every vertex, as in subtree.hpp.
template <class Graph, class Poll>
void goldberg_radzik(const Graph& graph, Index source, typename Graph::Weight* distance,
                     std::vector<Arrival>& arrival, Outcome& outcome, Poll&& poll) {
  using Weight = typename Graph::Weight;
  enum : char { idle, labelled, on_path, ordered };
  const Index n = graph.n;
  std::fill(distance, distance + n, source < 0 ? Weight{} : unreached<Weight>());
  std::vector<char> state(n, source < 0 ? labelled : idle);
  std::vector<Index> fresh, order;
  if (source < 0) {
    fresh.resize(n);
    std::iota(fresh.begin(), fresh.end(), Index{0});
    for (Index v = 0; v < n; ++v) arrival[v].vertex = n;
  } else {
    distance[source] = 0;
    state[source] = labelled;
    fresh.push_back(source);
  }
  struct Frame {
    Index vertex;
    int64_t edge;  // the next one to read
  };
  std::vector<Frame> path;
  bool strict = false;

  // A back edge closes path[from..] and edge i: a proven negative cycle, or one due to rounding.
  auto back_edge = [&](Index to, int64_t i) {
    ExactSum<Weight> sum;
    sum.add(graph.weights[i]);
    std::size_t from = path.size();
    do {
      --from;
      if (from + 1 < path.size()) sum.add(graph.weights[path[from].edge - 1]);
    } while (path[from].vertex != to);
    poll(path.size() - from);
    if (!sum.negative()) return false;
    for (; from < path.size(); ++from) outcome.cycle.push_back(path[from].vertex);
    return true;
  };

  while (!fresh.empty()) {
    if (outcome.iterations > n || outcome.edges_relaxed > outcome.most) {
      outcome.undecided = true;
      return;
    }
    order.clear();
    int64_t edges = 0;
    for (Index start : fresh) {
      if (state[start] != labelled) continue;
      poll(static_cast<uint64_t>(graph.indptr[start + 1] - graph.indptr[start]) + 1);
      // A vertex without a strictly improving edge need not be scanned.
      strict = false;
      for (int64_t i = graph.indptr[start]; i < graph.indptr[start + 1] && !strict; ++i)
        strict = candidate(distance[start], graph.weights[i], outcome.saturated) <
                 distance[graph.indices[i]];
      if (!strict) {
        state[start] = idle;
        continue;
      }
      state[start] = on_path;
      path.push_back({start, graph.indptr[start]});
      while (!path.empty()) {
        const Index v = path.back().vertex;
        if (path.back().edge == graph.indptr[v + 1]) {
          state[v] = ordered;
          order.push_back(v);
          path.pop_back();
          continue;
        }
        const int64_t i = path.back().edge++;
        const Index t = graph.indices[i];
        ++edges;
        if (state[t] == ordered) continue;
        const Weight sum = candidate(distance[v], graph.weights[i], outcome.saturated);
        if (sum > distance[t] || sum == unreached<Weight>()) continue;
        if (state[t] == on_path) {
          // With an equal sum the cycle weighs 0; what rounding hides is left to the proof. Many
          // such cycles along a long path would take O(n m) here.
          if (sum < distance[t] && back_edge(t, i)) return;
        } else if (sum < distance[t] || state[t] == labelled) {
          // Labels t now, so that the vertices after it are compared with the new distance.
          if (sum < distance[t]) {
            distance[t] = sum;
            arrival[t] = {v, static_cast<Index>(i - graph.indptr[v])};
          }
          state[t] = on_path;
          path.push_back({t, graph.indptr[t]});
          poll(static_cast<uint64_t>(graph.indptr[t + 1] - graph.indptr[t]) + 1);
        }
      }
    }
    fresh.clear();
    for (auto it = order.rbegin(); it != order.rend(); ++it) state[*it] = idle;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const Index v = *it;
      for (int64_t i = graph.indptr[v]; i < graph.indptr[v + 1]; ++i) {
        const Index t = graph.indices[i];
        const Weight sum = candidate(distance[v], graph.weights[i], outcome.saturated);
        if (sum < distance[t]) {
          distance[t] = sum;
          arrival[t] = {v, static_cast<Index>(i - graph.indptr[v])};
          if (state[t] == idle) {
            state[t] = labelled;
            fresh.push_back(t);
          }
        }
      }
      edges += graph.indptr[v + 1] - graph.indptr[v];
      poll(static_cast<uint64_t>(graph.indptr[v + 1] - graph.indptr[v]) + 1);
    }
    outcome.step(static_cast<int64_t>(order.size()), edges);
  }
}

}  // namespace nearfar::bellman_ford
