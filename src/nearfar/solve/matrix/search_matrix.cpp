// One delta-stepping search on the arrays of a SciPy matrix, without a Graph (fresh.py).
//
// Validating a matrix as a Graph and packing its edges costs as much as the search, so a matrix
// that is searched once is only checked in one pass at the speed of memory (check_matrix.simd.cpp).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "algorithms/delta_stepping/plan.hpp"
#include "cpu/bindings/call.hpp"
#include "cpu/memory/buffer.hpp"
#include "cpu/memory/huge_block.hpp"
#include "solve/matrix/check_matrix.hpp"

namespace nearfar {
namespace {

using Column = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Searches with weights of one or two bytes, if all are integers and fit.
template <class Small>
std::optional<SearchStats> solve_narrow(const BareCsr& bare, int32_t source, double* distances,
                                        double limit, EdgeFacts& facts, int threads,
                                        Interrupt& interrupt) {
  using C = NarrowCsr<Small>;
  constexpr int32_t kFar = unreached<int32_t>();
  const auto n = static_cast<std::size_t>(bare.n), m = static_cast<std::size_t>(bare.m);
  // No sum may saturate.
  if (static_cast<double>(std::numeric_limits<Small>::max()) * static_cast<double>(n) >= kFar)
    return std::nullopt;
  const HugeBlock copy((m + C::kSpare) * sizeof(Small));
  auto* small = reinterpret_cast<Small*>(copy.data());
  if (!NEARFAR_PICK_ISA(check_and_narrow<Small>(bare, small, facts))) return std::nullopt;
  std::fill_n(small + m, C::kSpare, Small{0});
  if (facts.top >= static_cast<uint32_t>(bare.n)) return SearchStats{};
  C csr;
  csr.n = bare.n, csr.m = bare.m, csr.indptr = bare.indptr, csr.indices = bare.indices;
  csr.small = small;
  StopRule<int32_t> stop;
  stop.limit = limit_as<int32_t>(limit);
  Buffer<int32_t> whole;
  whole.reserve(n);
  const auto stats = delta_stepping::by_workers(csr, source, whole.data, stop,
                                                plan_for(csr, std::nullopt), threads, interrupt);
  for (std::size_t v = 0; v < n; ++v)
    distances[v] = whole.data[v] == kFar ? unreached<double>() : whole.data[v];
  return stats;
}

// Returns the counters, with the greatest weight. Returns None if an edge is negative, infinite or
// leads nowhere, or a row is malformed; the caller then checks in detail.
std::optional<Fields> search_matrix(Column indptr, Column indices, Values weights, int64_t source,
                                    Array distances, std::optional<double> limit, int threads) {
  if (indptr.size() < 1 || indices.size() != weights.size())
    throw nb::value_error("indptr, indices and weights do not fit together");
  if (threads < 1) throw nb::value_error("threads must be at least 1");
  const std::size_t n = indptr.size() - 1, m = indices.size();
  constexpr std::size_t kMost = std::numeric_limits<int32_t>::max();
  if (n >= kMost || m >= kMost) return std::nullopt;
  double* out = checked<double>(distances, n, "distances");
  if (source < 0 || static_cast<std::size_t>(source) >= n)
    throw nb::index_error("source is not a vertex");
  BareCsr csr;
  csr.n = static_cast<int32_t>(n), csr.m = static_cast<int32_t>(m);
  csr.indptr = indptr.data(), csr.indices = indices.data(), csr.weights = weights.data();
  const auto from = static_cast<int32_t>(source);
  const double bound = limit ? *limit : unreached<double>();
  std::optional<SearchStats> stats;
  EdgeFacts facts;
  {
    nb::gil_scoped_release release;
    bool rising = csr.indptr[0] == 0 && csr.indptr[n] == csr.m;
    for (std::size_t v = 0; v < n; ++v) rising &= csr.indptr[v] <= csr.indptr[v + 1];
    if (!rising) return std::nullopt;
    Interrupt interrupt;
    // A copy pays if rows are long.
    if (m / 16 >= n) {
      stats = solve_narrow<uint8_t>(csr, from, out, bound, facts, threads, interrupt);
      if (!stats) stats = solve_narrow<uint16_t>(csr, from, out, bound, facts, threads, interrupt);
    }
    if (!stats) {
      facts = NEARFAR_PICK_ISA(check_edges(csr));
      if (facts.top < n && facts.least >= 0 && std::isfinite(facts.greatest)) {
        StopRule<double> stop;
        stop.limit = bound;
        stats = delta_stepping::by_workers(csr, from, out, stop, plan_for(csr, std::nullopt),
                                           threads, interrupt);
      }
    }
  }
  if (!stats || (m != 0 && facts.top >= n)) return std::nullopt;
  nb::dict found = as_dict(*stats);
  found["greatest_weight"] = facts.greatest;
  return found;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("search_matrix", &search_matrix, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("source"), nb::arg("distances"), nb::arg("limit") = nb::none(),
        nb::arg("threads") = 1);
}

}  // namespace nearfar
