// Paths: from the source of a tree of predecessors to some vertices, and the edges of a path.
#include <algorithm>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
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
  m.def("path_edges", &path_edges, nb::arg("view"), nb::arg("path"));
}

}  // namespace nearfar
