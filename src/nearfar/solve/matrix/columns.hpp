// The columns of a matrix as rows, for searches against the edges or of undirected ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nearfar {

// Writes the edges that lead to each vertex, `after_rows`: after the edges of its row. `weights`
// and `values` may be null. Returns false if an edge leads nowhere.
inline bool write_columns(std::size_t n, const int32_t* indptr, const int32_t* indices,
                          const double* weights, bool after_rows, int32_t* starts, int32_t* targets,
                          double* values) {
  const auto m = static_cast<std::size_t>(indptr[n]);
  std::fill_n(starts, n + 1, 0);
  for (std::size_t e = 0; e < m; ++e) {
    const auto v = static_cast<uint32_t>(indices[e]);
    if (v >= n) return false;
    ++starts[v + 1];
  }
  std::vector<int32_t> next(n);  // place of the next edge of each column
  for (std::size_t v = 0; v < n; ++v) {
    next[v] = starts[v] + (after_rows ? indptr[v + 1] - indptr[v] : 0);
    starts[v + 1] += next[v];
  }
  for (std::size_t u = 0; u < n; ++u) {
    const auto first = static_cast<std::size_t>(indptr[u]);
    const auto last = static_cast<std::size_t>(indptr[u + 1]);
    if (after_rows) {
      std::copy(indices + first, indices + last, targets + starts[u]);
      if (weights != nullptr) std::copy(weights + first, weights + last, values + starts[u]);
    }
    for (std::size_t e = first; e < last; ++e) {
      const int32_t at = next[indices[e]]++;
      targets[at] = static_cast<int32_t>(u);
      if (weights != nullptr) values[at] = weights[e];
    }
  }
  return true;
}

}  // namespace nearfar
