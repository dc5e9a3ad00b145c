// Compound frontiers on one core: Martin et al. (2009), F-CPU and U-CPU on lists and on matrices,
// and the three single steps that their hybrids run on the host (section 4.1).
//
// The loop is in cpu/search/settle_loop.hpp, the relax steps in cpu/search/relax_steps.hpp, the
// policy in policy.hpp. O(n) scans for minimum and update are the published algorithm.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/search/relax_steps.hpp"
#include "papers/martin_2009/frontier/policy.hpp"

namespace nearfar {
namespace {

// view: the graph for successors, its transpose for predecessors.
Fields frontier_lists(const GraphView& view, bool predecessors, int64_t source, Array distances,
                      std::optional<double> limit, const std::optional<Ids>& targets, bool full) {
  return view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using W = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    const auto from = static_cast<std::size_t>(source);
    const EqualMinimum<W> policy;
    if (predecessors)
      return settle_run<W>(n, from, distances, ListPredecessors<C>{&csr}, policy, limit, targets,
                           full);
    return settle_run<W>(n, from, distances, ListSuccessors<C>{&csr}, policy, limit, targets, full);
  });
}

Fields frontier_matrix(ConstArray matrix, bool predecessors, int64_t source, Array distances,
                       std::optional<double> limit, const std::optional<Ids>& targets, bool full) {
  const std::size_t n = distances.size();
  if (matrix.size() != n * n) throw nb::value_error("matrix: must be n x n");
  return with_weight_type(matrix.dtype(), [&](auto weight) {
    using W = decltype(weight);
    const W* const entries = static_cast<const W*>(matrix.data());
    const auto from = static_cast<std::size_t>(source);
    const EqualMinimum<W> policy;
    if (predecessors)
      return settle_run<W>(n, from, distances, MatrixPredecessors<W>{entries}, policy, limit,
                           targets, full);
    return settle_run<W>(n, from, distances, MatrixSuccessors<W>{entries}, policy, limit, targets,
                         full);
  });
}

template <class W>
SettleState<W> host_state(const Array& distances, const Array& frontier, const Array& unsettled) {
  const std::size_t n = distances.size();
  return {n, checked<W>(distances, n, "distances"), checked<uint8_t>(frontier, n, "frontier"),
          checked<uint8_t>(unsettled, n, "unsettled")};
}

// The hybrids' host relax_U; returns (iterations with work, edges read).
std::pair<uint64_t, uint64_t> frontier_relax_predecessors(const GraphView& transposed,
                                                          Array distances, Array frontier,
                                                          Array unsettled) {
  return transposed.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    auto state = host_state<typename C::Weight>(distances, frontier, unsettled);
    nb::gil_scoped_release release;
    Interrupt interrupt;
    const RelaxCount count = ListPredecessors<C>{&csr}(state, interrupt);
    return std::pair{count.working, count.edges};
  });
}

// The hybrids' host minimum: one element of the weights' type, written to out.
void frontier_minimum(Array distances, Array unsettled, Array out) {
  with_weight_type(distances.dtype(), [&](auto weight) {
    using W = decltype(weight);
    const auto state = host_state<W>(distances, unsettled, unsettled);
    W* const least = checked<W>(out, 1, "out");
    nb::gil_scoped_release release;
    EqualMinimum<W> policy;
    settle_minimum(state, policy);
    *least = policy.least;
  });
}

// The hybrids' host update for the minimum found; returns the number of vertices settled.
uint64_t frontier_update(Array distances, Array frontier, Array unsettled, Array least) {
  return with_weight_type(distances.dtype(), [&](auto weight) {
    using W = decltype(weight);
    auto state = host_state<W>(distances, frontier, unsettled);
    const EqualMinimum<W> policy{*checked<W>(least, 1, "least")};
    nb::gil_scoped_release release;
    return settle_update(state, policy);
  });
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("frontier_lists", &frontier_lists, nb::arg("view"), nb::arg("predecessors"),
        nb::arg("source"), nb::arg("distances"), nb::arg("limit").none(), nb::arg("targets").none(),
        nb::arg("full"));
  m.def("frontier_matrix", &frontier_matrix, nb::arg("matrix"), nb::arg("predecessors"),
        nb::arg("source"), nb::arg("distances"), nb::arg("limit").none(), nb::arg("targets").none(),
        nb::arg("full"));
  m.def("frontier_relax_predecessors", &frontier_relax_predecessors, nb::arg("transposed"),
        nb::arg("distances"), nb::arg("frontier"), nb::arg("unsettled"));
  m.def("frontier_minimum", &frontier_minimum, nb::arg("distances"), nb::arg("unsettled"),
        nb::arg("out"));
  m.def("frontier_update", &frontier_update, nb::arg("distances"), nb::arg("frontier"),
        nb::arg("unsettled"), nb::arg("least"));
}

}  // namespace nearfar
