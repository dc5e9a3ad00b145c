// Bindings of delta_stepping@cpu and delta_stepping_parallel@cpu: choice of delta.
#include <nanobind/stl/unique_ptr.h>

#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "algorithms/delta_stepping/narrow_view.hpp"
#include "algorithms/delta_stepping/plan.hpp"
#include "cpu/bindings/call.hpp"
#include "cpu/search/iteration_log.hpp"

namespace nearfar {
namespace {

template <class View>
Fields sequential(View& view, int64_t source, const Array& distances, std::optional<double> delta,
                  std::optional<double> limit, const Targets& targets, bool full,
                  std::optional<double> start) {
  IterationLog log;
  nb::dict stats = call_search(
      view, true, source, distances, limit, targets, 1,
      [&](const auto& csr, auto from, auto* out, auto stop, Interrupt& poll) {
        return delta_stepping::sequential(csr, from, out, stop, plan_for(csr, delta, start), poll,
                                          full ? &log : nullptr);
      });
  if (full) std::move(log).write_to(stats);
  return stats;
}

template <class View>
Fields parallel(View& view, int64_t source, const Array& distances, int threads,
                std::optional<double> delta, std::optional<double> limit, const Targets& targets,
                std::optional<double> start, bool claim) {
  if (threads < 1) throw nb::value_error("threads must be at least 1");
  return call_search(view, true, source, distances, limit, targets, threads,
                     [&](const auto& csr, auto from, auto* out, auto stop, Interrupt& poll) {
                       DeltaPlan plan = plan_for(csr, delta, start);
                       plan.claim = claim;
                       return delta_stepping::by_workers(csr, from, out, stop, plan, threads, poll);
                     });
}

}  // namespace

NEARFAR_BIND(m) {
  nb::class_<NarrowView>(m, "NarrowView")
      // It holds bare pointers to the first two arrays; the weights are copied.
      .def_static("make", &NarrowView::make, nb::arg("indptr"), nb::arg("indices"),
                  nb::arg("weights"), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>())
      .def_prop_ro("bytes", &NarrowView::bytes);
  const auto define = [&m](auto function) {
    m.def("delta_stepping", function, nb::arg("view"), nb::arg("source"), nb::arg("distances"),
          nb::arg("delta") = nb::none(), nb::arg("limit") = nb::none(),
          nb::arg("targets") = nb::none(), nb::arg("full") = false, nb::arg("start") = nb::none());
  };
  define(&sequential<GraphView>);
  define(&sequential<NarrowView>);
  const auto define_parallel = [&m](auto function) {
    m.def("delta_stepping_parallel", function, nb::arg("view"), nb::arg("source"),
          nb::arg("distances"), nb::arg("threads"), nb::arg("delta") = nb::none(),
          nb::arg("limit") = nb::none(), nb::arg("targets") = nb::none(),
          nb::arg("start") = nb::none(), nb::arg("claim") = false);
  };
  define_parallel(&parallel<GraphView>);
  define_parallel(&parallel<NarrowView>);
}

}  // namespace nearfar
