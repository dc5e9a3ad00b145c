// Negative cycles decided by sums without rounding, for every form and dtype.
//
// Rounding can hide a cycle: next to 1e16 a weight of -1 changes no distance. So a run on floats is
// proven after it has ended. Its distances d and its tree give sums along the tree, d[v] + c[v],
// where c[v], a separate double, is the accumulated rounding error. These are potentials; the slack
// of an edge (u, v) is sum[u] + w - sum[v], and 0 along the tree. A cycle's weight is the sum of
// its slacks. If all slacks are at least 0, no cycle is negative. That is usually so, and one
// sequential pass over the edges shows it, because an edge whose slack exceeds all possible
// rounding needs one addition. Otherwise let V be the sum of the negative parts. A negative cycle
// consists of edges whose slack is at most V; all others are removed, and then all vertices on no
// cycle of the rest. What remains is empty, or is searched in integers of enough bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/bellman_ford/bellman_ford.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar::bellman_ford {

struct ExactEdge {
  int64_t tail, head;
  Dyadic weight;
};

using Poll = std::function<void(uint64_t)>;

// Returns a cycle of the edges whose exact sum is below zero, in order; empty if there is none.
std::vector<int64_t> exact_cycle(int64_t n, std::vector<ExactEdge> edges, const Poll& poll);

// Returns a negative cycle that the source reaches (any, if the source is below 0), from the
// weights only: for runs whose sums left the range of the dtype.
template <class Graph>
std::vector<int64_t> reached_cycle(const Graph& graph, Index source, Interrupt& interrupt) {
  std::vector<char> seen(graph.n, source < 0);
  std::vector<Index> open;
  if (source >= 0) seen[source] = 1, open.push_back(source);
  while (!open.empty()) {
    const Index v = open.back();
    open.pop_back();
    interrupt.poll(static_cast<uint64_t>(graph.indptr[v + 1] - graph.indptr[v]) + 1);
    for (int64_t i = graph.indptr[v]; i < graph.indptr[v + 1]; ++i) {
      const Index t = graph.indices[i];
      if (!seen[t]) seen[t] = 1, open.push_back(t);
    }
  }
  std::vector<ExactEdge> edges;
  for (Index v = 0; v < graph.n; ++v)
    for (int64_t i = graph.indptr[v]; seen[v] && i < graph.indptr[v + 1]; ++i)
      edges.push_back({v, graph.indices[i], Dyadic(graph.weights[i])});
  return exact_cycle(graph.n, std::move(edges), [&](uint64_t work) { interrupt.poll(work); });
}

// Proves a run on floats that ended without a cycle and with finite distances, or finds the cycle
// that rounding hid. Sets `undecided` if the edges of arrival are not a tree.
template <class Graph>
class Proof {
  using Weight = typename Graph::Weight;
  static constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

  struct Near {
    int64_t edge;
    Index tail;
    double slack;  // a lower bound of the exact one
  };

 public:
  Proof(const Graph& graph, const Weight* distance, const std::vector<Arrival>& arrival,
        Interrupt& interrupt)
      : graph_(graph),
        distance_(distance),
        arrival_(arrival),
        interrupt_(interrupt),
        lost_(graph.n, 0.0) {}

  void run(Outcome& outcome) {
    if (!sum_along_tree()) {
      outcome.undecided = true;
      return;
    }
    outcome.cycle = hidden_cycle();
    outcome.proven = outcome.cycle.empty() && !lost_edge_;
  }

 private:
  std::vector<int64_t> hidden_cycle() {
    // Beyond this distance, sums of the proof could leave the range.
    if (farthest_ > std::numeric_limits<double>::max() / 16) {
      near_everywhere();
    } else {
      const double ordinary = 4 * most_lost_ + 8 * kUnit * farthest_;
      double missing = look(ordinary);
      if (missing == 0) return {};
      if (missing > ordinary / 8) missing = look(16 * missing);
      near_.erase(std::remove_if(near_.begin(), near_.end(),
                                 [&](const Near& near) { return near.slack > missing; }),
                  near_.end());
    }
    std::vector<ExactEdge> edges;
    edges.reserve(near_.size() + static_cast<std::size_t>(graph_.n));
    for (const Near& near : near_) edges.push_back(exact(near.tail, near.edge));
    for (Index v = 0; v < graph_.n; ++v)
      if (arrival_[v].place >= 0)
        edges.push_back(exact(arrival_[v].vertex, edge_of(graph_, arrival_[v])));
    return exact_cycle(graph_.n, std::move(edges),
                       [this](uint64_t work) { interrupt_.poll(work); });
  }

