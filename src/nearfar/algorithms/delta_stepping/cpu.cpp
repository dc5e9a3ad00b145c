// delta_stepping@cpu and delta_stepping_parallel@cpu: choice of delta and of the instruction set.
#include "algorithms/delta_stepping/solve.hpp"
#include "cpu/call.hpp"

namespace nearfar {
namespace {

// A first delta from a sample of the weights; the run adapts it.
template <class C>
double first_delta(const C& csr) {
  const auto m = static_cast<std::size_t>(csr.m);
  if (m == 0) return 1;
  const std::size_t step = std::max<std::size_t>(1, m / 1024);
  double sum = 0;
  std::size_t seen = 0;
  for (std::size_t e = 0; e < m; e += step, ++seen) sum += static_cast<double>(csr.weights[e]);
  const double mean = sum / static_cast<double>(seen);
  const double degree = std::max(1.0, static_cast<double>(m) / static_cast<double>(csr.n));
  const double delta = mean / degree;
  return delta > 0 && std::isfinite(delta) ? delta : 1;
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
                             const DeltaPlan plan{delta ? *delta : first_delta(csr), !delta};
                             return NEARFAR_PICK_ISA(delta_sequential<C>)(csr, from, out, stop,
                                                                          plan, poll);
                           });
      },
      nb::arg("view"), nb::arg("source"), nb::arg("distances"), nb::arg("delta") = nb::none(),
      nb::arg("limit") = nb::none(), nb::arg("targets") = nb::none());
}

}  // namespace nearfar
