// Marks edges to dead ends, and packs a graph again without edges that are on no shortest path
// (essential.py).
//
// ways[v]: the only vertex other than v to which edges of v lead; kNoWay if there is none, kSeveral
// if there are several. An edge from u to v is marked if ways[v] is kNoWay or u. An edge of a
// solved source stays when its weight is at most the distance of its target in the source's row
// (Karger, Koller and Phillips 1993). place[v]: the row of vertex v, or -1 while v is not solved;
// rows: n distances each. counts[v]: edges of v that stay; fresh: their prefix sums, n + 1 entries.
// Launch: grid-stride, a warp per vertex; add_counts: one block of 1024 threads. No races: every
// element is written by one thread.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/warp.cuh

__device__ __forceinline__ bool stays(const Edge& edge, const weight_t* row) {
  return row == nullptr || edge_weight(edge) <= row[edge.target & 0x7fffffff];
}

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

extern "C" __global__ void count_essential(const offset_t* offsets, const Edge* edges,
                                           const int* place, const weight_t* rows,
                                           long long n, offset_t* counts) {
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  for (long long v = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
       v < n; v += warps) {
    const weight_t* row = place[v] < 0 ? nullptr : rows + static_cast<long long>(place[v]) * n;
    offset_t kept = 0;
    for (offset_t e = offsets[v] + lane_id(); e < offsets[v + 1]; e += 32)
      kept += stays(edges[e], row);
    kept = warp_sum(kept);
    if (lane_id() == 0) counts[v] = kept;
  }
}

extern "C" __global__ void __launch_bounds__(1024)
    add_counts(const offset_t* counts, long long n, offset_t* fresh) {
  constexpr int kEach = 8;
  __shared__ offset_t sums[33];
  offset_t carried = 0, total;
  for (long long base = 0; base < n; base += 1024 * kEach) {
    const long long mine = base + static_cast<long long>(threadIdx.x) * kEach;
    offset_t of[kEach], all = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      of[i] = mine + i < n ? counts[mine + i] : 0;
      all += of[i];
    }
    offset_t at = carried + block_exclusive_sum(all, sums, &total);
    carried += total;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (mine + i < n) fresh[mine + i] = at;
      at += of[i];
    }
  }
  if (threadIdx.x == 0) fresh[n] = carried;
}

extern "C" __global__ void pack_essential(const offset_t* offsets, const Edge* edges,
                                          const int* place, const weight_t* rows, long long n,
                                          const offset_t* fresh, Edge* to) {
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  for (long long v = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
       v < n; v += warps) {
    const weight_t* row = place[v] < 0 ? nullptr : rows + static_cast<long long>(place[v]) * n;
    offset_t at = fresh[v];
    const offset_t end = offsets[v + 1];
    for (offset_t base = offsets[v]; base < end; base += 32) {
      const offset_t e = base + lane_id();
      const bool keep = e < end && stays(edges[e], row);
      const uint32 kept = __ballot_sync(kAllLanes, keep);
      if (keep) to[at + __popc(kept & ((1u << lane_id()) - 1))] = edges[e];
      at += __popc(kept);
    }
  }
}
