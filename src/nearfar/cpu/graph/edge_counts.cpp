// Counts that need one pass over all edges: self-loops, parallel edges, in-degrees, isolated
// vertices.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "cpu/bindings/bindings.hpp"

namespace nearfar {
namespace {

// Returns (self-loops, edges beyond the first of each ordered pair, largest in-degree, vertices
// without edges). O(n + m) time, two index arrays of length n.
std::tuple<int64_t, int64_t, int64_t, int64_t> edge_counts(const GraphView& view) {
  int64_t loops = 0, parallel = 0, most = 0, lonely = 0;
  {
    nb::gil_scoped_release free;
    view.visit([&](const auto& csr) {
      const auto n = static_cast<std::size_t>(csr.n);
      std::vector<Index> seen_from(n, Index{-1}), entering(n, Index{0});
      for (Index v = 0; v < csr.n; ++v) {
        for (int64_t e = csr.indptr[v]; e < csr.indptr[v + 1]; ++e) {
          const auto t = static_cast<std::size_t>(csr.indices[e]);
          loops += csr.indices[e] == v;
          parallel += seen_from[t] == v;
          seen_from[t] = v;
          ++entering[t];
        }
      }
      for (Index v = 0; v < csr.n; ++v) {
        const Index in = entering[static_cast<std::size_t>(v)];
        most = std::max<int64_t>(most, in);
        lonely += in == 0 && csr.indptr[v] == csr.indptr[v + 1];
      }
    });
  }
  return {loops, parallel, most, lonely};
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("edge_counts", &edge_counts, nb::arg("view"));
}

}  // namespace nearfar
