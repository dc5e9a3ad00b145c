// Dependencies of one source without a list of successors: two passes over the edges.
//
// With sigma the numbers of shortest paths, the first pass, in order of distance, adds sigma(v) to
// every vertex that an edge from v is tight to; the second, against the order, adds up
//   share(v) = ends(v) / sigma(v) + sum over successors w of share(w),
// Brandes' (1 + delta) / sigma, and sigma(v) times that sum passes through v. Whether an edge is
// tight is seen from its ends, so nothing about edges is kept from one pass to the other, and sigma
// and share of a vertex take one place.
//
// An edge is tight or not as good as at random, and a branch on that costs more than all the rest:
// what does not count is masked to nothing or read from vertex 0, which is nobody, and compilers
// are kept from making the branch of it (opaque). Without weights, rows are padded to pairs by
// edges to nobody, so that most of them end where the processor expects it.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "cpu/arithmetic.hpp"
#include "cpu/interrupt.hpp"
#include "measures/by_distance.hpp"
#include "measures/compact.hpp"
#include "measures/scaled.hpp"

namespace nearfar::measures {

// Rows of the edges between core vertices, padded to pairs.
template <class Index>
struct PairedRows {
  std::vector<std::size_t> first{0};
  std::vector<Index> targets;

  PairedRows() = default;
  template <class C>
  explicit PairedRows(const Compact<C>& graph) {
    targets.reserve(static_cast<std::size_t>(graph.csr.m) + static_cast<std::size_t>(graph.core));
    for (Index v = 0; v < graph.core; ++v) {
      targets.insert(targets.end(), graph.csr.indices + graph.csr.indptr[v],
                     graph.csr.indices + graph.core_end[static_cast<std::size_t>(v)]);
      if (targets.size() % 2 != 0) targets.push_back(0);
      first.push_back(targets.size());
    }
  }
};

// What became of a source.
enum class Passed {
  done,
  too_many,   // paths for a double
  disorderly  // an edge might join equal distances, or a sum not fit
};

template <class C>
class Passes {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;

  // csr: the graph's edges, packed where there are weights; rows: used where there are none.
  Passes(const Compact<C>& graph, const C& csr, const PairedRows<Index>& rows, bool weighted)
      : graph_(graph),
        csr_(csr),
        rows_(rows),
        core_(graph.core),
        order_(new Index[size(core_)]),
        level_(weighted ? nullptr : new Index[size(core_)]),
        x_(new double[size(core_)]()),
        late_(graph.n_sinks() > 0 ? new double[size(core_)]() : nullptr),
        sorter_(size(core_)) {
    if (weighted) return;
    std::fill_n(level_.get(), size(core_), kUnseen);
    level_[0] = -1;
  }

