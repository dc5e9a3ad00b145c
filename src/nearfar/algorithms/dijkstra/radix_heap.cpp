// dijkstra_radix_heap@cpu: the shared loop over RadixHeap.
#include "cpu/heaps/radix_heap.hpp"

#include "algorithms/dijkstra/driver.hpp"

namespace nearfar {

NEARFAR_BIND(m) {
  bind_dijkstra<RadixHeap>(m, "dijkstra_radix_heap");
}

}  // namespace nearfar
