// Bindings of the family's sequential forms; the loop and the policies are in sequential.hpp.
#include <nanobind/stl/optional.h>

#include <cmath>

#include "cpu/bindings/bindings.hpp"
#include "cpu/search/search.hpp"
#include "papers/davidson_2014/near_far/sequential.hpp"

namespace nearfar {
namespace {

Fields as_dict(SweepCounts&& counts, bool full) {
  nb::dict out;
  out["iterations"] = counts.iterations;
  out["vertices_processed"] = counts.vertices_processed;
  out["edges_relaxed"] = counts.edges_relaxed;
  out["splits"] = counts.splits;
  if (full) {
    SweepRecords& r = counts.records;
    out["frontier"] = as_numpy(std::move(r.frontier));
    out["near"] = as_numpy(std::move(r.near));
    out["far"] = as_numpy(std::move(r.far));
    out["edges"] = as_numpy(std::move(r.edges));
    out["labelled"] = as_numpy(std::move(r.labelled));
    out["final"] = as_numpy(std::move(r.final));
    out["seconds"] = as_numpy(std::move(r.seconds));
  }
  return out;
}

// Converts delta to the weights' type; one that does not fit means "no second bucket".
template <class W>
W delta_as(double delta) {
  if constexpr (std::is_integral_v<W>) {
    if (delta >= static_cast<double>(unreached<W>())) return unreached<W>();
    return std::max<W>(1, static_cast<W>(delta));
  } else {
    const W value = static_cast<W>(delta);
    return value > 0 ? value : std::numeric_limits<W>::min();
  }
}

// policy: 0 Workfront Sweep, 1 Near-Far, 2 or more that many buckets and a far pile.
Fields sweep(const GraphView& view, int64_t source, Array distances, double delta, int policy,
             std::optional<double> limit, bool full) {
  SweepCounts counts = view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using W = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    W* const out = checked<W>(distances, n, "distances");
    if (source < 0 || static_cast<std::size_t>(source) >= n)
      throw nb::index_error("source is not a vertex");
    const W top = limit_as<W>(limit), width = delta_as<W>(delta);
    const auto from = static_cast<Index>(source);
    nb::gil_scoped_release release;
    Interrupt interrupt;
    auto run = [&](auto organised) {
      return sweep_sequentially(csr, from, out, top, full, std::move(organised), interrupt);
    };
    if (policy == 0) return run(SweepPolicy<W>(n));
    if (policy == 1) return run(NearFarPolicy<W>(n, width));
    return run(BucketPolicy<W>(n, width, policy));
  });
  return as_dict(std::move(counts), full);
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("near_far_sweep", &sweep, nb::arg("view"), nb::arg("source"), nb::arg("distances"),
        nb::arg("delta"), nb::arg("policy"), nb::arg("limit").none(), nb::arg("full"));
}

}  // namespace nearfar
