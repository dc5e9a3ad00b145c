// A walk over the edges of up to 32 vertices by one warp, with its lanes spread over all edges.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/warp.cuh
#pragma once

// Each lane passes one row: first edge, number of edges (0 for none) and a value of its vertex,
// such as the distance. Calls look(edge, value) once per edge. Called by whole warps; returns this
// lane's own number of edges. Loops: `look` has its own loops. Lanes that diverge in them would
// stay diverged for the remaining rows, so the lanes reconverge after each look.
template <bool Loops, class Value, class Look>
__device__ __forceinline__ uint32 spread_rows(const Edge* edges, offset_t begin, int degree, Value d,
                                              const Look& look) {
  const int lane = lane_id();
  const uint32 mine = degree;
  // Long rows: the warp together, 4 edges per lane in flight before the first is used.
  uint32 large = __ballot_sync(kAllLanes, degree > 48);
  while (large) {
    const int owner = __ffs(large) - 1;
    large &= large - 1;
    const offset_t start = __shfl_sync(kAllLanes, begin, owner);
    const int count = __shfl_sync(kAllLanes, degree, owner);
    const Value from = of_lane(d, owner);
    for (int base = 0; base < count; base += 128) {
      Edge held[4];
#pragma unroll
      for (int u = 0; u < 4; ++u)
        if (base + u * 32 + lane < count) held[u] = load_edge(edges, start + base + u * 32 + lane);
#pragma unroll
      for (int u = 0; u < 4; ++u)
        if (base + u * 32 + lane < count) look(held[u], from);
      if (Loops) __syncwarp();
    }
    if (lane == owner) degree = 0;
  }
  // Short rows: the edges of the 32 vertices in one sequence, lane by lane.
  const int upto = warp_inclusive_sum(degree);
  const int total = __shfl_sync(kAllLanes, upto, 31);
  const int before = upto - degree;
  const offset_t shift = begin - before;
  for (int base = 0; base < total; base += 64) {
    Edge held[2];
    Value from[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int t = base + u * 32 + lane;
      if (Loops && base + u * 32 >= total) break;  // the same for all lanes
      const int owner = lane_of(t, before);
      const offset_t at = __shfl_sync(kAllLanes, shift, owner);
      from[u] = of_lane(d, owner);
      if (t < total) held[u] = load_edge(edges, at + t);
    }
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      if (base + u * 32 + lane < total) look(held[u], from[u]);
      if (Loops) __syncwarp();
    }
  }
  return mine;
}
