// The graph searched for betweenness: without dead ends, with vertices renumbered by nearness or
// degree.
//
// Three reductions before any search make every search cheaper:
// - All paths into and out of a vertex with one neighbour, and so of a whole tree attached to one
//   vertex, pass through that vertex. The paths inside the tree are counted by products of numbers
//   of sources and targets; outside, the tree counts as more sources and targets at its root
//   (Baglioni et al. 2012). Sums of floats that start at another vertex may tie differently, so
//   trees are folded for integer weights only.
// - A vertex without outgoing edges (most of a peer-to-peer or web graph) only ends paths. One with
//   a single incoming edge counts as a target at the tail of that edge; the others are kept
//   separately as sinks and processed once per search, over their incoming edges.
// - Numbering vertices in breadth-first order puts neighbours close together in memory, which takes
//   a fifth off every search of a road network or a mesh. Where eight sources are searched at once
//   (lane_passes.hpp), vertices are numbered by falling degree instead.
// Baglioni et al., "Fast exact computation of betweenness centrality in social networks", ASONAM
// 2012.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "cpu/graph/graph_view.hpp"

namespace nearfar::measures {

// The rows without their weights, which are compiled once for all types of these. Positions of
// edges have 32 bits here: a graph has fewer than 2^31 of them.
class CompactRows {
 public:
  static constexpr Index kNone = -1;

  // Numbers of targets: `all` counts a vertex and those folded onto it, `behind` only the latter.
  struct Ends {
    Index all, behind;
  };

  // given: the graph; its weights are not read. fold: whether to separate sinks; rows must then
  // have neither parallel edges nor self-loops, and weights must be positive. trees: whether to
  // fold trees, too. lanes: whether the graph is unweighted and eight sources may be searched at
  // once. is_source and is_target: one per vertex.
  CompactRows(const Csr<int32_t>& given, bool fold, bool trees, bool lanes,
              const std::vector<uint8_t>& is_source, const std::vector<uint8_t>& is_target)
      : indptr_(given.indptr), m_(size(given.m)), n_(size(given.n)) {
    const Rows in = transposed({given.indptr, given.indices, nullptr});
    const Rows out = transposed(in.view());
    symmetric = in.first == out.first && in.ends == out.ends;
    root_.assign(n_, kNone);
    sources.assign(n_, 0);
    ends_.assign(n_, {0, 0});
    inside_.assign(n_, 0);
    std::vector<Index> own(n_);    // targets at the vertices themselves
    std::vector<double> from(n_);  // sources
    for (std::size_t v = 0; v < n_; ++v) {
      own[v] = ends_[v].all = is_target[v];
      from[v] = sources[v] = is_source[v];
    }
    std::vector<double> pairs(n_, 0);  // source-target pairs within one branch below
    if (fold && symmetric && trees)
      fold_trees(out, pairs);
    else if (fold && !symmetric)
      fold_sinks(in);
    any_folded = std::any_of(root_.begin(), root_.end(), [](Index u) { return u != kNone; });
    number(in, out, fold && !symmetric, lanes);
    count_inside(own, from, pairs);
    copy(in);
    enter_sinks(in);
    carry_over(own);
  }

  // Kept vertices are numbered 1 to n - 1, those that are not sinks below `core`. Vertex 0 is a
  // dummy that masked reads refer to.
  Index n = 0, core = 0;
  bool any_folded = false;
  bool for_lanes = false;  // numbered by falling degree
  bool symmetric = false;  // every edge has an opposite edge, of any weight

  std::vector<Index> vertex;                  // the caller's number of a kept vertex
  std::vector<Index> starts;                  // kept vertices to search from, nearby consecutive
  std::vector<Index> edge;                    // the caller's number of a kept edge
  std::vector<Index> core_end;                // per row: edges from here on lead to sinks
  std::vector<Index> sink_first, sink_tails;  // edges into sink core + i
  std::vector<Ends> ends;                     // of kept vertices
  std::vector<double> sources;                // per kept vertex, including those folded onto it

  Index n_sinks() const { return n - core; }
  const Index* first() const { return first_.data(); }  // row starts of the kept edges

  // Adds the paths inside folded trees and the sums of the kept vertices.
  void add_up(const std::vector<double>& kept, double* vertices) const {
    for (std::size_t v = 0; v < n_; ++v) vertices[v] += inside_[v];
    for (std::size_t i = 1; i < size(n); ++i) vertices[size(vertex[i])] += kept[i];
  }

 protected:
  static std::size_t size(int64_t i) { return static_cast<std::size_t>(i); }

