// dijkstra_binary_heap@cpu: the shared loop over BinaryHeap.
#include "cpu/heaps/binary_heap.hpp"

#include "algorithms/dijkstra/driver.hpp"

namespace nearfar {

NEARFAR_BIND(m) {
  bind_dijkstra<BinaryHeap>(m, "dijkstra_binary_heap");
}

}  // namespace nearfar
