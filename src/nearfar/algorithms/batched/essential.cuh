// Marks edges to dead ends, and packs a graph anew without edges that lie on no shortest path (essential.py).
//
// An edge of a solved source stays when its weight is at most the distance of its target in the source's row
// (Karger, Koller and Phillips 1993). place[v]: the row of vertex v, or -1 while v is not solved; rows: n
// distances each. counts[v]: edges of v that stay; fresh: their prefix sums, n + 1 entries.
// Launch: grid-stride, a thread per edge (mark_dead_ends) or a warp per vertex. No races: every
// element is written by one thread.
// requires: cuda/edges.cuh
// requires: cuda/warp.cuh

__device__ __forceinline__ bool stays(const Edge& edge, const weight_t* row) {
  return row == nullptr || edge_weight(edge) <= row[edge.target & 0x7fffffff];
}

extern "C" __global__ void mark_dead_ends(const Edge* edges, const unsigned char* dead, Edge* to,
                                          long long m) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < m;
       i += stride) {
    Edge edge = edges[i];
    if (dead[edge.target]) edge.target = static_cast<vertex_t>(edge.target - 0x7fffffff - 1);
    to[i] = edge;
  }
}

extern "C" __global__ void count_essential(const offset_t* offsets, const Edge* edges,
                                           const long long* place, const weight_t* rows,
                                           long long n, offset_t* counts) {
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  for (long long v = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
       v < n; v += warps) {
    const weight_t* row = place[v] < 0 ? nullptr : rows + place[v] * n;
    offset_t kept = 0;
    for (offset_t e = offsets[v] + lane_id(); e < offsets[v + 1]; e += 32)
      kept += stays(edges[e], row);
    kept = warp_sum(kept);
    if (lane_id() == 0) counts[v] = kept;
  }
}

extern "C" __global__ void pack_essential(const offset_t* offsets, const Edge* edges,
                                          const long long* place, const weight_t* rows, long long n,
                                          const offset_t* fresh, Edge* to) {
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  for (long long v = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
       v < n; v += warps) {
    const weight_t* row = place[v] < 0 ? nullptr : rows + place[v] * n;
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