  // By edges. Adds `weight` times what passes through each vertex but the source; nothing unless
  // it is done.
  Passed breadth_first(Index source, double weight, double* vertices, Interrupt& interrupt) {
    most_ = 1;
    graph_.symmetric ? pull_levels(source) : push_levels(source);
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
        for (const Index* const end = targets + first[v + 1]; t != end; t += 2)
          sum += farther(t[0]) + farther(t[1]);
        return sum;
      });
    }
    if (4 * count_ > size(core_))
      std::fill_n(level_.get() + 1, size(core_) - 1, kUnseen);
    else
      for (std::size_t i = 0; i < count_; ++i) level_[order_[i]] = kUnseen;
    if (!graph_.symmetric) clear();
    return fits ? Passed::done : Passed::too_many;
  }

  // From finished distances; the same.
  Passed weighted(double weight, const Weight* distance, double* vertices, Interrupt& interrupt) {
    count_ = 0;
    Weight far = 0;
    for (Index v = 0; v < core_; ++v) {
      const Weight d = distance[v];
      order_[count_] = v;
      const bool reached = d != unreached<Weight>();
      count_ += reached;
      far = std::max(far, reached ? d : Weight{0});
    }
    if (!orderly(far)) return Passed::disorderly;
    sorter_.sort(order_.get(), count_, distance);
    most_ = 1;
    push(distance);
    interrupt.poll(static_cast<uint64_t>(csr_.m));
    const bool fits = most_ < kMostPaths;
    if (fits) {
      if (late_ != nullptr) sinks_by_distance(distance);
      back(weight, vertices, [&](Index v, double sum) {
        const Weight here = distance[v];
        for (Index e = csr_.indptr[v]; e < graph_.core_end[size(v)]; ++e) {
          const auto [t, w, dead_end] = csr_.edge(size(e));
          sum += x_[picked(t, -Index{is_tight(here, w, distance[t])})];
        }
        return sum;
      });
    }
    clear();
    return fits ? Passed::done : Passed::too_many;
  }

 private:
  static constexpr Index kUnseen = std::numeric_limits<Index>::max();
  static constexpr int kSign = 8 * sizeof(Index) - 1;
  static std::size_t size(Index i) { return static_cast<std::size_t>(i); }

  template <class Number>
  static NEARFAR_INLINE Number opaque(Number x) {
    asm("" : "+r"(x));
    return x;
  }
  // t where the mask is all ones, else nobody.
  static NEARFAR_INLINE std::size_t picked(Index t, Index mask) {
    using Bits = std::make_unsigned_t<Index>;
    return static_cast<Bits>(t) & static_cast<Bits>(opaque(mask));
  }
  static NEARFAR_INLINE double masked(double x, int64_t mask) {
    return std::bit_cast<double>(std::bit_cast<int64_t>(x) & mask);
  }
  static NEARFAR_INLINE bool is_tight(Weight d, Weight w, Weight there) {
    return candidate(d, w) == static_cast<SumOf<Weight>>(there);
  }

  // Every edge leads strictly farther, and no sum wraps or becomes infinite. Of folded vertices
  // too, before the source and behind the farthest.
  bool orderly(Weight far) const {
    if constexpr (std::is_floating_point_v<Weight>) {
      return graph_.least > 0 && far + graph_.least > far &&
             far + graph_.most < unreached<Weight>();
    } else {
      const auto all = static_cast<long double>(far) +
                       2.0L * static_cast<long double>(graph_.deepest) +
                       static_cast<long double>(graph_.most);
      return graph_.least > 0 && all < static_cast<long double>(unreached<Weight>());
    }
  }

  // Where every edge has its opposite, the vertices before one are among those that it looks at.
  void pull_levels(Index source) {
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
    for (std::size_t i = 0; i < tail; ++i) {
      const Index v = order[i], here = level[v], next = here + 1;
      double sum = i == 0 ? 1 : 0;
      const auto look = [&](Index t) {
        const Index there = level[t];
        sum += x[picked(t, (there - here) >> kSign)];
        level[t] = opaque(std::min(there, next));
        order[tail] = t;
        tail += there > next;
      };
      const Index* t = targets + first[v];
      for (const Index* const end = targets + first[v + 1]; t != end; t += 2) {
        look(t[0]);
        look(t[1]);
      }
      x[v] = sum;
      most = std::max(most, sum);
    }
    most_ = most;
    count_ = tail;
  }

  void push_levels(Index source) {
    Index* const __restrict order = order_.get();
    Index* const __restrict level = level_.get();
    double* const __restrict x = x_.get();
    const Index* const __restrict targets = rows_.targets.data();
    const std::size_t* const first = rows_.first.data();
    double most = 1;
    std::size_t tail = 1;
    order[0] = source;
    level[source] = 0;
    x[source] = 1;
    for (std::size_t i = 0; i < tail; ++i) {
      const Index v = order[i], next = level[v] + 1;
      const double mine = x[v];
      most = std::max(most, mine);
      const auto look = [&](Index t) {
        const Index there = level[t];
        x[t] += masked(mine, opaque(~((int64_t{there} - next) >> 63)));
        level[t] = opaque(std::min(there, next));
        order[tail] = t;
        tail += there > next;
      };
      const Index* t = targets + first[v];
      for (const Index* const end = targets + first[v + 1]; t != end; t += 2) {
        look(t[0]);
        look(t[1]);
      }
    }
    x[0] = 0;
    most_ = most;
    count_ = tail;
  }

  void push(const Weight* distance) {
    double* const __restrict x = x_.get();
    double most = 1;
    x[order_[0]] = 1;
    for (std::size_t i = 0; i < count_; ++i) {
      const Index v = order_[i];
      const Weight here = distance[v];
      const double mine = x[v];
      most = std::max(most, mine);
      for (Index e = csr_.indptr[v]; e < graph_.core_end[size(v)]; ++e) {
        const auto [t, w, dead_end] = csr_.edge(size(e));
        x[t] += masked(mine, opaque(-int64_t{is_tight(here, w, distance[t])}));
      }
    }
    most_ = most;
  }

  // What each sink adds to the vertices before it, those of the lowest level.
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
          paths += masked(x_[*u], opaque(-int64_t{level[*u] == least}));
        const double share = graph_.ends[size(core_ + s)].all / paths;
        for (const Index* u = tails; u != end; ++u)
          late_[*u] += masked(share, opaque(-int64_t{level[*u] == least}));
      }
      tails = end;
    }
  }

  void sinks_by_distance(const Weight* distance) {
    for (Index s = 0; s < graph_.n_sinks(); ++s) {
      const Weight there = distance[core_ + s];
      if (there == unreached<Weight>()) continue;
      const auto each_before = [&](auto&& act) {
        for (auto k = size(graph_.sink_first[size(s)]); k < size(graph_.sink_first[size(s) + 1]);
             ++k) {
          const Index u = graph_.sink_tails[k];
          act(u, opaque(-int64_t{is_tight(distance[u], graph_.sink_weights[k], there)}));
        }
      };
      double paths = 0;
      each_before([&](Index u, int64_t tight) { paths += masked(x_[u], tight); });
      const double share = graph_.ends[size(core_ + s)].all / paths;
      each_before([&](Index u, int64_t tight) { late_[u] += masked(share, tight); });
    }
  }

  // Against the order; successors(v, sum) adds the shares of v's successors to the sum.
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
      vertices[v] += weight * (paths * sum + behind);
      x[v] = all / paths + sum;
    }
    if (late_ != nullptr) late_[order_[0]] = 0;
  }

  void clear() {
    for (std::size_t i = 0; i < count_; ++i) x_[order_[i]] = 0;
  }

  const Compact<C>& graph_;
  const C& csr_;
  const PairedRows<Index>& rows_;
  const Index core_;
  std::size_t count_ = 0;  // reached
  double most_ = 1;
  std::unique_ptr<Index[]> order_, level_;
  std::unique_ptr<double[]> x_;     // sigma, then share
  std::unique_ptr<double[]> late_;  // what sinks add to the vertices before them
  ByDistance<Index, Weight> sorter_;
};

}  // namespace nearfar::measures
