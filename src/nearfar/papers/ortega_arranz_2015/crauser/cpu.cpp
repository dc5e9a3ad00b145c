// Crauser's criteria on one core: Ortega-Arranz et al. (2015), Alg. 1 and 2 and their sequential
// form "CPU Crauser", and the in-criterion and the union of both from Crauser, Mehlhorn, Meyer and
// Sanders (1998), which that paper leaves out.
//
// The loop is in cpu/search/settle_loop.hpp, the relax steps in cpu/search/relax_steps.hpp, the
// policies in policy.hpp.
#include <nanobind/stl/optional.h>

#include "cpu/search/relax_steps.hpp"
#include "papers/ortega_arranz_2015/crauser/policy.hpp"

namespace nearfar {
namespace {

// view: the graph for successors, its transpose for predecessors. The criterion (out, in or both)
// is that of the arrays of lightest edges that are given.
Fields crauser_lists(const GraphView& view, bool predecessors, std::optional<ConstArray> out,
                     std::optional<ConstArray> in, int64_t source, Array distances,
                     std::optional<double> limit, const std::optional<Ids>& targets, bool full) {
  return view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using W = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    const auto from = static_cast<std::size_t>(source);
    auto lightest = [&](const std::optional<ConstArray>& array) -> const W* {
      if (!array) return nullptr;
      if (array->dtype() != nb::dtype<W>() || array->size() != n)
        throw nb::type_error("lightest edges: wrong dtype or size");
      return static_cast<const W*>(array->data());
    };
    const W* const lightest_out = lightest(out);
    const W* const lightest_in = lightest(in);
    auto run = [&](const auto& relax, const auto& policy) {
      return settle_run<W>(n, from, distances, relax, policy, limit, targets, full);
    };
    const ListSuccessors<C> forward{&csr};
    if (predecessors) {
      if (!lightest_out || lightest_in)
        throw nb::value_error("predecessors: use the out-criterion");
      return run(ListPredecessors<C>{&csr}, OutCriterion<W>{lightest_out});
    }
    if (lightest_out && lightest_in)
      return run(forward, InOutCriterion<W>{{lightest_out}, {lightest_in}});
    if (lightest_in) return run(forward, InCriterion<W>{lightest_in});
    if (lightest_out) return run(forward, OutCriterion<W>{lightest_out});
    throw nb::value_error("give the lightest out-edges, the lightest in-edges or both");
  });
}

// Writes the weight of the lightest edge of every row, unreached() for an empty row (paper section
// 3.1).
void lightest_edges(const GraphView& view, Array out) {
  view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using W = typename C::Weight;
    W* const lightest = checked<W>(out, static_cast<std::size_t>(csr.n), "out");
    nb::gil_scoped_release release;
    for (Index v = 0; v < csr.n; ++v) {
      W least = unreached<W>();
      for (int64_t e = csr.indptr[v]; e < csr.indptr[v + 1]; ++e)
        if (csr.weights[e] < least) least = csr.weights[e];
      lightest[v] = least;
    }
  });
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("crauser_lists", &crauser_lists, nb::arg("view"), nb::arg("predecessors"),
        nb::arg("lightest_out").none(), nb::arg("lightest_in").none(), nb::arg("source"),
        nb::arg("distances"), nb::arg("limit").none(), nb::arg("targets").none(), nb::arg("full"));
  m.def("lightest_edges", &lightest_edges, nb::arg("view"), nb::arg("out"));
}

}  // namespace nearfar
