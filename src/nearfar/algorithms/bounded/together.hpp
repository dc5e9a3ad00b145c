// Distances from many sources at once, in vector lanes, in the part of a graph that surrounds them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/instructions/isa.hpp"

namespace nearfar::bounded {

constexpr int kLanes = 32;

template <class Weight>
struct EdgeAround {
  int32_t to;
  Weight weight;
};

// Vertices 0 to n - 1, in order of distance from a place among the sources, with their out-edges
// indptr[v] to indptr[v + 1] of `edges`. Sums fit the type of the weights.
template <class Weight>
struct Surroundings {
  int32_t n;
  const int32_t* indptr;
  const EdgeAround<Weight>* edges;
};

// A column of values to aggregate per lane: rows place[v] to place[v + 1] of `values` for each v in
// `vertices`, whose lanes begin at `at[v]`. Lanes of `distances` up to `limit` count, weighted by
// `factors`, or by 1 if that is null.
struct Column {
  std::size_t count;  // number of vertices
  const int64_t* vertices;
  const uint32_t* at;
  const int64_t* place;
  const double* values;
  std::size_t width;
  const double* distances;
  double limit;
  const double* factors;
};

// Aggregates of a column per lane: the sum of value x factor, the sum of the factors of existing
// values, the least and the greatest value.
struct Totals {
  double sums[kLanes], shares[kLanes], least[kLanes], greatest[kLanes];
};

}  // namespace nearfar::bounded

namespace nearfar {

// settle_together lowers lanes[n][kLanes] (64-byte aligned) to the least sums and returns the edges
// read. `marks` has a bit per vertex whose lanes changed; all are 0 at the end. count_together
// counts the vertices within the limit and finds the farthest.
#define NEARFAR_DECLARE_TOGETHER(level)                                                      \
  namespace level {                                                                          \
  template <class Weight>                                                                    \
  uint64_t settle_together(const bounded::Surroundings<Weight>& graph, Weight* lanes,        \
                           uint64_t* marks);                                                 \
  template <class Weight>                                                                    \
  void count_together(int32_t n, const Weight* lanes, Weight limit, int32_t* counts,         \
                      Weight* greatest);                                                     \
  void add_together(const bounded::Column& column, bool only_sums, bounded::Totals& totals); \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_TOGETHER)
#undef NEARFAR_DECLARE_TOGETHER

}  // namespace nearfar
