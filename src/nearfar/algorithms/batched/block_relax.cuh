// Relaxing the edges of up to 32 vertices by one warp.
// requires: algorithms/batched/block_distance.cuh
#pragma once

// Each lane brings one row: first edge, number of edges (0 for none) and its vertex's distance.
// Calls relax(edge, distance) once an edge. Called by whole warps; returns this lane's own number
// of edges.
template <class Relax>
__device__ __forceinline__ uint32 relax_rows(const Edge* edges, offset_t begin, int degree,
                                             value_t d, const Relax& relax) {
  const int lane = lane_id();
  const uint32 mine = degree;
  // Long rows: the warp together, 4 edges a lane in flight before the first is used.
  uint32 large = __ballot_sync(kAllLanes, degree > 48);
  while (large) {
    const int owner = __ffs(large) - 1;
    large &= large - 1;
    const offset_t start = __shfl_sync(kAllLanes, begin, owner);
    const int count = __shfl_sync(kAllLanes, degree, owner);
    const value_t from = __shfl_sync(kAllLanes, d, owner);
    for (int base = 0; base < count; base += 128) {
      Edge held[4];
#pragma unroll
      for (int u = 0; u < 4; ++u)
        if (base + u * 32 + lane < count) held[u] = load_edge(edges, start + base + u * 32 + lane);
#pragma unroll
      for (int u = 0; u < 4; ++u)
        if (base + u * 32 + lane < count) relax(held[u], from);
    }
    if (lane == owner) degree = 0;
  }
  // Short rows: all edges of the 32 vertices numbered through, lane by lane.
  const int upto = warp_inclusive_sum(degree);
  const int total = __shfl_sync(kAllLanes, upto, 31);
  const int before = upto - degree;
  const offset_t shift = begin - before;
  for (int base = 0; base < total; base += 64) {
    Edge held[2];
    value_t from[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int t = base + u * 32 + lane;
      int owner = 0;  // the last lane whose first edge is t or earlier
#pragma unroll
      for (int half = 16; half > 0; half >>= 1) {
        const int start = __shfl_sync(kAllLanes, before, (owner + half) & 31);
        if (owner + half < 32 && start <= t) owner += half;
      }
      const offset_t at = __shfl_sync(kAllLanes, shift, owner);
      from[u] = __shfl_sync(kAllLanes, d, owner);
      if (t < total) held[u] = load_edge(edges, at + t);
    }
#pragma unroll
    for (int u = 0; u < 2; ++u)
      if (base + u * 32 + lane < total) relax(held[u], from[u]);
  }
  return mine;
}
