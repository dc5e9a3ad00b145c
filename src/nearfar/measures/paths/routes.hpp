// The shortest path to each of some targets, traced backwards from finished distances.
//
// Each vertex of a path has the same predecessor as in Paths (cpu/distances/proof.cpp): among the
// tight edges from strictly nearer vertices the one with the smallest tail, among parallel ones the
// one with the lowest id. It is searched only for vertices on paths, among their incoming edges.
// Where only edges that add nothing to the distance lead to a vertex, all predecessors are computed
// once for the source.
#pragma once

#include <memory>
#include <vector>

#include "cpu/distances/tight_edges.hpp"
#include "cpu/memory/buffer.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar::measures {

// The incoming edges of each vertex: edges[first[v]] up to edges[first[v + 1]], ascending.
struct Entering {
  const int64_t* first;
  const int64_t* edges;
  const int64_t* tails;  // of every edge
};

template <class C>
class Routes {
 public:
  using Weight = typename C::Weight;

  Routes(const C& csr, const Entering& entering)
      : csr_(csr),
        entering_(entering),
        before_(new int64_t[static_cast<std::size_t>(csr.n)]),
        edge_(new int64_t[static_cast<std::size_t>(csr.n)]) {
    std::fill_n(before_.get(), static_cast<std::size_t>(csr.n), kUnknown);
  }

  void start(Index source, const Weight* distances) {
    for (std::size_t i = 0; i < seen_.size; ++i) before_[seen_.data[i]] = kUnknown;
    seen_.size = 0;
    source_ = source;
    distances_ = distances;
    all_.clear();
  }

  // Whether the last edge of the path to v is known; it is for the source.
  bool known(int64_t v) const { return v == source_ || before_[v] != kUnknown; }

  // Finds the last edge of the path to a reached vertex other than the source.
  void find(int64_t v) {
    seen_.push(v);
    const Weight d = distances_[v];
    if (all_.empty())
      for (int64_t k = entering_.first[v]; k < entering_.first[v + 1]; ++k) {
        const int64_t e = entering_.edges[k];
        const int64_t u = entering_.tails[e];
        if (!(distances_[u] < d) || !tight(e, u, d)) continue;
        set(v, u, k);
        return;
      }
    if (all_.empty()) {
      all_.resize(static_cast<std::size_t>(csr_.n));
      TightEdges<C>(csr_, distances_).predecessors(static_cast<Index>(source_), false, all_.data());
    }
    const int64_t u = all_[static_cast<std::size_t>(v)];
    for (int64_t k = entering_.first[v];; ++k) {
      const int64_t e = entering_.edges[k];
      if (entering_.tails[e] != u || !tight(e, u, d)) continue;
      set(v, u, k);
      return;
    }
  }

  int64_t before(int64_t v) const { return before_[v]; }
  int64_t edge(int64_t v) const { return edge_[v]; }

 private:
  static constexpr int64_t kUnknown = -1;

  bool tight(int64_t e, int64_t u, Weight d) const {
    return saturating_add(distances_[u], csr_.weights[e]) == d;
  }
  // Records incoming edge number k of v, from u. Among parallel edges the lightest is chosen,
  // because rounding may make a heavier one tight too.
  void set(int64_t v, int64_t u, int64_t k) {
    int64_t best = entering_.edges[k];
    for (++k; k < entering_.first[v + 1] && entering_.tails[entering_.edges[k]] == u; ++k)
      if (csr_.weights[entering_.edges[k]] < csr_.weights[best]) best = entering_.edges[k];
    before_[v] = u;
    edge_[v] = best;
  }

  const C& csr_;
  const Entering& entering_;
  int64_t source_ = 0;
  const Weight* distances_ = nullptr;
  std::unique_ptr<int64_t[]> before_, edge_;
  Buffer<int64_t> seen_;
  std::vector<Index> all_;  // predecessors of every vertex, computed on demand
};

}  // namespace nearfar::measures
