// Bindings of the CPU forms of Bellman-Ford: they take a GraphView and write distances into an
// array.

#include "algorithms/bellman_ford/call.hpp"
#include "algorithms/bellman_ford/goldberg_radzik.hpp"
#include "algorithms/bellman_ford/subtree.hpp"

namespace nearfar {

using namespace bellman_ford;

NEARFAR_BIND(m) {
  using nb::arg;
  m.def(
      "bellman_ford_subtree",
      [](GraphView& view, int64_t source, const Array& distances, bool proof, bool full) {
        return run(view, source, distances, proof, full,
                   [](auto&&... given) { subtree(given...); });
      },
      arg("view"), arg("source"), arg("distances"), arg("proof"), arg("full") = false);
  m.def(
      "bellman_ford_goldberg_radzik",
      [](GraphView& view, int64_t source, const Array& distances, bool proof, bool full,
         int64_t most_edges) {
        return run(view, source, distances, proof, full,
                   [=](auto&&... given) { goldberg_radzik(given..., most_edges); });
      },
      arg("view"), arg("source"), arg("distances"), arg("proof"), arg("full") = false,
      arg("most_edges") = std::numeric_limits<int64_t>::max());
  m.def(
      "reached_negative_cycle",
      [](GraphView& view, int64_t source) {
        std::vector<int64_t> cycle;
        view.visit([&](const auto& csr) {
          nb::gil_scoped_release release;
          Interrupt interrupt;
          cycle = reached_cycle(csr, static_cast<Index>(source), interrupt);
        });
        return cycle;
      },
      arg("view"), arg("source"));
}

}  // namespace nearfar
