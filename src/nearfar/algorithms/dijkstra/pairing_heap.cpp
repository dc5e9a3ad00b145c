// dijkstra_pairing_heap@cpu: the shared loop over PairingHeap.
#include "cpu/heaps/pairing_heap.hpp"

#include "algorithms/dijkstra/driver.hpp"

namespace nearfar {

NEARFAR_BIND(m) {
  bind_dijkstra<PairingHeap>(m, "dijkstra_pairing_heap");
}

}  // namespace nearfar
