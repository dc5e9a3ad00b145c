// Weighted betweenness from one source, given its distances.
//
// One sweep over all edges in memory order finds the tight ones (tight_edges.hpp); this avoids
// short inner loops over rows and sorting by distance. Path counts only need an order in which each
// vertex follows its predecessors, which a queue of vertices without unprocessed predecessors
// yields (Kahn 1962). The tight edges are recorded in that order, and in the reverse order
// dependencies take one addition per edge:
//   sum(u) += ends(t) / sigma(t) + sum(t) for an edge from u to t,
// and sigma(u) * sum(u) passes through u.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "cpu/search/arithmetic.hpp"
#include "cpu/threads/interrupt.hpp"
#include "measures/centrality/compact.hpp"
#include "measures/centrality/masks.hpp"
#include "measures/paths/scaled.hpp"
#include "measures/paths/tight_edges.hpp"

namespace nearfar::measures {

// The edges between core vertices.
template <class C>
struct EdgeList {
  using Weight = typename C::Weight;
  using Columns = EdgeColumns<Weight>;
  std::vector<Index> tails, heads;
  std::vector<Weight> weights;

  EdgeList() = default;
  explicit EdgeList(const Compact<C>& graph) {
    for (Index v = 1; v < graph.core; ++v)
      for (Index e = graph.first()[v]; e < graph.core_end[static_cast<std::size_t>(v)]; ++e) {
        tails.push_back(v);
        heads.push_back(graph.csr.indices[e]);
        weights.push_back(graph.csr.weights[e]);
      }
    const std::size_t padded = (tails.size() + Columns::kAtOnce) / Columns::kAtOnce;
    tails.resize(padded * Columns::kAtOnce);
    heads.resize(tails.size());
    weights.resize(tails.size());
  }

  Columns columns() const { return {tails.size(), tails.data(), heads.data(), weights.data()}; }
};

// Result of processing a source.
enum class Passed {
  done,
  too_many,   // path counts overflow a double
  disorderly  // there is a cycle of weight zero, or a sum may overflow
};

template <class C>
class TightPasses {
 public:
  using Weight = typename C::Weight;

  TightPasses(const Compact<C>& graph, const EdgeList<C>& edges)
      : graph_(graph),
        edges_(edges.columns()),
        core_(graph.core),
        order_(new Index[size(core_)]),
        vertex_(new Vertex[size(core_)]),
        from_(new Index[edges_.count + kAtOnce]),
        to_(new Index[edges_.count + kAtOnce]),
        steps_(new Step[edges_.count]),
        share_(new Share[size(core_)]) {}

  // Adds `weight` times the paths through each vertex but the source; adds nothing unless it
  // returns `done`.
  Passed run(Index source, double weight, const Weight* distance, double* vertices,
             Interrupt& interrupt) {
    interrupt.poll(static_cast<uint64_t>(edges_.count));
    std::size_t reached = 0;
    Weight far = 0;
    for (Index v = 1; v < core_; ++v) {
      const Weight d = distance[v];
      reached += d != unreached<Weight>();
      far = std::max(far, d != unreached<Weight>() ? d : Weight{0});
    }
    if (!fit(far)) return Passed::disorderly;
    find_tight(distance);
    // Only edges on a cycle of weight zero can be tight at the source.
    if (vertex_[source].waiting != 0 || count_paths(source) != reached) return Passed::disorderly;
    if (!(most_ < kMostPaths)) return Passed::too_many;
    const Vertex* const vertex = vertex_.get();
    const auto* const ends = graph_.ends.data();
    Share* const share = share_.get();
    for (Index v = 1; v < core_; ++v)
      share[v] = {static_cast<double>(ends[v].all) / vertex[v].paths, 0};
    if (graph_.n_sinks() > 0) sinks_by_distance(distance);
    for (std::size_t i = n_tight_; i-- > 0;) {
      const auto [u, t] = steps_[i];
      share[u].sum += share[t].end + share[t].sum;
    }
    const double own = vertices[source];
    for (Index v = 1; v < core_; ++v) {
      const Index behind = vertex[v].paths > 0 ? ends[v].behind : 0;
      vertices[v] += weight * (vertex[v].paths * share[v].sum + static_cast<double>(behind));
    }
    vertices[source] = own;
    return Passed::done;
  }

