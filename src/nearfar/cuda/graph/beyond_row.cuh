// Distances of vertices that rows skip, from those of their neighbours: see row_shortcuts.cuh.
//
// requires: cuda/graph/head_edges.cuh
#pragma once

// Rows of `Width` edges.
template <int Width, class Edges>
struct EdgeRows {
  const Edges* edges;
  __device__ __forceinline__ const Edges& edge(vertex_t v, int i) const {
    return edges[static_cast<long long>(v) * Width + i];
  }
  __device__ __forceinline__ vertex_t target(vertex_t v, int i) const { return __ldg(&edge(v, i).target); }
  // Adds the edge in the direction from its target.
  __device__ __forceinline__ weight_t back(weight_t distance, vertex_t v, int i) const {
    return add_saturating(distance, edge(v, i).weight);
  }
  // Returns the round in which the vertex was removed, or -1 if it was not.
  __device__ __forceinline__ int time(vertex_t v) const {
    const Edges last = edge(v, Width - 1);
    return last.target == kRemovedRow ? static_cast<int>(last.weight) : -1;
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
  __device__ __forceinline__ int time(vertex_t v) const {
    return target(v, ROW_HEAD - 1) == kRemovedRow ? rows[v].chain[ROW_HEAD - 1] : -1;
  }
};
#endif

// Returns the distance of a removed vertex from those of its neighbours. All are read at once.
template <class Rows, class Distance>
__device__ __forceinline__ weight_t over_row(const Rows& rows, const Distance& distance, vertex_t v) {
  vertex_t target[kFewEdges];
  weight_t from[kFewEdges], least = distance.at(v);
#pragma unroll
  for (int i = 0; i < kFewEdges; ++i) target[i] = rows.target(v, i);
#pragma unroll
  for (int i = 0; i < kFewEdges; ++i) from[i] = target[i] >= 0 ? distance.at(target[i]) : unreached();
#pragma unroll
  for (int i = 0; i < kFewEdges; ++i) {
    if (target[i] < 0) continue;
    const weight_t sum = rows.back(from[i], v, i);
    least = sum < least ? sum : least;
  }
  return least;
}

// Distances of all vertices while the search runs. Neighbours of a removed vertex were removed later or
// never, so recursion ends after as many levels as there were rounds. A reader of a distance that another
// thread lowers meanwhile computes the new one itself.
template <int Depth, class Rows, class Distance>
struct Beyond {
  const Rows& rows;
  const Distance& distance;
  __device__ __noinline__ weight_t at(vertex_t v) const {
    if constexpr (Depth > 0) {
      if (rows.time(v) >= 0) return over_row(rows, Beyond<Depth - 1, Rows, Distance>{rows, distance}, v);
    }
    return distance.at(v);
  }
};
