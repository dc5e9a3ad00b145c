// Bounds on the length of shortest paths, from trees that are computed once for all weights.
//
// A breadth-first tree from a vertex r of each component, and one to it, consist of edges, so the
// depths of their vertices under any weights are lengths of walks: where r reaches v and u reaches
// r, no shortest path from u to v is longer than the sum of the two depths.
#include <algorithm>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/graph/graph_view.hpp"
#include "cpu/threads/interrupt.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

// Vertices in breadth-first order, the predecessor of each, and the edge between them.
struct Spanning {
  std::vector<int32_t> vertex, before, edge;
};

// step(v, f) calls f(edge, other end) for the edges to follow from v.
template <class Step>
Spanning spanning(std::size_t n, const Ids& roots, Step&& step) {
  Spanning tree;
  Interrupt interrupt;
  std::vector<bool> met(n, false);
  auto put = [&](int32_t v, int32_t before, int32_t edge) {
    if (met[at(v)]) return;
    met[at(v)] = true;
    tree.vertex.push_back(v);
    tree.before.push_back(before);
    tree.edge.push_back(edge);
  };
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (roots.data()[i] < 0 || at(roots.data()[i]) >= n) throw nb::index_error("not a vertex");
    put(static_cast<int32_t>(roots.data()[i]), -1, -1);
  }
  for (std::size_t i = 0; i < tree.vertex.size(); ++i) {
    interrupt.poll(8);
    const int32_t v = tree.vertex[i];
    step(v, [&](int64_t edge, int64_t other) {
      put(static_cast<int32_t>(other), v, static_cast<int32_t>(edge));
    });
  }
  return tree;
}

nb::tuple as_arrays(Spanning&& tree) {
  return arrays(std::move(tree.vertex), std::move(tree.before), std::move(tree.edge));
}

// Computes the trees from the roots and to them.
nb::tuple both_ways(GraphView& view, const Ids& roots) {
  Spanning out, in;
  view.visit([&](const auto& csr) {
    const auto n = static_cast<int64_t>(csr.n);
    nb::gil_scoped_release release;
    out = spanning(at(n), roots, [&](int32_t v, auto&& put) {
      for (int64_t e = csr.indptr[v]; e < static_cast<int64_t>(csr.indptr[v + 1]); ++e)
        put(e, csr.indices[e]);
    });
    // The edges grouped by head.
    std::vector<int64_t> first(at(n) + 2, 0);
    const auto m = static_cast<int64_t>(csr.indptr[csr.n]);
    std::vector<int32_t> tail(at(m)), edge(at(m));
    for (int64_t e = 0; e < m; ++e) ++first[at(csr.indices[e]) + 2];
    for (std::size_t v = 2; v < first.size(); ++v) first[v] += first[v - 1];
    for (int64_t u = 0; u < n; ++u)
      for (int64_t e = csr.indptr[u]; e < static_cast<int64_t>(csr.indptr[u + 1]); ++e) {
        const auto to = at(first[at(csr.indices[e]) + 1]++);
        tail[to] = static_cast<int32_t>(u);
        edge[to] = static_cast<int32_t>(e);
      }
    in = spanning(at(n), roots, [&](int32_t v, auto&& put) {
      for (int64_t i = first[at(v)]; i < first[at(v) + 1]; ++i) put(edge[at(i)], tail[at(i)]);
    });
  });
  return nb::make_tuple(as_arrays(std::move(out)), as_arrays(std::move(in)));
}

// Returns the greatest depth in a tree under non-negative weights.
double greatest_depth(
    const Ints& vertex, const Ints& before, const Ints& edge, int64_t n,
    const nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>& weights) {
  if (before.size() != vertex.size() || edge.size() != vertex.size())
    throw nb::type_error("tree: wrong size");
  double most = 0;
  nb::gil_scoped_release release;
  std::vector<double> depth(at(n), 0.0);
  for (std::size_t i = 0; i < vertex.size(); ++i) {
    const int32_t e = edge.data()[i];
    if (e < 0) continue;
    const double d = depth[at(before.data()[i])] + weights.data()[e];
    depth[at(vertex.data()[i])] = d;
    most = std::max(most, d);
  }
  return most;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("spanning_trees", &prepared::both_ways, arg("view"), arg("roots"));
  m.def("greatest_depth", &prepared::greatest_depth, arg("vertex"), arg("before"), arg("edge"),
        arg("n"), arg("weights"));
}
}  // namespace nearfar