 private:
  static constexpr Index kNone = -1;
  static constexpr std::size_t kAtOnce = EdgeColumns<Weight>::kAtOnce;
  static std::size_t size(Index i) { return static_cast<std::size_t>(i); }
  static NEARFAR_INLINE bool is_tight(Weight d, Weight w, Weight there) {
    return candidate(d, w) == static_cast<SumOf<Weight>>(there);
  }
  struct Step {
    Index from, to;
  };
  struct Vertex {
    double paths;
    Index first;    // tight edge
    Index waiting;  // tight edges into it that are unprocessed
  };
  struct Share {
    double end, sum;  // ends / sigma; the sum over successors
  };

  // Whether no sum can wrap or become infinite, including those of folded vertices before the
  // source and behind the farthest vertex, which exist only where no edge has weight zero.
  bool fit(Weight far) const {
    if constexpr (std::is_floating_point_v<Weight>) {
      return far + graph_.most < unreached<Weight>();
    } else {
      if (graph_.any_folded && graph_.least == 0) return false;
      const auto all = static_cast<long double>(far) + static_cast<long double>(graph_.most) +
                       2 * static_cast<long double>(graph_.deepest);
      return all < static_cast<long double>(unreached<Weight>());
    }
  }

  // Finds all tight edges, ordered by tail.
  void find_tight(const Weight* distance) {
    Index *const from = from_.get(), *const to = to_.get();
    const std::size_t count = NEARFAR_PICK_ISA(tight_edges<Weight>)(edges_, distance, from, to);
    from[count] = kNone;
    n_tight_ = count;
    Vertex* const vertex = vertex_.get();
    std::fill_n(vertex, size(core_), Vertex{0, static_cast<Index>(count), 0});
    for (std::size_t k = count; k-- > 0;) {
      vertex[from[k]].first = static_cast<Index>(k);
      ++vertex[to[k]].waiting;
    }
  }

  // Visits each vertex after all its predecessors (Kahn 1962); vertices on a cycle of weight zero
  // are never visited. Returns the number of vertices visited.
  std::size_t count_paths(Index source) {
    const Index *const from = from_.get(), *const to = to_.get();
    Step* const steps = steps_.get();
    Index* const order = order_.get();
    Vertex* const vertex = vertex_.get();
    double most = 1;
    std::size_t tail = 1, step = 0;
    order[0] = source;
    vertex[source].paths = 1;
    for (std::size_t i = 0; i < tail; ++i) {
      const Index v = order[i];
      const double mine = vertex[v].paths;
      most = std::max(most, mine);
      for (std::size_t k = size(vertex[v].first); from[k] == v; ++k) {
        const Index t = to[k];
        Vertex& next = vertex[t];
        next.paths += mine;
        steps[step++] = {v, t};
        order[tail] = t;
        tail += --next.waiting == 0;
      }
    }
    most_ = most;
    return tail;
  }

  void sinks_by_distance(const Weight* distance) {
    for (Index s = 0; s < graph_.n_sinks(); ++s) {
      const Weight there = distance[core_ + s];
      if (there == unreached<Weight>()) continue;
      const auto each_before = [&](auto&& act) {
        for (auto k = size(graph_.sink_first[size(s)]); k < size(graph_.sink_first[size(s) + 1]);
             ++k) {
          const Index u = graph_.sink_tails[k];
          act(u, -int64_t{is_tight(distance[u], graph_.sink_weights[k], there)});
        }
      };
      double paths = 0;
      each_before([&](Index u, int64_t tight) { paths += masked(vertex_[u].paths, tight); });
      const double share = static_cast<double>(graph_.ends[size(core_ + s)].all) / paths;
      each_before([&](Index u, int64_t tight) { share_[u].sum += masked(share, tight); });
    }
  }

  const Compact<C>& graph_;
  const EdgeColumns<Weight> edges_;
  const Index core_;
  std::size_t n_tight_ = 0;
  double most_ = 1;
  std::unique_ptr<Index[]> order_;
  std::unique_ptr<Vertex[]> vertex_;
  std::unique_ptr<Index[]> from_, to_;  // ends of tight edges
  std::unique_ptr<Step[]> steps_;
  std::unique_ptr<Share[]> share_;
};

}  // namespace nearfar::measures
