// Dijkstra's method over a heap policy: the loop shared by all heap variants.
//
// A policy is a class template over the type of the weights with insert, decrease, pop and a flag
// `indexed`; see cpu/heaps/. An indexed heap holds a vertex once and never returns a stale entry; a
// lazy one may return a vertex again with an older, larger distance, which the loop drops.
// Distances double as the "reached" flag, so a run needs no array besides the heap's. Dijkstra
// 1959; unlike the papers' Fig. 1, only reached vertices are ever in the queue.
#include <algorithm>

#include "cpu/bindings/call.hpp"
#include "cpu/heaps/binary_heap.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/heaps/fibonacci_heap.hpp"
#include "cpu/heaps/pairing_heap.hpp"
#include "cpu/heaps/radix_heap.hpp"
#include "cpu/heaps/relaxed_heap.hpp"

namespace nearfar {
namespace {

template <class Heap, class C>
SearchStats dijkstra(const C& csr, Index source, typename C::Weight* distances,
                     StopRule<typename C::Weight> stop, Interrupt& interrupt) {
  using Weight = typename C::Weight;
  constexpr Weight far = unreached<Weight>();
  SearchStats stats;
  std::fill_n(distances, static_cast<std::size_t>(csr.n), far);
  Heap heap(csr.n);
  distances[source] = 0;
  heap.insert(source, 0);
  ++stats.pushes;
  Index v;
  Weight d;
  while (heap.pop(v, d)) {
    ++stats.iterations;
    if constexpr (!Heap::indexed) {
      if (d != distances[v]) {
        ++stats.stale;
        continue;
      }
    }
    if (stop.reached_all(distances, d)) break;
    const auto begin = static_cast<std::size_t>(csr.indptr[v]);
    const auto end = static_cast<std::size_t>(csr.indptr[v + 1]);
    ++stats.vertices_processed;
    stats.edges_relaxed += end - begin;
    interrupt.poll(end - begin + 8);
    for (std::size_t e = begin; e < end; ++e) {
      const Index t = csr.indices[e];
      const auto sum = candidate(d, csr.weights[e]);
      if (!improves(sum, distances[t])) continue;
      const auto shorter = static_cast<Weight>(sum);
      if (shorter > stop.limit) continue;
      const bool fresh = distances[t] == far;
      distances[t] = shorter;
      ++stats.pushes;
      if (fresh)
        heap.insert(t, shorter);
      else
        heap.decrease(t, shorter);
    }
  }
  return stats;
}

// Binds `name` to the driver with this policy.
template <template <class> class Heap>
void bind_dijkstra(nb::module_& m, const char* name) {
  m.def(
      name,
      [](GraphView& view, int64_t source, Array distances, std::optional<double> limit,
         const Targets& targets) {
        return call_search(view, false, source, distances, limit, targets, 1,
                           [](const auto& csr, auto source, auto* out, auto stop, Interrupt& poll) {
                             using C = std::decay_t<decltype(csr)>;
                             return dijkstra<Heap<typename C::Weight>>(csr, source, out, stop,
                                                                       poll);
                           });
      },
      nb::arg("view"), nb::arg("source"), nb::arg("distances"), nb::arg("limit") = nb::none(),
      nb::arg("targets") = nb::none());
}

template <class Weight>
using DaryHeap2 = DaryHeap<Weight, 2>;
template <class Weight>
using DaryHeap4 = DaryHeap<Weight, 4>;
template <class Weight>
using DaryHeap8 = DaryHeap<Weight, 8>;

}  // namespace

NEARFAR_BIND(m) {
  bind_dijkstra<BinaryHeap>(m, "dijkstra_binary_heap");
  bind_dijkstra<DaryHeap2>(m, "dijkstra_dary_heap_2");
  bind_dijkstra<DaryHeap4>(m, "dijkstra_dary_heap_4");
  bind_dijkstra<DaryHeap8>(m, "dijkstra_dary_heap_8");
  bind_dijkstra<FibonacciHeap>(m, "dijkstra_fibonacci_heap");
  bind_dijkstra<PairingHeap>(m, "dijkstra_pairing_heap");
  bind_dijkstra<RadixHeap>(m, "dijkstra_radix_heap");
  bind_dijkstra<RelaxedHeap>(m, "dijkstra_relaxed_heap");
}

}  // namespace nearfar
