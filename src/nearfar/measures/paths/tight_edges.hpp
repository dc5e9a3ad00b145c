// Finds the edges on shortest paths from one source in one sweep over all edges in memory order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/instructions/isa.hpp"

namespace nearfar::measures {

// Edges ordered by tail. `count` is a multiple of kAtOnce: the list is padded with dummy edges from
// 0 to 0.
template <class Weight>
struct EdgeColumns {
  static constexpr std::size_t kAtOnce = 16;
  std::size_t count;
  const int32_t *tails, *heads;
  const Weight* weights;
};

}  // namespace nearfar::measures

namespace nearfar {

// tight_edges writes the ends of the tight edges in their order, followed by up to kAtOnce dummies,
// and returns their number. Vertex 0 must be unreached, and every sum must fit the weights' type.
#define NEARFAR_DECLARE_TIGHT_EDGES(level)                                                    \
  namespace level {                                                                           \
  template <class Weight>                                                                     \
  std::size_t tight_edges(const measures::EdgeColumns<Weight>& edges, const Weight* distance, \
                          int32_t* from, int32_t* to);                                        \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_TIGHT_EDGES)
#undef NEARFAR_DECLARE_TIGHT_EDGES

}  // namespace nearfar
