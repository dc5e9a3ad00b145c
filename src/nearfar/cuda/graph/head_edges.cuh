// Edges in the heads of rows (row_heads.cuh), and markers in their place.
//
// With CHAINS, for floats with shortcuts, a shortcut keeps the weights of all edges that it replaces, and
// a search adds one after the other, so that its sum is rounded as along the path.
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/edges.cuh
#pragma once

#ifndef CHAINS
#define CHAINS 0
#endif

constexpr vertex_t kNoVertex = -1;  // past the end of the row
constexpr vertex_t kLongRow = -2;   // in all places: the row has more than ROW_HEAD edges
// In the last place, where the weight is the time: other rows skip this vertex (row_shortcuts.cuh).
constexpr vertex_t kRemovedRow = -3;
constexpr int kFewEdges = 4;  // of such a vertex

struct HeadRow;  // in the form that searches read

#if CHAINS
constexpr int kMostWeights = 4;  // of a chain: of an edge, or of a shortcut made in two rounds

struct HeadEdge {
  vertex_t target;
  int count;  // of weights, in the order of the path
  weight_t weight[kMostWeights];
};

// All weights of a row follow each other, which takes fewer bytes than full edges. An edge's chain is the
// place of its first weight, plus the number of weights << kCountShift.
constexpr int kRoom = sizeof(weight_t) == 4 ? 14 : 15, kCountShift = 4;
struct alignas(16) HeadRow {
  vertex_t target[ROW_HEAD];
  unsigned char chain[ROW_HEAD];
  weight_t weight[kRoom];
};

__device__ __forceinline__ weight_t add_chain(weight_t distance, const HeadRow& row, int place) {
  const int chain = row.chain[place], first = chain & (1 << kCountShift) - 1;
#pragma unroll
  for (int i = 0; i < kMostWeights; ++i)
    if (i < chain >> kCountShift) distance += row.weight[first + i];
  return distance;
}
#else
using HeadEdge = Edge;
#if ROW_HEAD
struct HeadRow {
  Edge edge[ROW_HEAD];
};
#endif
#endif
