// Bellman-Ford in rounds: over every edge (the textbook), over the edges of active vertices (paper
// section 4.1), and the latter with the paper's four edge classes (section 4.1, Algorithm 1).
//
// A round after the (n - 1)th proves a negative cycle, but waiting that long costs O(n m). The
// predecessor graph contains such a cycle much earlier, so it is searched whenever the run has read
// eight times as many edges as a search costs: at most an eighth more work, and a cycle is found
// after a few rounds.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/bellman_ford/bellman_ford.hpp"

namespace nearfar::bellman_ford {

// Decides when a run has done enough work to search its predecessor graph.
class CycleWatch {
 public:
  explicit CycleWatch(int64_t n) : n_(n), next_(8 * n) {}
  bool due(const Outcome& outcome) {
    last_ = outcome.iterations > n_;
    if (outcome.edges_relaxed + outcome.vertices_processed < next_ && !last_) return false;
    next_ += 8 * n_ + outcome.edges_relaxed / 8;
    return true;
  }
  bool last() const { return last_; }

 private:
  int64_t n_, next_;
  bool last_ = false;
};

template <class Graph, class Poll>
void textbook(const Graph& graph, Index source, typename Graph::Weight* distance,
              std::vector<Arrival>& arrival, Outcome& outcome, Poll&& poll) {
  using Weight = typename Graph::Weight;
  std::fill(distance, distance + graph.n, unreached<Weight>());
  distance[source] = 0;
  CycleWatch watch(graph.n);
  for (bool changed = true; changed;) {
    changed = false;
    for (Index v = 0; v < graph.n; ++v) {
      if (distance[v] == unreached<Weight>()) continue;
      poll(static_cast<uint64_t>(graph.indptr[v + 1] - graph.indptr[v]) + 1);
      for (int64_t i = graph.indptr[v]; i < graph.indptr[v + 1]; ++i) {
        const Index t = graph.indices[i];
        const Weight sum = candidate(distance[v], graph.weights[i], outcome.saturated);
        if (sum < distance[t]) {
          distance[t] = sum;
          arrival[t] = {v, static_cast<Index>(i - graph.indptr[v])};
          changed = true;
        }
      }
    }
    outcome.step(graph.n, graph.m);
    if (changed && watch.due(outcome) && stopped_by_cycle(graph, arrival, watch.last(), outcome))
      return;
  }
}

template <class Graph, class Poll>
void queue(const Graph& graph, Index source, typename Graph::Weight* distance,
           std::vector<Arrival>& arrival, Outcome& outcome, Poll&& poll) {
  using Weight = typename Graph::Weight;
  std::fill(distance, distance + graph.n, unreached<Weight>());
  distance[source] = 0;
  std::vector<char> waiting(graph.n, 0);
  std::vector<Index> active{source}, next;
  CycleWatch watch(graph.n);
  while (!active.empty()) {
    int64_t edges = 0;
    for (Index v : active) {
      waiting[v] = 0;
      const Weight d = distance[v];
      const int64_t end = graph.indptr[v + 1];
      edges += end - graph.indptr[v];
      poll(static_cast<uint64_t>(end - graph.indptr[v]) + 1);
      for (int64_t i = graph.indptr[v]; i < end; ++i) {
        const Index t = graph.indices[i];
        const Weight sum = candidate(d, graph.weights[i], outcome.saturated);
        if (sum < distance[t]) {
          distance[t] = sum;
          arrival[t] = {v, static_cast<Index>(i - graph.indptr[v])};
          if (!waiting[t]) {
            waiting[t] = 1;
            next.push_back(t);
          }
        }
      }
    }
    outcome.step(static_cast<int64_t>(active.size()), edges);
    active.swap(next);
    next.clear();
    if (!active.empty() && watch.due(outcome) &&
        stopped_by_cycle(graph, arrival, watch.last(), outcome))
      return;
  }
}

// The edges of a graph put in order of class within each row, once per graph:
//   [begin, once)   target with in-degree 1: only this edge ever reaches it, so it is queued at
//                   most once per round and needs no flag (on a GPU: no atomic),
//   [once, sink)    every other target,
//   [sink, end)     target with out-degree 0: written once, after the rounds.
// Self-loops are dropped: they improve nothing unless negative, and then they are negative cycles.
// Edges from the source are processed when the run starts. Degrees do not count self-loops.
template <class GraphT>
struct EdgeClasses {
  using Weight = typename GraphT::Weight;
  struct Row {
    int64_t begin, once, sink, end;
  };
  std::vector<Row> rows;
  std::vector<Index> targets;
  std::vector<Index> places;  // in the graph's rows
  std::vector<Weight> weights;
  std::vector<Index> negative_loops;  // vertices with a negative self-loop

