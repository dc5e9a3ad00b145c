// The pattern of a solver's binding: check the arrays, release the GIL, run, return the counters.
//
// A family writes a function of (typed Csr, source, distances, StopRule, Interrupt) and wraps it:
//   m.def("name", [](GraphView& view, int64_t source, Array distances, ...) {
//     return call_search(view, packed, source, distances, limit, targets, threads, solver); });
// Exceptions propagate with the GIL held again: std::bad_alloc becomes MemoryError,
// nb::python_error (Ctrl-C) is passed on.
#pragma once

#include <nanobind/stl/optional.h>

#include <algorithm>

#include "cpu/bindings/bindings.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {

using Targets = std::optional<Ids>;

inline Fields as_dict(const SearchStats& stats) {
  nb::dict out;
  out["iterations"] = stats.iterations;
  out["vertices_processed"] = stats.vertices_processed;
  out["edges_relaxed"] = stats.edges_relaxed;
  out["pushes"] = stats.pushes;
  out["stale"] = stats.stale;
  if (stats.delta > 0) {
    out["delta"] = stats.delta;
    out["delta_changes"] = stats.delta_changes;
    out["last_threshold"] = stats.last_threshold;
  }
  if (stats.workers > 0) {
    out["workers"] = stats.workers;
    out["steals"] = stats.steals;
  }
  return out;
}

inline void check_ends(int64_t source, const Targets& targets, std::size_t n) {
  if (static_cast<uint64_t>(source) >= n) throw nb::index_error("source is not a vertex");
  if (targets) check_vertices(*targets, n, "a target is not a vertex");
}

template <class View, class Solver>
Fields call_search(View& view, bool packed, int64_t source, const Array& distances,
                   std::optional<double> limit, const Targets& targets, int threads,
                   Solver&& solver) {
  auto run = [&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using W = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    W* out = checked<W>(distances, n, "distances");
    check_ends(source, targets, n);
    StopRule<W> stop;
    stop.limit = limit_as<W>(limit);
    if (targets) {
      stop.targets = targets->data();
      stop.n_targets = targets->size();
    }
    nb::gil_scoped_release release;
    Interrupt interrupt;
    return solver(csr, static_cast<Index>(source), out, stop, interrupt);
  };
  if (!packed) return as_dict(view.visit(run));
  {
    nb::gil_scoped_release release;
    view.pack(threads);
  }
  return as_dict(view.visit_packed(run));
}

}  // namespace nearfar
