// Distances of vertices that rows skip, from those of their neighbours: see row_shortcuts.cuh.
//
// requires: cuda/graph/head_edges.cuh
#pragma once

// Rows of `Width` edges.
template <int Width, class Edges>
struct EdgeRows {
  const Edges* edges;
  __device__ __forceinline__ vertex_t target(vertex_t v, int i) const {
    return __ldg(&edges[static_cast<long long>(v) * Width + i].target);
  }
  // Adds the edge in the direction from its target.
  __device__ __forceinline__ weight_t back(weight_t distance, vertex_t v, int i) const {
    return add_saturating(distance, edges[static_cast<long long>(v) * Width + i].weight);
  }
};

#if CHAINS
struct ChainRows {
  const HeadRow* rows;
  __device__ __forceinline__ vertex_t target(vertex_t v, int i) const { return __ldg(&rows[v].target[i]); }
  __device__ __forceinline__ weight_t back(weight_t distance, vertex_t v, int i) const {
    const int chain = rows[v].chain[i], first = chain & (1 << kCountShift) - 1;
    for (int k = chain >> kCountShift; k-- > 0;) distance += rows[v].weight[first + k];
    return distance;
  }
};
#endif

// Its neighbours were removed later or never, so their distances are computed recursively, to a
// depth of the number of removal rounds. A reader of a distance that another thread lowers
// meanwhile computes the new one itself.
template <int Depth, int Width, class Rows, class Distance>
__device__ __noinline__ weight_t beyond_row(const Rows& rows, const Distance& distance, vertex_t v) {
  weight_t least = distance.at(v);
  if constexpr (Depth > 0) {
    if (rows.target(v, Width - 1) != kRemovedRow) return least;
    for (int i = 0; i < Width - 1; ++i) {
      const vertex_t u = rows.target(v, i);
      if (u < 0) break;
      const weight_t sum = rows.back(beyond_row<Depth - 1, Width>(rows, distance, u), v, i);
      least = sum < least ? sum : least;
    }
  }
  return least;
}
