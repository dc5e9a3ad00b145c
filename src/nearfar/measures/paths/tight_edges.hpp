// The edges on shortest paths from one source: one sweep over all edges in the order of memory.
#pragma once

#include <cstddef>

#include "cpu/instructions/isa.hpp"

namespace nearfar::measures {

// Edges one after the other, ascending by tail. `count` is a multiple of kAtOnce: edges of nobody,
// from 0 to 0, are behind the last.
template <class Index, class Weight>
struct EdgeColumns {
  static constexpr std::size_t kAtOnce = 16;
  std::size_t count;
  const Index *tails, *heads;
  const Weight* weights;
};

}  // namespace nearfar::measures

namespace nearfar {

// tight_edges writes the ends of the tight edges in their order, up to kAtOnce of nobody behind
// them, and returns how many there are. Vertex 0 is unreached, and every sum fits the type of the
// weights.
#define NEARFAR_DECLARE_TIGHT_EDGES(level)                                   \
  namespace level {                                                          \
  template <class Index, class Weight>                                       \
  std::size_t tight_edges(const measures::EdgeColumns<Index, Weight>& edges, \
                          const Weight* distance, Index* from, Index* to);   \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_TIGHT_EDGES)
#undef NEARFAR_DECLARE_TIGHT_EDGES

}  // namespace nearfar