  template <class Poll>
  EdgeClasses(const GraphT& graph, Poll&& poll) : rows(graph.n) {
    std::vector<Index> into(graph.n, 0), out(graph.n, 0);
    for (Index v = 0; v < graph.n; ++v) {
      poll(static_cast<uint64_t>(graph.indptr[v + 1] - graph.indptr[v]) + 1);
      for (int64_t i = graph.indptr[v]; i < graph.indptr[v + 1]; ++i) {
        const Index t = graph.indices[i];
        if (t == v) {
          if (graph.weights[i] < 0) negative_loops.push_back(v);
          continue;
        }
        ++out[v];
        ++into[t];
      }
    }
    targets.reserve(graph.m);
    places.reserve(graph.m);
    weights.reserve(graph.m);
    for (Index v = 0; v < graph.n; ++v) {
      auto copy = [&](int wanted) {
        for (int64_t i = graph.indptr[v]; i < graph.indptr[v + 1]; ++i) {
          const Index t = graph.indices[i];
          const int kind = out[t] == 0 ? 2 : into[t] == 1 ? 0 : 1;
          if (t == v || kind != wanted) continue;
          targets.push_back(t);
          places.push_back(static_cast<Index>(i - graph.indptr[v]));
          weights.push_back(graph.weights[i]);
        }
        return static_cast<int64_t>(targets.size());
      };
      rows[v].begin = static_cast<int64_t>(targets.size());
      rows[v].once = copy(0);
      rows[v].sink = copy(1);
      rows[v].end = copy(2);
      poll(static_cast<uint64_t>(graph.indptr[v + 1] - graph.indptr[v]) + 1);
    }
  }
};

template <class Graph, class Poll>
void edge_classes(const Graph& graph, const EdgeClasses<Graph>& classes, Index source,
                  typename Graph::Weight* distance, std::vector<Arrival>& arrival, Outcome& outcome,
                  Poll&& poll) {
  using Weight = typename Graph::Weight;
  std::fill(distance, distance + graph.n, unreached<Weight>());
  distance[source] = 0;
  std::vector<char> waiting(graph.n, 0);
  std::vector<Index> active, next, reached{source};
  auto relax = [&](Index v, Weight d, int64_t i) {
    const Index t = classes.targets[i];
    const Weight sum = candidate(d, classes.weights[i], outcome.saturated);
    if (!(sum < distance[t])) return Index{-1};
    if (arrival[t].vertex < 0 && t != source) reached.push_back(t);
    distance[t] = sum;
    arrival[t] = {v, classes.places[i]};
    return t;
  };
  // Source class: the first improvement of every target of the source, before any queue is read.
  const auto first = classes.rows[source];
  for (int64_t i = first.begin; i < first.sink; ++i) {
    const Index t = relax(source, 0, i);
    if (t >= 0 && !waiting[t]) {
      waiting[t] = 1;
      active.push_back(t);
    }
  }
  outcome.step(1, first.sink - first.begin);
  CycleWatch watch(graph.n);
  while (!active.empty()) {
    int64_t edges = 0;
    for (Index v : active) {
      waiting[v] = 0;
      const Weight d = distance[v];
      const auto row = classes.rows[v];
      edges += row.sink - row.begin;
      poll(static_cast<uint64_t>(row.sink - row.begin) + 1);
      for (int64_t i = row.begin; i < row.once; ++i) {
        const Index t = relax(v, d, i);
        if (t >= 0) next.push_back(t);
      }
      for (int64_t i = row.once; i < row.sink; ++i) {
        const Index t = relax(v, d, i);
        if (t >= 0 && !waiting[t]) {
          waiting[t] = 1;
          next.push_back(t);
        }
      }
    }
    outcome.step(static_cast<int64_t>(active.size()), edges);
    active.swap(next);
    next.clear();
    if (!active.empty() && watch.due(outcome) &&
        stopped_by_cycle(graph, arrival, watch.last(), outcome))
      return;
  }
  // Sink class: distances of reached vertices are final, so each edge is read only once.
  int64_t edges = 0;
  for (std::size_t r = 0, rounds = reached.size(); r < rounds; ++r) {
    const Index v = reached[r];
    for (int64_t i = classes.rows[v].sink; i < classes.rows[v].end; ++i) relax(v, distance[v], i);
    edges += classes.rows[v].end - classes.rows[v].sink;
  }
  outcome.step(static_cast<int64_t>(reached.size()), edges);
  for (Index v : classes.negative_loops)
    if (distance[v] != unreached<Weight>()) {
      outcome.cycle = {v};
      return;
    }
}

}  // namespace nearfar::bellman_ford
