// The steps of customization for one label; one build for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa.hpp"

namespace nearfar::prepared {

struct Arcs;

// What perfect customization finds out about an arc: its weight is the distance between its ends
// (bits 0 and 1: upwards, downwards), and queries need it (bits 2 and 3). With one side per arc
// bits 0 and 2 alone are used.
constexpr uint8_t kTight = 1;
constexpr uint8_t kNeeded = 4;

#define NEARFAR_DECLARE_CUSTOMIZE(level)                                                           \
  namespace level {                                                                                \
  /* The weights of the arcs of x from its edges and from the triangles whose lowest label lies in \
     [tails_from, tails_to). `fresh` starts from the edges, else from what is there. scratch:      \
     sides * height values. Returns whether a weight changed. */                                   \
  template <class Value, class Weight, int kSides>                                                 \
  bool lower_triangles(const Arcs& arcs, const Weight* edge_weights, Value* weights, int32_t x,    \
                       int32_t tails_from, int32_t tails_to, bool fresh, Value* scratch);          \
  /* The distances between the ends of the arcs of x, from its weights and the distances of its    \
     ancestors' arcs, and what is known of each arc then. ancestor[d]: x's at depth d. `ties`: an  \
     arc that only equals a detour is not needed. scratch: 2 * sides * height values, all far(),   \
     and left so in the first half. */                                                             \
  template <class Value, int kSides>                                                               \
  void upper_triangles(const Arcs& arcs, const Value* weights, Value* distances, uint8_t* flags,   \
                       int32_t x, const int32_t* ancestor, bool ties, Value* scratch);             \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_CUSTOMIZE)
#undef NEARFAR_DECLARE_CUSTOMIZE

}  // namespace nearfar::prepared