  struct View {
    RowStarts first;
    const Index* ends;
    const Index* edges;  // null: in order
  };
  struct Rows {
    std::vector<Index> first, ends, edges;
    View view() const { return {RowStarts(first.data()), ends.data(), edges.data()}; }
    std::size_t degree(std::size_t v) const { return size(first[v + 1] - first[v]); }
  };

  // Returns the rows of the reversed edges, each ascending.
  Rows transposed(const View& rows) const {
    Rows made;
    const std::size_t m = m_;
    made.first.assign(n_ + 1, 0);
    made.ends.resize(m);
    made.edges.resize(m);
    for (std::size_t e = 0; e < m; ++e) ++made.first[size(rows.ends[e]) + 1];
    for (std::size_t v = 0; v < n_; ++v) made.first[v + 1] += made.first[v];
    std::vector<Index> at(made.first.begin(), made.first.end() - 1);
    for (std::size_t v = 0; v < n_; ++v)
      for (int64_t e = rows.first[v]; e < rows.first[v + 1]; ++e) {
        const std::size_t k = size(at[size(rows.ends[e])]++);
        made.ends[k] = static_cast<Index>(v);
        made.edges[k] = rows.edges == nullptr ? static_cast<Index>(e) : rows.edges[e];
      }
    return made;
  }

  // Folds each vertex onto its only remaining neighbour.
  void fold_trees(const Rows& out, std::vector<double>& pairs) {
    std::vector<Index> degree(n_);
    for (std::size_t v = 0; v < n_; ++v) {
      degree[v] = static_cast<Index>(out.degree(v));
      if (degree[v] == 1) folded_.push_back(static_cast<Index>(v));
    }
    std::size_t done = 0;
    for (std::size_t i = 0; i < folded_.size(); ++i) {
      const std::size_t v = size(folded_[i]);
      if (degree[v] == 0) continue;  // the last vertex of a component that is a tree: its root
      Index k = out.first[v];
      while (root_[size(out.ends[size(k)])] != kNone) ++k;
      const std::size_t u = size(out.ends[size(k)]);
      root_[v] = static_cast<Index>(u);
      folded_[done++] = static_cast<Index>(v);
      pairs[u] += sources[v] * static_cast<double>(ends_[v].all);
      sources[u] += sources[v];
      ends_[u].all += ends_[v].all;
      to_root_.push_back(out.edges[size(k)]);
      from_root_.push_back(back(out, u, v));
      if (--degree[u] == 1) folded_.push_back(static_cast<Index>(u));
      degree[v] = 0;
    }
    folded_.resize(done);
  }

  Index back(const Rows& out, std::size_t u, std::size_t v) const {
    const auto row = out.ends.begin() + out.first[u], end = out.ends.begin() + out.first[u + 1];
    const auto at = std::lower_bound(row, end, static_cast<Index>(v));
    return out.edges[static_cast<std::size_t>(at - out.ends.begin())];
  }

  // Folds each vertex without outgoing edges onto its only predecessor.
  void fold_sinks(const Rows& in) {
    for (std::size_t v = 0; v < n_; ++v) {
      if (indptr_[v + 1] != indptr_[v] || in.degree(v) != 1) continue;
      const std::size_t u = size(in.ends[size(in.first[v])]);
      root_[v] = static_cast<Index>(u);
      ends_[u].all += ends_[v].all;
      sources[v] = 0;  // reaches nothing
    }
  }

  // Breadth-first along edges of both directions; sinks come last, by their number of incoming
  // edges.
  void number(const Rows& in, const Rows& out, bool sinks_apart, bool lanes) {
    label_.assign(n_, kNone);
    component_.push_back(kNone);
    vertex.push_back(kNone);
    const auto kept = [&](std::size_t v) { return root_[v] == kNone; };
    const auto is_sink = [&](std::size_t v) {
      return sinks_apart && out.degree(v) == 0 && in.degree(v) > 0;
    };
    const auto meet = [&](Index t) {
      if (label_[size(t)] != kNone || !kept(size(t)) || is_sink(size(t))) return;
      label_[size(t)] = static_cast<Index>(vertex.size());
      component_.push_back(components_);
      vertex.push_back(t);
    };
    double values = 0;  // distinct distances from eight sources to a vertex, summed over vertices
    for (std::size_t s = 0; s < n_; ++s) {
      const std::size_t first = vertex.size();
      std::size_t i = first;
      meet(static_cast<Index>(s));
      if (i == vertex.size()) continue;
      std::vector<std::size_t> levels{first};
      for (; i < vertex.size(); ++i) {
        if (i == levels.back()) levels.push_back(vertex.size());
        const std::size_t v = size(vertex[i]);
        for (Index e = out.first[v]; e < out.first[v + 1]; ++e) meet(out.ends[size(e)]);
        if (!symmetric)
          for (Index e = in.first[v]; e < in.first[v + 1]; ++e) meet(in.ends[size(e)]);
      }
      const auto all = static_cast<double>(vertex.size() - first);
      for (std::size_t k = 1; k < levels.size(); ++k) {
        const double missed = 1 - static_cast<double>(levels[k] - levels[k - 1]) / all;
        values += all * (1 - missed * missed * missed * missed * missed * missed * missed * missed);
      }
      ++components_;
    }
    core = static_cast<Index>(vertex.size());
    for (Index i = 1; i < core; ++i)
      if (sources[size(vertex[size(i)])] > 0) starts.push_back(vertex[size(i)]);
    for_lanes = lanes && starts.size() >= kFewestInLanes &&
                values < kMostValues * static_cast<double>(core);
    if (for_lanes) number_by_degree(in, out);
    for (std::size_t v = 0; v < n_; ++v)
      if (kept(v) && is_sink(v)) vertex.push_back(static_cast<Index>(v));
    std::stable_sort(vertex.begin() + core, vertex.end(),
                     [&](Index a, Index b) { return in.degree(size(a)) < in.degree(size(b)); });
    n = static_cast<Index>(vertex.size());
    for (std::size_t i = size(core); i < vertex.size(); ++i)
      label_[size(vertex[i])] = static_cast<Index>(i);
    for (Index& v : starts) v = label_[size(v)];
  }

