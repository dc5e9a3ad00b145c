// Edges in the heads of rows (row_heads.cuh), and markers in their place.
//
// With TWO_WEIGHTS, for floats with shortcuts, a shortcut keeps the weights of both edges that it
// replaces, and a search adds one after the other, so that its sum is rounded as along the path.
// The first of an edge is 0.
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/edges.cuh
#pragma once

#ifndef TWO_WEIGHTS
#define TWO_WEIGHTS 0
#endif

constexpr vertex_t kNoVertex = -1;  // past the end of the row
constexpr vertex_t kLongRow = -2;   // in all places: the row has more than ROW_HEAD edges
// In the last place, where the weight is the time: other rows skip this vertex (row_shortcuts.cuh).
constexpr vertex_t kRemovedRow = -3;
constexpr int kFewEdges = 4;  // of such a vertex

struct HeadRow;  // in the form that searches read

#if TWO_WEIGHTS
struct HeadEdge {
  vertex_t target;
  weight_t first, weight;
};

// The high bits of a target select the first weight that precedes its own, 0 for none. This takes
// fewer bytes than full edges.
constexpr int kFirsts = 4, kFirstShift = 28;
struct alignas(16) HeadRow {
  vertex_t target[ROW_HEAD];
  weight_t weight[ROW_HEAD], first[kFirsts];
};
#else
using HeadEdge = Edge;
#if ROW_HEAD
struct HeadRow {
  Edge edge[ROW_HEAD];
};
#endif
#endif
