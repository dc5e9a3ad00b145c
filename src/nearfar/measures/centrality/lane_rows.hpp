// The rows that searches from eight sources at once read (lane_passes.hpp).
#pragma once

#include <vector>

#include "measures/centrality/compact.hpp"
#include "measures/centrality/lane_passes.hpp"

namespace nearfar::measures {

// The rows of a compact graph whose vertices are numbered by falling degree.
struct LaneRows {
  std::vector<int32_t> in_first, tails;  // empty where the graph is symmetric
  std::vector<LaneEnds> ends;
  LaneGraph graph{};

  LaneRows() = default;
  template <class C>
  explicit LaneRows(const Compact<C>& from) {
    const auto n = static_cast<std::size_t>(from.n);
    const int32_t *const first = from.first(), *const heads = from.csr.indices;
    graph = {from.n, first, heads, first, heads, nullptr};
    if (!from.symmetric) {
      in_first.assign(n + 1, 0);
      tails.resize(static_cast<std::size_t>(from.csr.m));
      for (int32_t e = 0; e < from.csr.m; ++e) ++in_first[static_cast<std::size_t>(heads[e]) + 1];
      for (std::size_t v = 0; v < n; ++v) in_first[v + 1] += in_first[v];
      std::vector<int32_t> at(in_first.begin(), in_first.end() - 1);
      for (int32_t v = 0; v < from.n; ++v)
        for (int32_t e = first[v]; e < first[v + 1]; ++e)
          tails[static_cast<std::size_t>(at[static_cast<std::size_t>(heads[e])]++)] = v;
      graph.in_first = in_first.data();
      graph.tails = tails.data();
    }
    for (const auto& [all, behind] : from.ends)
      ends.push_back({static_cast<double>(all), static_cast<double>(behind)});
    graph.ends = ends.data();
  }
};

}  // namespace nearfar::measures
