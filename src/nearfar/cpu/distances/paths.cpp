// Paths: from the source of a tree of predecessors to some vertices, the vertices below the source,
// and the edges of a path.
#include <algorithm>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/graph/graph_view.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {
namespace {

// Returns the offsets and the vertices of the paths to all ends; no vertices for an end of -1.
nb::tuple flat_paths(ConstArray predecessors, const Ids& ends) {
  return with_index_type(predecessors.dtype(), [&](auto tag) {
    using I = decltype(tag);
    const I* before = static_cast<const I*>(predecessors.data());
    std::vector<int64_t> offsets{0};
    std::vector<I> vertices;
    {
      nb::gil_scoped_release release;
      Interrupt interrupt;
      offsets.reserve(ends.size() + 1);
      for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::size_t first = vertices.size();
        for (I v = static_cast<I>(ends(i)); v >= 0; v = before[v]) vertices.push_back(v);
        std::reverse(vertices.begin() + static_cast<std::ptrdiff_t>(first), vertices.end());
        interrupt.poll(vertices.size() - first + 1);
        offsets.push_back(static_cast<int64_t>(vertices.size()));
      }
    }
    return arrays(std::move(offsets), std::move(vertices));
  });
}

// Returns the offsets and the vertices of the same paths, and the edges read, without the
// predecessors of all vertices; `into` has the edges into each vertex. Returns none after `most`
// edges, and where a step adds nothing, whose predecessor depends on more of the distances.
nb::object tight_paths(const GraphView& into, int64_t source, ConstArray distances, const Ids& ends,
                       int64_t most) {
  std::vector<int64_t> offsets{0};
  std::vector<Index> vertices;
  int64_t read = 0;
  const auto walk = [&](const auto& csr, const auto* d, Index v) {
    const std::size_t first = vertices.size();
    for (;;) {
      vertices.push_back(v);
      if (v == source) break;
      Index before = -1;
      const int64_t begin = csr.indptr[v], end = csr.indptr[v + 1];
      if ((read += end - begin) > most) return false;
      for (int64_t e = begin; e < end; ++e) {
        const Index u = csr.indices[e];
        if (d[u] < d[v] && (before < 0 || u < before) &&
            saturating_add(d[u], csr.weights[e]) == d[v])
          before = u;
      }
      if (before < 0) return false;
      v = before;
    }
    std::reverse(vertices.begin() + static_cast<std::ptrdiff_t>(first), vertices.end());
    return true;
  };
  bool complete = true;
  {
    nb::gil_scoped_release release;
    into.visit([&](const auto& csr) {
      using W = typename std::decay_t<decltype(csr)>::Weight;
      const auto* const d = static_cast<const W*>(distances.data());
      for (std::size_t i = 0; complete && i < ends.size(); ++i) {
        if (ends(i) >= 0) complete = walk(csr, d, static_cast<Index>(ends(i)));
        offsets.push_back(static_cast<int64_t>(vertices.size()));
      }
    });
  }
  if (!complete) return nb::none();
  return nb::make_tuple(as_numpy(std::move(offsets)), as_numpy(std::move(vertices)), read);
}

// Writes for each vertex before `root` the one below `root` on its path, -1 for none. O(n).
void tops(ConstArray predecessors, int64_t root, const Array& found) {
  auto* top_of = checked<int64_t>(found, static_cast<std::size_t>(root), "found");
  with_index_type(predecessors.dtype(), [&](auto tag) {
    using I = decltype(tag);
    if (predecessors.size() <= static_cast<std::size_t>(root))
      throw nb::value_error("expected the predecessor of the root, too");
    const I* const before = static_cast<const I*>(predecessors.data());
    constexpr int64_t unknown = -2;
    nb::gil_scoped_release release;
    std::fill(top_of, top_of + root, unknown);
    for (int64_t start = 0; start < root; ++start) {
      int64_t v = start;
      for (; top_of[v] == unknown && before[v] >= 0 && before[v] != root; v = before[v])
        top_of[v] = -1;  // also ends the walk around a cycle
      if (top_of[v] == unknown) top_of[v] = before[v] == root ? v : -1;
      const int64_t end = v, top = top_of[v];
      for (v = start; v != end; v = before[v]) top_of[v] = top;
    }
  });
}

// Returns the first of the lightest edges between each two vertices of a path.
Owned<int64_t> path_edges(const GraphView& view, const Ids& path) {
  std::vector<int64_t> found(path.size() > 0 ? path.size() - 1 : 0, -1);
  {
    nb::gil_scoped_release release;
    view.visit([&](const auto& csr) {
      for (std::size_t i = 0; i < found.size(); ++i)
        for (int64_t e = csr.indptr[path(i)]; e < csr.indptr[path(i) + 1]; ++e)
          if (csr.indices[e] == path(i + 1) &&
              (found[i] < 0 || csr.weights[e] < csr.weights[found[i]]))
            found[i] = e;
    });
  }
  return as_numpy(std::move(found));
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("flat_paths", &flat_paths, nb::arg("predecessors"), nb::arg("ends"));
  m.def("tight_paths", &tight_paths, nb::arg("into"), nb::arg("source"), nb::arg("distances"),
        nb::arg("ends"), nb::arg("most"));
  m.def("tops", &tops, nb::arg("predecessors"), nb::arg("root"), nb::arg("found"));
  m.def("path_edges", &path_edges, nb::arg("view"), nb::arg("path"));
}

}  // namespace nearfar
