// Python binding of the DAG of shortest paths from one source: order, successors, path counts.
#include "measures/paths/path_dag.hpp"

#include <numeric>

#include "cpu/bindings/bindings.hpp"

namespace nearfar::measures {

#define NEARFAR_PATH_DAG(W) template class PathDag<Csr<W>>;
NEARFAR_FOR_EACH_WEIGHT(NEARFAR_PATH_DAG)
#undef NEARFAR_PATH_DAG

namespace {

// Requires distances of a graph without parallel edges and self-loops. "mantissas" and "exponents"
// are the path counts by vertex; with `rows`, "indptr", "predecessors" and "edges" are those of
// each vertex, ascending. If there is a "cycle", all other arrays are empty.
Fields path_dag(GraphView& view, int64_t source, const Array& distances, double tolerance,
                bool rows) {
  std::vector<int64_t> order, indptr, predecessors, edges, exponents, cycle;
  std::vector<double> mantissas;
  view.visit_packed([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    const Weight* const row = checked<Weight>(distances, n, "distances");
    if (source < 0 || static_cast<std::size_t>(source) >= n || row[source] != 0)
      throw nb::index_error("source is not a vertex at distance 0");
    nb::gil_scoped_release release;
    Interrupt interrupt;
    PathDag<C> dag(csr, rows);
    dag.build(static_cast<Index>(source), row, unreached<Weight>(), nullptr, tolerance, interrupt);
    cycle = dag.cycle();
    if (!cycle.empty()) return;
    const std::size_t reached = dag.reached();
    order.resize(reached);
    mantissas.assign(n, 0);
    exponents.assign(n, 0);
    const std::vector<Scaled> scaled = dag.too_many() ? scaled_paths(dag) : std::vector<Scaled>();
    for (std::size_t i = 0; i < reached; ++i) {
      const auto v = static_cast<std::size_t>(order[i] = dag.vertex(i));
      const Scaled paths = dag.too_many() ? scaled[i] : Scaled(dag.paths()[i]);
      mantissas[v] = paths.mantissa();
      exponents[v] = paths.exponent();
    }
    if (!rows) return;
    // Counts entries by head, then enters tails in ascending order.
    std::vector<Index> place(n, -1);
    for (std::size_t i = 0; i < reached; ++i) place[dag.vertex(i)] = static_cast<Index>(i);
    indptr.assign(n + 1, 0);
    const std::size_t count = dag.begin(reached);
    for (std::size_t j = 0; j < count; ++j) ++indptr[dag.vertex(dag.next(j)) + 1];
    std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
    std::vector<int64_t> end(indptr.begin(), indptr.end() - 1);
    predecessors.resize(count);
    edges.resize(count);
    for (std::size_t v = 0; v < n; ++v) {
      if (place[v] < 0) continue;
      const auto at = static_cast<std::size_t>(place[v]);
      for (std::size_t j = dag.begin(at); j < dag.end(at); ++j) {
        const auto to = static_cast<std::size_t>(end[dag.vertex(dag.next(j))]++);
        predecessors[to] = static_cast<int64_t>(v);
        edges[to] = dag.edge(j);
      }
    }
  });
  nb::dict found;
  found["order"] = as_numpy(std::move(order));
  found["indptr"] = as_numpy(std::move(indptr));
  found["predecessors"] = as_numpy(std::move(predecessors));
  found["edges"] = as_numpy(std::move(edges));
  found["mantissas"] = as_numpy(std::move(mantissas));
  found["exponents"] = as_numpy(std::move(exponents));
  found["cycle"] = as_numpy(std::move(cycle));
  return found;
}

}  // namespace
}  // namespace nearfar::measures

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("path_dag", &measures::path_dag, arg("view"), arg("source"), arg("distances"),
        arg("tolerance") = 0.0, arg("rows") = true);
}
}  // namespace nearfar