  bool reached(Index v) const { return distance_[v] != unreached<Weight>(); }

  ExactEdge exact(Index tail, int64_t edge) const {
    return {tail, graph_.indices[edge], Dyadic(graph_.weights[edge])};
  }

  // Returns a + b as the rounded sum and the exact remainder (Knuth).
  static std::pair<double, double> two_sum(double a, double b) {
    const double sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
  }

  // Fills lost_; returns false if the arrivals contain a cycle.
  bool sum_along_tree() {
    enum : char { open, climbing, closed };
    std::vector<char> state(graph_.n, open);
    std::vector<Index> climb;
    for (Index start = 0; start < graph_.n; ++start) {
      if (state[start] != open || !reached(start)) continue;
      Index v = start;
      while (state[v] == open && arrival_[v].place >= 0) {
        state[v] = climbing;
        climb.push_back(v);
        v = arrival_[v].vertex;
      }
      if (state[v] == climbing) return false;
      if (state[v] == open) {  // the source, or below the virtual one
        state[v] = closed;
        farthest_ = std::max(farthest_, std::abs(static_cast<double>(distance_[v])));
      }
      for (; !climb.empty(); climb.pop_back()) {
        v = climb.back();
        const Index p = arrival_[v].vertex;
        const double here = distance_[v];
        const auto [sum, rest] =
            two_sum(distance_[p], graph_.weights[edge_of(graph_, arrival_[v])]);
        const auto [first, a] = two_sum(sum - here, rest);  // the difference is exact
        const auto [lost, b] = two_sum(first, lost_[p]);
        missing_ += std::abs(a) + std::abs(b);
        lost_[v] = lost;
        most_lost_ = std::max(most_lost_, std::abs(lost));
        farthest_ = std::max(farthest_, std::abs(here));
        state[v] = closed;
      }
    }
    return true;
  }

  void near_everywhere() {
    near_.clear();
    for (Index u = 0; u < graph_.n; ++u)
      for (int64_t i = graph_.indptr[u]; reached(u) && i < graph_.indptr[u + 1]; ++i) {
        near_.push_back({i, u, 0});
        lost_edge_ |= !reached(graph_.indices[i]);
      }
  }

  // Lists the non-tree edges with a slack of at most about `bound`, and returns V, the sum of all
  // negative slacks, or slightly more.
  double look(double bound) {
    near_.clear();
    double missing = missing_;
    for (Index u = 0; u < graph_.n; ++u) {
      if (!reached(u)) continue;
      const double from = distance_[u];
      const int64_t begin = graph_.indptr[u], end = graph_.indptr[u + 1];
      for (int64_t i = begin; i < end; ++i) {
        const Index t = graph_.indices[i];
        if (from + graph_.weights[i] - distance_[t] > bound) continue;
        if (arrival_[t].vertex == u && arrival_[t].place == i - begin) continue;
        if (!reached(t)) {
          lost_edge_ = true;
          continue;
        }
        const double slack = slack_of(u, t, graph_.weights[i]);
        if (slack < 0) missing -= slack;
        near_.push_back({i, u, slack});
      }
      interrupt_.poll(static_cast<uint64_t>(end - begin) / 8 + 1);
    }
    return missing * (1 + 1e-6);  // this sum is rounded, too
  }

  // Returns a lower bound of sum[u] + w - sum[t].
  double slack_of(Index u, Index t, double w) const {
    const auto [sum, rest] = two_sum(distance_[u], w);
    const double beyond = sum - distance_[t], before = lost_[u], after = lost_[t];
    if (before == after) {  // exact sums are compared exactly
      if (beyond == 0) return rest;
      if (rest == 0) return beyond;
    }
    const double all = std::abs(beyond) + std::abs(rest) + std::abs(before) + std::abs(after);
    return beyond + (rest + (before - after)) - 8 * kUnit * all;
  }

  const Graph& graph_;
  const Weight* distance_;
  const std::vector<Arrival>& arrival_;
  Interrupt& interrupt_;
  std::vector<double> lost_;
  std::vector<Near> near_;
  double farthest_ = 0, most_lost_ = 0;
  double missing_ = 0;      // negative slacks along the tree, where c was rounded
  bool lost_edge_ = false;  // an edge leaves the reached vertices: its sum left the range
};

}  // namespace nearfar::bellman_ford
