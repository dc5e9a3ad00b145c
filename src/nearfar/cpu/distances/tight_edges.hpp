// Predecessors of finished distances, by the tight-edge rule; see proof.cpp.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cpu/graph/graph_view.hpp"

namespace nearfar {

template <class C>
class TightEdges {
 public:
  using W = typename C::Weight;

  TightEdges(const C& csr, const W* d) : csr_(csr), d_(d) {}

  void predecessors(Index source, bool any_sign, Index* p) const {
    predecessors(std::span<const Index>(&source, 1), any_sign, p);
  }

  // The same for distances from the nearest of several sources.
  void predecessors(std::span<const Index> sources, bool any_sign, Index* p) const {
    std::fill(p, p + csr_.n, Index{-1});
    std::vector<Index> level;
    std::vector<bool> done(static_cast<std::size_t>(csr_.n), false);
    bool plateau = any_sign;
    if (!any_sign) {
      for (Index u = 0; u < csr_.n; ++u) {
        if (d_[u] == unreached<W>()) continue;
        for (int64_t e = csr_.indptr[u]; e < csr_.indptr[u + 1]; ++e) {
          const Index v = csr_.indices[e];
          // A saturated sum looks like the distance of an unreached vertex.
          if (saturating_add(d_[u], csr_.weights[e]) != d_[v] || d_[v] == unreached<W>()) continue;
          if (d_[u] < d_[v]) {
            if (p[v] < 0) p[v] = u;  // u ascends, so the first is the smallest
          } else if (u != v) {
            plateau = true;
          }
        }
      }
      if (!plateau) return;
      for (Index v = 0; v < csr_.n; ++v)
        if (p[v] >= 0) done[v] = true, level.push_back(v);
    }
    for (const Index source : sources) {
      if (!done[source]) level.push_back(source);
      done[source] = true;
    }
    for (std::vector<Index> next; !level.empty(); level.swap(next)) {
      next.clear();
      for (const Index u : level) {
        for (int64_t e = csr_.indptr[u]; e < csr_.indptr[u + 1]; ++e) {
          const Index v = csr_.indices[e];
          if (done[v] || d_[v] == unreached<W>()) continue;
          if (saturating_add(d_[u], csr_.weights[e]) != d_[v]) continue;
          if (!any_sign && d_[u] != d_[v]) continue;
          if (p[v] < 0) next.push_back(v);
          if (p[v] < 0 || u < p[v]) p[v] = u;
        }
      }
      for (const Index v : next) done[v] = true;
    }
  }

 private:
  const C& csr_;
  const W* d_;
};

}  // namespace nearfar
