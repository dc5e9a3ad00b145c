// Distances from sixteen sources at once within the part of a graph around them, in vector lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/instructions/isa.hpp"

namespace nearfar::bounded {

constexpr int kLanes = 16;

// Vertices 0 to n - 1 in order of distance from a place amid the sources, and the edges that lead
// to each: indptr[v] to indptr[v + 1] of `from` and `weights`. Sums fit the type of the weights.
template <class Weight>
struct Surroundings {
  int32_t n;
  const int32_t *indptr, *from;
  const Weight* weights;
};

}  // namespace nearfar::bounded

namespace nearfar {

// settle_together lowers lanes[n][kLanes], at 64 bytes, to the least sums and returns how many
// sweeps it took. count_together counts what is within the limit, and finds the farthest of that.
#define NEARFAR_DECLARE_TOGETHER(level)                                              \
  namespace level {                                                                  \
  template <class Weight>                                                            \
  int settle_together(const bounded::Surroundings<Weight>& graph, Weight* lanes);    \
  template <class Weight>                                                            \
  void count_together(int32_t n, const Weight* lanes, Weight limit, int32_t* counts, \
                      Weight* greatest);                                             \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_TOGETHER)
#undef NEARFAR_DECLARE_TOGETHER

}  // namespace nearfar