  void number_by_degree(const Rows& in, const Rows& out) {
    std::vector<std::pair<Index, Index>> degrees(n_);  // in- and out-degree among kept vertices
    for (Index i = 1; i < core; ++i) {
      const std::size_t v = size(vertex[size(i)]);
      for (Index e = out.first[v]; e < out.first[v + 1]; ++e)
        degrees[v].first += root_[size(out.ends[size(e)])] == kNone;
      degrees[v].second = static_cast<Index>(in.degree(v));
    }
    const std::vector<Index> component = component_;
    const auto was = [&](Index v) { return size(label_[size(v)]); };
    std::stable_sort(vertex.begin() + 1, vertex.end(),
                     [&](Index a, Index b) { return degrees[size(a)] > degrees[size(b)]; });
    for (Index i = 1; i < core; ++i) component_[size(i)] = component[was(vertex[size(i)])];
    for (Index i = 1; i < core; ++i) label_[size(vertex[size(i)])] = i;
  }

  // Source-target pairs whose path passes through a vertex, as far as the trees determine them:
  // between two branches below it, and from below it to elsewhere and back. At a root the last two
  // are counted by the searches.
  void count_inside(const std::vector<Index>& own, const std::vector<double>& from,
                    const std::vector<double>& pairs) {
    if (folded_.empty()) return;
    std::vector<double> all_sources(size(components_), 0), all_targets(size(components_), 0);
    for (std::size_t i = 1; i < size(core); ++i) {
      all_sources[size(component_[i])] += sources[size(vertex[i])];
      all_targets[size(component_[i])] += static_cast<double>(ends_[size(vertex[i])].all);
    }
    std::vector<Index> where(n_, kNone);
    for (std::size_t i = 1; i < size(core); ++i) where[size(vertex[i])] = component_[i];
    for (std::size_t i = folded_.size(); i-- > 0;) {  // a root is folded after its branches
      const std::size_t v = size(folded_[i]);
      where[v] = where[size(root_[v])];
    }
    for (std::size_t v = 0; v < n_; ++v) {
      const double sources_below = sources[v] - from[v],
                   targets_below = static_cast<double>(ends_[v].all - own[v]);
      const double to_others = all_targets[size(where[v])] - static_cast<double>(ends_[v].all);
      const double from_others = all_sources[size(where[v])] - sources[v];
      inside_[v] = sources_below * targets_below - pairs[v] + sources_below * to_others;
      if (root_[v] != kNone) inside_[v] += from_others * targets_below;
    }
  }

  // Heads are distributed to rows in ascending order, so rows end up ascending.
  void copy(const Rows& in) {
    first_.assign(size(n) + 1, 0);
    const auto each_kept = [&](auto&& act) {
      for (Index t = 1; t < n; ++t) {
        const std::size_t v = size(vertex[size(t)]);
        for (Index k = in.first[v]; k < in.first[v + 1]; ++k) {
          const Index u = label_[size(in.ends[size(k)])];
          if (u != kNone) act(size(u), t, in.edges[size(k)]);
        }
      }
    };
    each_kept([&](std::size_t u, Index, Index) { ++first_[u + 1]; });
    for (std::size_t v = 0; v < size(n); ++v) first_[v + 1] += first_[v];
    const std::size_t m = size(first_.back());
    indices_.resize(m);
    edge.resize(m);
    std::vector<Index> at(first_.begin(), first_.end() - 1);
    each_kept([&](std::size_t u, Index t, Index e) {
      const std::size_t k = size(at[u]++);
      indices_[k] = t;
      edge[k] = e;
    });
    core_end.assign(first_.begin() + 1, first_.end());
    if (n_sinks() > 0)
      for (std::size_t v = 0; v < size(n); ++v) {
        const auto row = indices_.begin() + first_[v], end = indices_.begin() + first_[v + 1];
        core_end[v] = static_cast<Index>(std::lower_bound(row, end, core) - indices_.begin());
      }
  }

