// Counts and marks that need one pass over all edges: self-loops, parallel edges, in-degrees,
// isolated vertices.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"

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

// Marks the lightest edge from each vertex to each other, the first of equally light ones, and with
// `loops` to itself. O(n + m) time, 12 n bytes.
void mark_lightest(const GraphView& view, bool loops, const Array& marks) {
  view.visit([&](const auto& csr) {
    auto* const kept = checked<uint8_t>(marks, static_cast<std::size_t>(csr.m), "marks");
    const nb::gil_scoped_release free;
    const auto n = static_cast<std::size_t>(csr.n);
    std::vector<Index> seen_from(n, Index{-1});
    std::vector<int64_t> lightest(n);
    for (Index v = 0; v < csr.n; ++v) {
      for (int64_t e = csr.indptr[v]; e < csr.indptr[v + 1]; ++e) {
        const auto t = static_cast<std::size_t>(csr.indices[e]);
        const bool first = seen_from[t] != v;
        const bool keep = first || csr.weights[e] < csr.weights[lightest[t]];
        kept[e] = keep && (loops || csr.indices[e] != v);
        if (!keep) continue;
        if (!first) kept[lightest[t]] = 0;
        seen_from[t] = v;
        lightest[t] = e;
      }
    }
  });
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("edge_counts", &edge_counts, nb::arg("view"));
  m.def("mark_lightest", &mark_lightest, nb::arg("view"), nb::arg("loops"), nb::arg("marks"));
}

}  // namespace nearfar
