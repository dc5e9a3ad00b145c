// dijkstra_relaxed_heap@cpu: the shared loop over RelaxedHeap.
#include "cpu/heaps/relaxed_heap.hpp"

#include "algorithms/dijkstra/driver.hpp"

namespace nearfar {

NEARFAR_BIND(m) {
  bind_dijkstra<RelaxedHeap>(m, "dijkstra_relaxed_heap");
}

}  // namespace nearfar
