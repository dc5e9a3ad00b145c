// Python binding of the DAG of shortest paths from one source: order, successors, path counts.
#include "measures/paths/path_dag.hpp"

#include "cpu/bindings/bindings.hpp"

namespace nearfar::measures {

#define NEARFAR_PATH_DAG(W) template class PathDag<Csr<W>>;
NEARFAR_FOR_EACH_WEIGHT(NEARFAR_PATH_DAG)
#undef NEARFAR_PATH_DAG

namespace {

// Requires distances of a graph without parallel edges and self-loops. "mantissas" and "exponents"
// hold the path counts in the order of "order". If there is a "cycle", all other arrays are empty.
Fields path_dag(GraphView& view, int64_t source, const Array& distances, double tolerance) {
  std::vector<int64_t> order, first, heads, edges, exponents, cycle;
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
    PathDag<C> dag(csr, true);
    dag.build(static_cast<Index>(source), row, unreached<Weight>(), nullptr, tolerance, interrupt);
    cycle = dag.cycle();
    if (!cycle.empty()) return;
    for (std::size_t i = 0; i < dag.reached(); ++i) {
      order.push_back(dag.vertex(i));
      first.push_back(static_cast<int64_t>(dag.begin(i)));
      for (std::size_t j = dag.begin(i); j < dag.end(i); ++j) {
        heads.push_back(dag.vertex(dag.next(j)));
        edges.push_back(dag.edge(j));
      }
    }
    first.push_back(static_cast<int64_t>(heads.size()));
    for (const Scaled& paths : scaled_paths(dag)) {
      mantissas.push_back(paths.mantissa());
      exponents.push_back(paths.exponent());
    }
  });
  nb::dict found;
  found["order"] = as_numpy(std::move(order));
  found["first"] = as_numpy(std::move(first));
  found["heads"] = as_numpy(std::move(heads));
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
        arg("tolerance") = 0.0);
}
}  // namespace nearfar
