// delta_stepping@cpu and delta_stepping_parallel@cpu: choice of delta and of the instruction set.
#include <algorithm>

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

}  // namespace

NEARFAR_BIND(m) {
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
