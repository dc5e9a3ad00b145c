// delta_stepping@cpu and delta_stepping_parallel@cpu: choice of delta and of the instruction set.
#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/delta_stepping/solve.hpp"
#include "cpu/call.hpp"
#include "cpu/worker_pool.hpp"

namespace nearfar {
namespace {

// A first delta from a sample of the weights: mean weight / mean degree, which measured within a
// tenth of the best fixed value on grids, roads, meshes, random and Kronecker graphs. The mean is
// held below twice the median, so that a few huge weights do not make one bucket of all the others.
template <class C>
double first_delta(const C& csr) {
  constexpr std::size_t kSample = 256;
  const auto m = static_cast<std::size_t>(csr.m);
  if (m == 0) return 1;
  double sample[kSample];
  const std::size_t step = std::max<std::size_t>(1, m / kSample);
  std::size_t seen = 0;
  double mean = 0;
  for (std::size_t e = 0; e < m && seen < kSample; e += step)
    mean += sample[seen++] = static_cast<double>(csr.weights[e]);
  mean /= static_cast<double>(seen);
  std::nth_element(sample, sample + seen / 2, sample + seen);
  if (sample[seen / 2] > 0) mean = std::min(mean, 2 * sample[seen / 2]);
  const double degree = std::max(1.0, static_cast<double>(m) / static_cast<double>(csr.n));
  const double delta = mean / degree;
  return delta > 0 ? delta : 1;
}

template <class C>
DeltaPlan plan_for(const C& csr, std::optional<double> delta, double least) {
  DeltaPlan plan{delta ? *delta : first_delta(csr), !delta};
  // Neither delta nor its inverse may overflow.
  plan.delta = std::clamp(std::max(plan.delta, least), 1e-300, 1e300);
  return plan;
}

using Column = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// One search on the arrays of a CSR matrix as they are, checked on the way: for a matrix that is
// searched once, a pass to validate it and another to pack it would cost as much as the search. The
// counters, with the greatest weight; None when an edge is negative, leads nowhere or weighs
// infinity, or a row is malformed, so that the caller has to look closer.
std::optional<nb::dict> search_matrix(Column indptr, Column indices, Values weights, int64_t source,
                                      Array distances, std::optional<double> limit) {
  using C = SplitCsr<int32_t, double>;
  if (indptr.size() < 1 || indices.size() != weights.size())
    throw nb::value_error("indptr, indices and weights do not fit together");
  const std::size_t n = indptr.size() - 1, m = indices.size();
  constexpr std::size_t kMost = std::numeric_limits<int32_t>::max();
  if (n >= kMost || m >= kMost) return std::nullopt;
  double* out = checked<double>(distances, n, "distances");
  if (source < 0 || static_cast<std::size_t>(source) >= n)
    throw nb::index_error("source is not a vertex");
  C csr;
  csr.n = static_cast<int32_t>(n), csr.m = static_cast<int32_t>(m);
  csr.indptr = indptr.data(), csr.indices = indices.data(), csr.weights = weights.data();
  StopRule<double> stop;
  stop.limit = limit_as<double>(limit);
  CheckedSearch<double> found;
  {
    nb::gil_scoped_release release;
    bool rising = csr.indptr[0] == 0 && csr.indptr[n] == csr.m;
    for (std::size_t v = 0; v < n; ++v) rising &= csr.indptr[v] <= csr.indptr[v + 1];
    if (!rising) return std::nullopt;
    const DeltaPlan plan = plan_for(csr, std::nullopt, 0);
    if (!std::isfinite(plan.delta)) return std::nullopt;
    Interrupt interrupt;
    found = NEARFAR_PICK_ISA(delta_checked<C>)(csr, static_cast<int32_t>(source), out, stop, plan,
                                               interrupt);
  }
  if (found.refused || std::isinf(found.greatest)) return std::nullopt;
  nb::dict stats = as_dict(found.stats);
  stats["greatest_weight"] = found.greatest;
  return stats;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("search_matrix", &search_matrix, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("source"), nb::arg("distances"), nb::arg("limit") = nb::none());
  m.def(
      "delta_stepping",
      [](GraphView& view, int64_t source, Array distances, std::optional<double> delta,
         std::optional<double> limit, const Targets& targets) {
        return call_search(view, true, source, distances, limit, targets, 1,
                           [&](const auto& csr, auto from, auto* out, auto stop, Interrupt& poll) {
                             using C = std::decay_t<decltype(csr)>;
                             const DeltaPlan plan = plan_for(csr, delta, 0);
                             return NEARFAR_PICK_ISA(delta_sequential<C>)(csr, from, out, stop,
                                                                          plan, poll);
                           });
      },
      nb::arg("view"), nb::arg("source"), nb::arg("distances"), nb::arg("delta") = nb::none(),
      nb::arg("limit") = nb::none(), nb::arg("targets") = nb::none());
  m.def(
      "delta_stepping_parallel",
      [](GraphView& view, int64_t source, Array distances, int threads, double max_weight,
         std::optional<double> delta, std::optional<double> limit, const Targets& targets) {
        if (threads < 1) throw nb::value_error("threads must be at least 1");
        return call_search(view, true, source, distances, limit, targets, threads,
                           [&](const auto& csr, auto from, auto* out, auto stop, Interrupt& poll) {
                             using C = std::decay_t<decltype(csr)>;
                             // Workers keep one common width, so a width that spreads the pending
                             // distances over too many buckets is widened beforehand and not on the
                             // way.
                             const DeltaPlan plan = plan_for(csr, delta, max_weight / 8192);
                             return NEARFAR_PICK_ISA(delta_parallel<C>)(
                                 csr, from, out, stop, plan, WorkerPool::shared(), threads, poll);
                           });
      },
      nb::arg("view"), nb::arg("source"), nb::arg("distances"), nb::arg("threads"),
      nb::arg("max_weight"), nb::arg("delta") = nb::none(), nb::arg("limit") = nb::none(),
      nb::arg("targets") = nb::none());
}

}  // namespace nearfar
