// Bindings of the CPU forms of Bellman-Ford: they take a GraphView and write distances into an
// array.

#include <nanobind/stl/vector.h>

#include <memory>
#include <string>

#include "algorithms/bellman_ford/goldberg_radzik.hpp"
#include "algorithms/bellman_ford/subtree.hpp"
#include "algorithms/bellman_ford/sweeps.hpp"
#include "cpu/bindings.hpp"
#include "cpu/interrupt.hpp"

namespace nearfar {
namespace {

using namespace bellman_ford;

Fields report(Outcome&& outcome) {
  nb::dict stats;
  stats["iterations"] = outcome.iterations;
  stats["edges_relaxed"] = outcome.edges_relaxed;
  stats["vertices_processed"] = outcome.vertices_processed;
  stats["refused"] = outcome.refused;
  stats["saturated"] = outcome.saturated;
  stats["undecided"] = outcome.undecided;
  stats["cycle"] = outcome.cycle;
  if (outcome.full) {
    stats["frontier"] = as_numpy(std::move(outcome.frontier));
    stats["edges"] = as_numpy(std::move(outcome.edges));
  }
  return stats;
}

// Runs `form` on the typed graph and distance array with the GIL released.
template <class Form>
Fields run(GraphView& view, int64_t source, const Array& distances, bool full, Form&& form) {
  Outcome outcome;
  outcome.full = full;
  view.visit([&](const auto& csr) {
    using Weight = typename std::decay_t<decltype(csr)>::Weight;
    auto* out = checked<Weight>(distances, static_cast<std::size_t>(csr.n), "distances");
    using Index = typename std::decay_t<decltype(csr)>::Index;
    nb::gil_scoped_release release;
    Interrupt interrupt;
    form(csr, static_cast<Index>(source), out, outcome,
         [&](uint64_t work) { interrupt.poll(work); });
  });
  return report(std::move(outcome));
}

// Owner of the classified edges of one graph, cached by Python next to the graph.
class AnyEdgeClasses {
 public:
  explicit AnyEdgeClasses(GraphView& view) : view_(&view) {
    view.visit([&](const auto& csr) {
      using C = std::decay_t<decltype(csr)>;
      nb::gil_scoped_release release;
      Interrupt interrupt;
      classes_ =
          std::make_shared<EdgeClasses<C>>(csr, [&](uint64_t work) { interrupt.poll(work); });
    });
  }
  template <class C>
  const EdgeClasses<C>& of(const GraphView& view, const C&) const {
    if (&view != view_) throw nb::value_error("edge classes of another graph");
    return *static_cast<const EdgeClasses<C>*>(classes_.get());
  }

 private:
  const GraphView* view_;
  std::shared_ptr<void> classes_;
};

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def(
      "bellman_ford_textbook",
      [](GraphView& view, int64_t source, const Array& distances, bool full) {
        return run(view, source, distances, full,
                   [](const auto& csr, auto start, auto* out, Outcome& outcome, auto&& poll) {
                     textbook(csr, start, out, outcome, poll);
                   });
      },
      arg("view"), arg("source"), arg("distances"), arg("full") = false);
  m.def(
      "bellman_ford_queue",
      [](GraphView& view, int64_t source, const Array& distances, bool full) {
        return run(view, source, distances, full,
                   [](const auto& csr, auto start, auto* out, Outcome& outcome, auto&& poll) {
                     queue(csr, start, out, outcome, poll);
                   });
      },
      arg("view"), arg("source"), arg("distances"), arg("full") = false);
  m.def(
      "bellman_ford_subtree",
      [](GraphView& view, int64_t source, const Array& distances, bool full) {
        return run(view, source, distances, full,
                   [](const auto& csr, auto start, auto* out, Outcome& outcome, auto&& poll) {
                     subtree(csr, start, out, outcome, poll);
                   });
      },
      arg("view"), arg("source"), arg("distances"), arg("full") = false);
  m.def(
      "bellman_ford_goldberg_radzik",
      [](GraphView& view, int64_t source, const Array& distances, bool full) {
        return run(view, source, distances, full,
                   [](const auto& csr, auto start, auto* out, Outcome& outcome, auto&& poll) {
                     goldberg_radzik(csr, start, out, outcome, poll);
                   });
      },
      arg("view"), arg("source"), arg("distances"), arg("full") = false);
  nb::class_<AnyEdgeClasses>(m, "EdgeClasses").def(nb::init<GraphView&>(), arg("view"));
  m.def(
      "bellman_ford_edge_classes",
      [](GraphView& view, const AnyEdgeClasses& classes, int64_t source, const Array& distances,
         bool full) {
        return run(view, source, distances, full,
                   [&](const auto& csr, auto start, auto* out, Outcome& outcome, auto&& poll) {
                     edge_classes(csr, classes.of(view, csr), start, out, outcome, poll);
                   });
      },
      arg("view"), arg("classes"), arg("source"), arg("distances"), arg("full") = false);
}

}  // namespace nearfar
