// dijkstra_fibonacci_heap@cpu: the shared loop over FibonacciHeap.
#include "cpu/heaps/fibonacci_heap.hpp"

#include "algorithms/dijkstra/driver.hpp"

namespace nearfar {

NEARFAR_BIND(m) {
  bind_dijkstra<FibonacciHeap>(m, "dijkstra_fibonacci_heap");
}

}  // namespace nearfar
