// Bindings of the CPU forms of Bellman-Ford: they take a GraphView and write distances into an
// array.

#include "algorithms/bellman_ford/call.hpp"
#include "algorithms/bellman_ford/goldberg_radzik.hpp"
#include "algorithms/bellman_ford/subtree.hpp"
#include "cpu/distances/tight_edges.hpp"

namespace nearfar {

using namespace bellman_ford;

namespace {

// Replaces the distances after refused improvements by the least sums of all walks, where these are
// the sums of paths. Other methods return them then, and they depend on no order.
template <class Graph, class Poll>
void without_refusals(const Graph& graph, Index source, typename Graph::Weight* distance,
                      std::vector<Arrival>& arrival, Poll&& poll) {
  using Weight = typename Graph::Weight;
  std::vector<Weight> least(graph.n);
  std::vector<Arrival> tree(graph.n);
  Outcome outcome;
  goldberg_radzik(graph, source, least.data(), tree, outcome, poll);
  if (outcome.undecided || !outcome.cycle.empty() || least[source] != 0) return;
  std::vector<Index> before(graph.n);
  TightEdges(graph, least.data()).predecessors(source, true, before.data());
  for (Index v = 0; v < graph.n; ++v) {
    const Index u = before[v];
    tree[v] = {u, -1};
    if (u < 0) {
      if (v != source && least[v] != unreached<Weight>()) return;
      continue;
    }
    int64_t i = graph.indptr[u];
    while (graph.indices[i] != v || least[u] + graph.weights[i] != least[v]) ++i;
    tree[v].place = static_cast<Index>(i - graph.indptr[u]);
  }
  std::copy(least.begin(), least.end(), distance);
  arrival = std::move(tree);
}

// Runs the subtree method, in floats independently of its order where that is possible.
template <class Graph, class Poll>
void refusing(const Graph& graph, Index source, typename Graph::Weight* distance,
              std::vector<Arrival>& arrival, Outcome& outcome, Poll&& poll) {
  subtree(graph, source, distance, arrival, outcome, poll);
  if constexpr (std::is_floating_point_v<typename Graph::Weight>)
    if (outcome.refused > 0 && !outcome.undecided && outcome.cycle.empty() && source >= 0)
      without_refusals(graph, source, distance, arrival, poll);
}

// Returns whether the graph has no cycle, by removing vertices that no other enters. O(n + m).
bool acyclic(GraphView& view) {
  return view.visit([](const auto& csr) {
    nb::gil_scoped_release release;
    std::vector<Index> entering(csr.n, 0), bare;
    for (int64_t i = 0; i < csr.m; ++i) ++entering[csr.indices[i]];
    for (Index v = 0; v < csr.n; ++v)
      if (entering[v] == 0) bare.push_back(v);
    for (std::size_t at = 0; at < bare.size(); ++at) {
      const Index v = bare[at];
      for (int64_t i = csr.indptr[v]; i < csr.indptr[v + 1]; ++i)
        if (--entering[csr.indices[i]] == 0) bare.push_back(csr.indices[i]);
    }
    return bare.size() == static_cast<std::size_t>(csr.n);
  });
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  const auto def = [&m](const char* name, auto form) {
    m.def(
        name,
        [form](GraphView& view, int64_t source, const Array& distances, bool proof, bool full,
               int64_t most) { return run(view, source, distances, proof, full, form, most); },
        arg("view"), arg("source"), arg("distances"), arg("proof"), arg("full") = false,
        arg("most") = Outcome().most);
  };
  def("bellman_ford_subtree", [](auto&&... given) { refusing(given...); });
  def("bellman_ford_goldberg_radzik", [](auto&&... given) { goldberg_radzik(given...); });
  m.def("acyclic", &acyclic, arg("view"));
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
