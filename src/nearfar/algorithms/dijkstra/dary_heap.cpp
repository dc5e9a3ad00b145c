// dijkstra_dary_heap@cpu: the shared loop over DaryHeap with 2, 4 or 8 children.
#include "cpu/heaps/dary_heap.hpp"

#include "algorithms/dijkstra/driver.hpp"

namespace nearfar {
namespace {

template <class Index, class Weight>
using Lazy2 = DaryHeap<Index, Weight, 2>;
template <class Index, class Weight>
using Lazy4 = DaryHeap<Index, Weight, 4>;
template <class Index, class Weight>
using Lazy8 = DaryHeap<Index, Weight, 8>;

}  // namespace

NEARFAR_BIND(m) {
  bind_dijkstra<Lazy2>(m, "dijkstra_dary_heap_2");
  bind_dijkstra<Lazy4>(m, "dijkstra_dary_heap_4");
  bind_dijkstra<Lazy8>(m, "dijkstra_dary_heap_8");
}

}  // namespace nearfar
