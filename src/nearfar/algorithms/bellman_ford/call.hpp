// The call of a form of Bellman-Ford from Python: typed graph and distance array, without the GIL.
#pragma once

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/bellman_ford/exact_cycles.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar::bellman_ford {

inline Fields report(Outcome&& outcome) {
  nb::dict stats;
  stats["iterations"] = outcome.iterations;
  stats["edges_relaxed"] = outcome.edges_relaxed;
  stats["vertices_processed"] = outcome.vertices_processed;
  stats["refused"] = outcome.refused;
  stats["saturated"] = outcome.saturated;
  stats["undecided"] = outcome.undecided;
  stats["proven"] = outcome.proven;
  stats["cycle"] = outcome.cycle;
  if (outcome.full) {
    stats["frontier"] = as_numpy(std::move(outcome.frontier));
    stats["edges"] = as_numpy(std::move(outcome.edges));
  }
  return stats;
}

// Whether sums of a run that ended without a cycle left the range, hid a cycle or run in circles.
template <class Graph>
__attribute__((noinline)) void prove(const Graph& graph, Index source,
                                     const typename Graph::Weight* distance,
                                     const std::vector<Arrival>& arrival, bool wanted,
                                     Outcome& outcome, Interrupt& interrupt) {
  using Weight = typename Graph::Weight;
  if constexpr (std::is_floating_point_v<Weight>) {
    const auto lowest = std::numeric_limits<Weight>::lowest();
    outcome.saturated =
        !std::all_of(distance, distance + graph.n, [=](Weight d) { return d >= lowest; });
    if (wanted && !outcome.saturated)
      Proof(graph, distance, arrival, interrupt).run(outcome);
    else if (!outcome.saturated)
      outcome.undecided = !predecessor_cycle(arrival).empty();
  }
  // A 32-bit run is repeated in 64 bits, where the weights themselves decide.
  if (sizeof(Weight) == 8 && outcome.saturated)
    outcome.cycle = reached_cycle(graph, source, interrupt);
}

// Runs `form` on the typed graph and distances without the GIL, and proves the result if requested.
template <class Form>
Fields run(GraphView& view, int64_t source, const Array& distances, bool proof, bool full,
           Form&& form, int64_t most = Outcome().most) {
  Outcome outcome;
  outcome.full = full;
  outcome.most = most;
  view.visit([&](const auto& csr) {
    using Weight = typename std::decay_t<decltype(csr)>::Weight;
    auto* out = checked<Weight>(distances, static_cast<std::size_t>(csr.n), "distances");
    nb::gil_scoped_release release;
    Interrupt interrupt;
    const auto poll = [&](uint64_t work) { interrupt.poll(work); };
    std::vector<Arrival> arrival(csr.n);
    form(csr, static_cast<Index>(source), out, arrival, outcome, poll);
    if (outcome.cycle.empty() && !outcome.undecided)
      prove(csr, static_cast<Index>(source), out, arrival, proof, outcome, interrupt);
  });
  return report(std::move(outcome));
}

}  // namespace nearfar::bellman_ford