  void enter_sinks(const Rows& in) {
    sink_first.push_back(0);
    for (std::size_t i = size(core); i < size(n); ++i) {
      const std::size_t v = size(vertex[i]);
      for (Index e = in.first[v]; e < in.first[v + 1]; ++e) {
        sink_tails.push_back(label_[size(in.ends[size(e)])]);
        sink_edges_.push_back(in.edges[size(e)]);
      }
      sink_first.push_back(static_cast<Index>(sink_tails.size()));
    }
  }

  // Numbers of sources and targets per kept vertex.
  void carry_over(const std::vector<Index>& own) {
    std::vector<double> by_label(size(n), 0);
    ends.assign(size(n), {0, 0});
    for (std::size_t i = 1; i < size(n); ++i) {
      const std::size_t v = size(vertex[i]);
      by_label[i] = sources[v];
      ends[i] = {ends_[v].all, ends_[v].all - own[v]};
    }
    sources = std::move(by_label);
  }

  static constexpr std::size_t kFewestInLanes = 4;  // sources
  static constexpr double kMostValues = 5;          // up to it eight lanes are faster than one

  const RowStarts indptr_;  // of the given graph
  const std::size_t m_, n_;
  std::vector<Index> root_;  // the vertex onto which each is folded
  std::vector<Index> label_, component_;
  Index components_ = 0;
  std::vector<Ends> ends_;  // by given number
  std::vector<double> inside_;
  std::vector<Index> first_, indices_;
  std::vector<Index> folded_, to_root_, from_root_;  // with the edges between it and its root
  std::vector<Index> sink_edges_;                    // given numbers of those into sinks
};

template <class C>
class Compact : public CompactRows {
 public:
  using Weight = typename C::Weight;
  using Base = CompactRows;

  // fold: whether to fold and to keep sinks apart; rows must have neither parallel edges nor
  // self-loops, and only then need weights be positive. Other parameters are those of CompactRows.
  Compact(const C& given, bool fold, bool lanes, const std::vector<uint8_t>& is_source,
          const std::vector<uint8_t>& is_target)
      : Base(structure(given), fold, !std::is_floating_point_v<Weight>, lanes, is_source,
             is_target) {
    const Weight* const weights = given.weights;
    for (std::size_t e = 0; e < this->m_; ++e) {
      least = std::min(least, weights[e]);
      most = std::max(most, weights[e]);
    }
    std::vector<Weight> depth(this->folded_.empty() ? 0 : this->n_, 0);
    for (std::size_t i = 0; i < this->folded_.size(); ++i) {
      const std::size_t v = Base::size(this->folded_[i]), u = Base::size(this->root_[v]);
      const Weight longer = std::max(weights[this->to_root_[i]], weights[this->from_root_[i]]);
      depth[u] = std::max(depth[u], saturating_add(depth[v], longer));
      deepest = std::max(deepest, depth[u]);
    }
    weights_.resize(this->edge.size());
    for (std::size_t k = 0; k < weights_.size(); ++k) weights_[k] = weights[this->edge[k]];
    sink_weights.resize(this->sink_edges_.size());
    for (std::size_t k = 0; k < sink_weights.size(); ++k)
      sink_weights[k] = weights[this->sink_edges_[k]];
    csr.n = this->n;
    csr.m = static_cast<int64_t>(this->indices_.size());
    csr.indptr = this->first_.data();
    csr.indices = this->indices_.data();
    csr.weights = weights_.data();
  }

  Weight least = unreached<Weight>(), most = 0;  // weights, folded ones too
  Weight deepest = 0;                            // no folded vertex is farther from its root
  Csr<Weight> csr;                               // kept edges; rows ascend
  std::vector<Weight> sink_weights;              // of edges into sinks

 private:
  static Csr<int32_t> structure(const C& given) {
    Csr<int32_t> rows;
    rows.n = given.n;
    rows.m = given.m;
    rows.indptr = given.indptr;
    rows.indices = given.indices;
    return rows;
  }

  std::vector<Weight> weights_;
};

}  // namespace nearfar::measures
