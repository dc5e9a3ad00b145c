// Nearest sources of the vertices of a shortest-path forest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nearfar {

constexpr int32_t kNoVertex = -9999;  // SciPy's mark of no predecessor

// Writes the root of each reached vertex in a forest whose roots have no predecessor.
inline void find_roots(const int32_t* before, const double* d, std::size_t n, int32_t* roots) {
  std::fill_n(roots, n, kNoVertex);
  std::vector<std::size_t> path;
  for (std::size_t v = 0; v < n; ++v) {
    if (std::isinf(d[v])) continue;
    std::size_t at = v;
    for (path.clear(); roots[at] < 0 && before[at] >= 0; at = static_cast<std::size_t>(before[at]))
      path.push_back(at);
    const int32_t root = roots[at] < 0 ? static_cast<int32_t>(at) : roots[at];
    roots[at] = root;
    for (const std::size_t each : path) roots[each] = root;
  }
}

}  // namespace nearfar
