// Marks edges to dead ends (dead_ends.py) by the sign bit of their target.
//
// ways[v]: the only vertex other than v to which edges of v lead; kNoWay if there is none, kSeveral
// if there are several. An edge from u to v is marked if ways[v] is kNoWay or u.
// Launch: grid-stride, a warp per vertex. No races: every element is written by one thread.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/warp.cuh

constexpr int kNoWay = -1, kSeveral = -2;

extern "C" __global__ void only_ways(const offset_t* offsets, const Edge* edges, long long n, int* ways) {
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  for (long long v = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
       v < n; v += warps) {
    int least = 0x7fffffff, most = -1;
    for (offset_t e = offsets[v] + lane_id(); e < offsets[v + 1]; e += 32) {
      const int target = static_cast<int>(edges[e].target);
      if (target == v) continue;
      least = target < least ? target : least;
      most = target > most ? target : most;
    }
    least = warp_min(least);
    most = -warp_min(-most);
    if (lane_id() == 0) ways[v] = most < 0 ? kNoWay : least == most ? least : kSeveral;
  }
}

extern "C" __global__ void mark_dead_ends(const offset_t* offsets, const Edge* edges, long long n,
                                          const int* ways, Edge* to) {
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  for (long long u = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
       u < n; u += warps) {
    for (offset_t e = offsets[u] + lane_id(); e < offsets[u + 1]; e += 32) {
      Edge edge = edges[e];
      const int way = ways[edge.target];
      if (way == kNoWay || way == u) edge.target = static_cast<vertex_t>(edge.target - 0x7fffffff - 1);
      to[e] = edge;
    }
  }
}
