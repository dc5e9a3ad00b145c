// Markers in the head of a row (row_heads.cuh) in place of edges.
// requires: cuda/primitives/types.cuh
#pragma once

constexpr vertex_t kNoVertex = -1;  // past the end of the row
constexpr vertex_t kLongRow = -2;   // in all places: the row has more than ROW_HEAD edges
// In the last place, where the weight is the time: other rows skip this vertex (row_shortcuts.cuh).
constexpr vertex_t kRemovedRow = -3;
constexpr int kFewEdges = 4;  // of such a vertex
