// Unweighted betweenness from one source: two passes over the edges, without a list of successors.
//
// Let sigma be the path counts. The first pass, in order of distance, adds sigma(v) to the
// neighbours of v on the next level. The second, in reverse order, computes
//   share(v) = ends(v) / sigma(v) + sum over successors w of share(w),
// which is Brandes' (1 + delta) / sigma; sigma(v) times that sum passes through v. The levels of an
// edge's ends tell whether it leads to the next level, so no information about edges is kept
// between the passes, and sigma and share of a vertex use the same memory. Rows are padded to
// multiples of four with edges to the dummy vertex 0, so that branch prediction at row ends
// succeeds more often.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/threads/interrupt.hpp"
#include "measures/centrality/compact.hpp"
#include "measures/centrality/masks.hpp"
#include "measures/paths/scaled.hpp"

namespace nearfar::measures {

// Rows of the edges between core vertices, padded to multiples of four.
struct PaddedRows {
  std::vector<std::size_t> first{0};
  std::vector<Index> targets;

  PaddedRows() = default;
  template <class C>
  explicit PaddedRows(const Compact<C>& graph) {
    targets.reserve(static_cast<std::size_t>(graph.csr.m) +
                    3 * static_cast<std::size_t>(graph.core));
    for (Index v = 0; v < graph.core; ++v) {
      targets.insert(targets.end(), graph.csr.indices + graph.first()[v],
                     graph.csr.indices + graph.core_end[static_cast<std::size_t>(v)]);
      while (targets.size() % 4 != 0) targets.push_back(0);
      first.push_back(targets.size());
    }
  }
};

template <class C>
class LevelPasses {
 public:
  LevelPasses(const Compact<C>& graph, const PaddedRows& rows)
      : graph_(graph),
        rows_(rows),
        core_(graph.core),
        order_(new Index[size(core_)]),
        level_(new Index[size(core_)]),
        x_(new double[size(core_)]()),
        late_(graph.n_sinks() > 0 ? new double[size(core_)]() : nullptr) {
    std::fill_n(level_.get(), size(core_), kUnseen);
    level_[0] = 0;
  }

  // Adds `weight` times the paths through each vertex but the source. Returns false and adds
  // nothing if the path counts overflow a double.
  bool run(Index source, double weight, double* vertices, Interrupt& interrupt) {
    most_ = 1;
    graph_.symmetric ? walk<true>(source) : walk<false>(source);
    interrupt.poll(static_cast<uint64_t>(rows_.targets.size()));
    const bool fits = most_ < kMostPaths;
    if (fits) {
      if (late_ != nullptr) sinks_by_level();
      const Index* const level = level_.get();
      const Index* const targets = rows_.targets.data();
      const std::size_t* const first = rows_.first.data();
      const double* const x = x_.get();
      back(weight, vertices, [&](Index v, double sum) {
        const Index here = level[v];
        const auto farther = [&](Index t) { return x[picked(t, (here - level[t]) >> kSign)]; };
        const Index* t = targets + first[v];
        for (const Index* const end = targets + first[v + 1]; t != end; t += 4)
          sum += (farther(t[0]) + farther(t[1])) + (farther(t[2]) + farther(t[3]));
        return sum;
      });
    }
    if (4 * count_ > size(core_))
      std::fill_n(level_.get() + 1, size(core_) - 1, kUnseen);
    else
      for (std::size_t i = 0; i < count_; ++i) level_[order_[i]] = kUnseen;
    if (!graph_.symmetric) clear();
    return fits;
  }

 private:
  static constexpr int kSign = 8 * sizeof(Index) - 1;
  static constexpr Index kUnseen = Index{1} << (kSign - 1);  // one bit above all levels
  static std::size_t size(Index i) { return static_cast<std::size_t>(i); }

  // Runs the first pass. In a symmetric graph the predecessors of a vertex are among its
  // neighbours, and path counts are pulled from them; otherwise they are pushed to successors.
  template <bool kPull>
  void walk(Index source) {
    Index* const __restrict order = order_.get();
    Index* const __restrict level = level_.get();
    double* const __restrict x = x_.get();
    const Index* const __restrict targets = rows_.targets.data();
    const std::size_t* const first = rows_.first.data();
    double most = 1;
    std::size_t tail = 1;
    order[0] = source;
    level[source] = 0;
    x[0] = 0;
    if constexpr (!kPull) x[source] = 1;
    for (std::size_t i = 0; i < tail; ++i) {
      const Index v = order[i], here = level[v], next = here + 1;
      double paths = kPull ? static_cast<double>(i == 0) : x[v];
      const auto look = [&](Index t) {
        const Index there = level[t];
        if constexpr (kPull)
          paths += x[picked(t, (there - here) >> kSign)];
        else
          x[t] += masked(paths, ~((int64_t{there} - next) >> 63));
        level[t] = opaque(std::min(there, next));
        order[tail] = t;
        tail += static_cast<std::size_t>(there >> (kSign - 1));
      };
      const Index* t = targets + first[v];
      for (const Index* const end = targets + first[v + 1]; t != end; t += 4) {
        look(t[0]);
        look(t[1]);
        look(t[2]);
        look(t[3]);
      }
      if constexpr (kPull) x[v] = paths;
      most = std::max(most, paths);
    }
    x[0] = 0;
    most_ = most;
    count_ = tail;
  }

  // Adds the share of each sink to its predecessors on the lowest level.
  void sinks_by_level() {
    const Index* const level = level_.get();
    const Index* tails = graph_.sink_tails.data();
    for (Index s = 0; s < graph_.n_sinks(); ++s) {
      const Index* const end = graph_.sink_tails.data() + graph_.sink_first[size(s) + 1];
      Index least = kUnseen;
      for (const Index* u = tails; u != end; ++u) least = std::min(least, level[*u]);
      if (least != kUnseen) {
        double paths = 0;
        for (const Index* u = tails; u != end; ++u)
          paths += masked(x_[*u], -int64_t{level[*u] == least});
        const double share = static_cast<double>(graph_.ends[size(core_ + s)].all) / paths;
        for (const Index* u = tails; u != end; ++u)
          late_[*u] += masked(share, -int64_t{level[*u] == least});
      }
      tails = end;
    }
  }

  // Runs the second pass; successors(v, sum) adds the shares of v's successors to the sum.
  template <class Successors>
  NEARFAR_INLINE void back(double weight, double* vertices, const Successors& successors) {
    double* const x = x_.get();
    const auto* const ends = graph_.ends.data();
    for (std::size_t i = count_; i-- > 1;) {
      const Index v = order_[i];
      double sum = 0;
      if (late_ != nullptr) sum = std::exchange(late_[v], 0.0);
      sum = successors(v, sum);
      const double paths = x[v];
      const auto [all, behind] = ends[v];
      vertices[v] += weight * (paths * sum + static_cast<double>(behind));
      x[v] = static_cast<double>(all) / paths + sum;
    }
    if (late_ != nullptr) late_[order_[0]] = 0;
  }

  void clear() {
    for (std::size_t i = 0; i < count_; ++i) x_[order_[i]] = 0;
  }

  const Compact<C>& graph_;
  const PaddedRows& rows_;
  const Index core_;
  std::size_t count_ = 0;  // vertices reached
  double most_ = 1;
  std::unique_ptr<Index[]> order_, level_;
  std::unique_ptr<double[]> x_;     // sigma, then share
  std::unique_ptr<double[]> late_;  // shares that sinks add to their predecessors
};

}  // namespace nearfar::measures
