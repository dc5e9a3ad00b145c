// Bindings of the paper's sequential forms of Bellman-Ford.

#include <memory>

#include "algorithms/bellman_ford/call.hpp"
#include "papers/johnson_apsp/bellman_ford/sweeps.hpp"

namespace nearfar {
namespace {

using namespace bellman_ford;

// Owns the classified edges of one graph; cached by Python with the graph.
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
      [](GraphView& view, int64_t source, const Array& distances, bool proof, bool full) {
        return run(view, source, distances, proof, full,
                   [](const auto& csr, auto start, auto* out, auto& arrival, Outcome& outcome,
                      auto&& poll) { textbook(csr, start, out, arrival, outcome, poll); });
      },
      arg("view"), arg("source"), arg("distances"), arg("proof"), arg("full") = false);
  m.def(
      "bellman_ford_queue",
      [](GraphView& view, int64_t source, const Array& distances, bool proof, bool full) {
        return run(view, source, distances, proof, full,
                   [](const auto& csr, auto start, auto* out, auto& arrival, Outcome& outcome,
                      auto&& poll) { queue(csr, start, out, arrival, outcome, poll); });
      },
      arg("view"), arg("source"), arg("distances"), arg("proof"), arg("full") = false);
  nb::class_<AnyEdgeClasses>(m, "EdgeClasses").def(nb::init<GraphView&>(), arg("view"));
  m.def(
      "bellman_ford_edge_classes",
      [](GraphView& view, const AnyEdgeClasses& classes, int64_t source, const Array& distances,
         bool proof, bool full) {
        return run(view, source, distances, proof, full,
                   [&](const auto& csr, auto start, auto* out, auto& arrival, Outcome& outcome,
                       auto&& poll) {
                     edge_classes(csr, classes.of(view, csr), start, out, arrival, outcome, poll);
                   });
      },
      arg("view"), arg("classes"), arg("source"), arg("distances"), arg("proof"),
      arg("full") = false);
}

}  // namespace nearfar
