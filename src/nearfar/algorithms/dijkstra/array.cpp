// dijkstra_array@cpu: Dijkstra's method with a plain array as queue, O(n^2 + m).
//
// Martin, Torres and Gavilanes 2009, Fig. 1: each iteration scans all unresolved vertices for the
// least estimate, makes it the frontier vertex and relaxes its successors. Two departures:
// successors come from adjacency lists (the paper says the bound is the same), and the estimates of
// unresolved vertices are in a separate array in which resolved ones are infinite, so that the scan
// is one pass without branches, which the compiler vectorises. The scan compares bit patterns,
// whose order is that of non-negative numbers.
#include <algorithm>
#include <memory>

#include "cpu/bindings/call.hpp"

namespace nearfar {
namespace {

// Returns the position of the least of open[0..n), n > 0: block by block, so that only one block is
// read twice.
template <class Bits>
std::size_t least(const Bits* open, std::size_t n) {
  constexpr std::size_t kBlock = 1024;
  Bits best = open[0];
  std::size_t where = 0;
  for (std::size_t from = 0; from < n; from += kBlock) {
    const std::size_t to = std::min(n, from + kBlock);
    Bits low = open[from];
    for (std::size_t i = from; i < to; ++i) low = open[i] < low ? open[i] : low;
    if (low < best) {
      best = low;
      where = from;
    }
  }
  while (open[where] != best) ++where;
  return where;
}

template <class C>
SearchStats dijkstra_array(const C& csr, Index source, typename C::Weight* distances,
                           StopRule<typename C::Weight> stop, Interrupt& interrupt) {
  using Weight = typename C::Weight;
  // Signed, because more processors have a vector minimum for signed integers; the order of
  // non-negative values is the same.
  using Bits = std::make_signed_t<BitsOf<Weight>>;
  constexpr Weight far = unreached<Weight>();
  const Bits resolved = std::bit_cast<Bits>(far);
  const auto n = static_cast<std::size_t>(csr.n);
  SearchStats stats;
  std::fill_n(distances, n, far);
  std::unique_ptr<Bits[]> open(new Bits[n]);
  std::fill_n(open.get(), n, resolved);
  distances[source] = 0;
  open[static_cast<std::size_t>(source)] = 0;
  for (;;) {
    const std::size_t f = least(open.get(), n);
    if (open[f] == resolved) break;
    const Weight d = distances[f];
    if (stop.reached_all(distances, d)) break;
    open[f] = resolved;
    const auto begin = static_cast<std::size_t>(csr.indptr[f]);
    const auto end = static_cast<std::size_t>(csr.indptr[f + 1]);
    ++stats.iterations;
    ++stats.vertices_processed;
    stats.edges_relaxed += end - begin;
    interrupt.poll(n / 8 + end - begin + 8);
    for (std::size_t e = begin; e < end; ++e) {
      const auto t = static_cast<std::size_t>(csr.indices[e]);
      const auto sum = candidate(d, csr.weights[e]);
      if (!improves(sum, distances[t])) continue;
      const auto shorter = static_cast<Weight>(sum);
      if (shorter > stop.limit) continue;
      distances[t] = shorter;
      open[t] = std::bit_cast<Bits>(shorter);
    }
  }
  return stats;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def(
      "dijkstra_array",
      [](GraphView& view, int64_t source, Array distances, std::optional<double> limit,
         const Targets& targets) {
        return call_search(view, false, source, distances, limit, targets, 1,
                           [](auto&&... given) { return dijkstra_array(given...); });
      },
      nb::arg("view"), nb::arg("source"), nb::arg("distances"), nb::arg("limit") = nb::none(),
      nb::arg("targets") = nb::none());
}

}  // namespace nearfar
