// Predecessors of finished distances, by the tight-edge rule; see proof.cpp.
//
// Workers share the edges. The smallest of several predecessors is a minimum, so that it is the
// same in any order; relaxed order suffices, since the workers' end orders the stores before all
// reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "cpu/graph/graph_view.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {

template <class C>
class TightEdges {
 public:
  using W = typename C::Weight;

  TightEdges(const C& csr, const W* d, int threads = 1) : csr_(csr), d_(d), threads_(threads) {}

  void predecessors(Index source, bool any_sign, Index* p) const {
    predecessors(std::span<const Index>(&source, 1), any_sign, p);
  }

  // The same for distances from the nearest of several sources.
  void predecessors(std::span<const Index> sources, bool any_sign, Index* p) const {
    std::vector<Index> level;  // of breadth-first searches along tight edges without a nearer end
    if (any_sign) {
      std::fill(p, p + csr_.n, Index{-1});
      level.assign(sources.begin(), sources.end());
    } else {
      nearer(p, level);
      if (level.empty()) return;
    }
    const auto n = static_cast<std::size_t>(csr_.n);
    std::vector<bool> is_source(n, false), fresh(n, false);
    for (const Index source : sources) is_source[source] = true;
    std::erase_if(level, [&](Index u) { return p[u] < 0 && !is_source[u]; });
    for (std::vector<Index> next; !level.empty(); level.swap(next)) {
      next.clear();
      for (const Index u : level) {
        for (int64_t e = csr_.indptr[u]; e < csr_.indptr[u + 1]; ++e) {
          const Index v = csr_.indices[e];
          if (is_source[v] || (p[v] >= 0 && !fresh[v]) || d_[v] == unreached<W>()) continue;
          if (saturating_add(d_[u], csr_.weights[e]) != d_[v]) continue;
          if (!any_sign && d_[u] != d_[v]) continue;
          if (p[v] < 0) fresh[v] = true, next.push_back(v);
          if (p[v] < 0 || u < p[v]) p[v] = u;
        }
      }
      for (const Index v : next) fresh[v] = false;
    }
  }

 private:
  static constexpr int64_t kShared = 1 << 16;  // edges from which workers share them
  static constexpr int64_t kBlock = 1 << 13;   // edges that a worker looks at at a time

  // Sets p[v] to the smallest nearer vertex with a tight edge to v, or -1. Adds to `level` the
  // vertices with a tight edge to another at the same distance, some more than once.
  void nearer(Index* p, std::vector<Index>& level) const {
    const int64_t m = csr_.indptr[csr_.n];
    if constexpr (std::is_same_v<decltype(C::indptr), RowStarts>) {
      if (threads_ > 1 && m >= kShared) {
        std::mutex adding;
        spread_blocks(csr_.n, kBlock, threads_, [&](const auto& each_block, Interrupt&) {
          each_block(
              [&](int64_t first, int64_t last) { std::fill(p + first, p + last, Index{-1}); });
        });
        spread_blocks(m, kBlock, threads_, [&](const auto& each_block, Interrupt& interrupt) {
          std::vector<Index> found;
          each_block([&](int64_t first, int64_t last) {
            const Index row = csr_.indptr.first_above(csr_.n, first) - 1;
            nearer<true>(row, first, last, p, found);
            interrupt.poll(kBlock);
          });
          const std::scoped_lock lock(adding);
          level.insert(level.end(), found.begin(), found.end());
        });
        return;
      }
    }
    std::fill(p, p + csr_.n, Index{-1});
    nearer<false>(0, 0, m, p, level);
  }

  // The same for edges first to last - 1, of which the first is in row u.
  template <bool kAtomic>
  void nearer(Index u, int64_t first, int64_t last, Index* p, std::vector<Index>& level) const {
    for (; first < last; ++u) {
      const int64_t end = std::min<int64_t>(csr_.indptr[u + 1], last), begin = first;
      first = end;
      if (d_[u] == unreached<W>()) continue;
      bool same = false;
      for (int64_t e = begin; e < end; ++e) {
        const Index v = csr_.indices[e];
        // A saturated sum looks like the distance of an unreached vertex.
        if (saturating_add(d_[u], csr_.weights[e]) != d_[v] || d_[v] == unreached<W>()) continue;
        if (d_[u] < d_[v])
          lower<kAtomic>(p[v], u);
        else
          same |= u != v;
      }
      if (same) level.push_back(u);
    }
  }

  // Lowers a predecessor, of which -1 is the greatest.
  template <bool kAtomic>
  static void lower(Index& p, Index u) {
    if constexpr (kAtomic) {
      const std::atomic_ref<Index> shared(p);
      Index seen = shared.load(std::memory_order_relaxed);
      while ((seen < 0 || u < seen) &&
             !shared.compare_exchange_weak(seen, u, std::memory_order_relaxed)) {
      }
    } else if (p < 0) {
      p = u;  // u ascends, so the first is the smallest
    }
  }

  const C& csr_;
  const W* d_;
  const int threads_;
};

}  // namespace nearfar
