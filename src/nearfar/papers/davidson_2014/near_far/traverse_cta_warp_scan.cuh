// Traversal "cta_warp_scan": long lists by the whole block, middling ones by a warp, short ones by a scan.
//
// Each thread owns one vertex. Threads whose list is at least a block long compete for the block, one winner
// at a time; then those with a list of at least a warp compete for their warp; the remaining edges are
// listed in a pool in shared memory that the block processes. Paper: Davidson et al. 2014, section IV.B,
// "CTA+Warp+Scan", after Merrill, Garland, Grimshaw 2012. Departure: a warp's winner comes from a ballot.
// Launch: blocks of 256, any grid.
// requires: papers/davidson_2014/near_far/relax.cuh

constexpr int kInFlight = 4;
constexpr int kPool = kBlock * kInFlight;

// Relaxes edges begin .. begin + degree - 1 of a vertex at distance d with `workers` threads; this thread has
// number `rank`; all of them call.
__device__ __forceinline__ void relax_list(const Frame& f, Sweep& s, offset_t begin, offset_t degree,
                                           weight_t d, int rank, int workers) {
  for (offset_t j = 0; j < degree; j += static_cast<offset_t>(kInFlight) * workers) {
    vertex_t target[kInFlight];
    weight_t candidate[kInFlight];
    bool active[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const offset_t e = j + u * workers + rank;
      active[u] = e < degree;
      const Edge edge = load_edge(f.edges, active[u] ? begin + e : 0);
      target[u] = edge.target;
      candidate[u] = add_saturating(d, edge_weight(edge));
    }
    relax_batch(f, s, target, candidate, active);
  }
}

extern "C" __global__ void __launch_bounds__(kBlock) traverse(Frame f, uint32 iteration) {
  if (f.control->done) return;
  __shared__ offset_t pool_edge[kPool];
  __shared__ weight_t pool_source[kPool];
  __shared__ int scratch[33];
  __shared__ int winner;
  __shared__ offset_t list_begin, list_degree;
  __shared__ weight_t list_source;
  Sweep s = begin_sweep(f, iteration);
  const uint64 size = frontier_size(f, iteration);
  const uint64 stride = static_cast<uint64>(gridDim.x) * kBlock;
  for (uint64 base = static_cast<uint64>(blockIdx.x) * kBlock; base < size; base += stride) {
    auto [begin, degree, d] = frontier_row(f, s, iteration, base + threadIdx.x, size);

    while (__syncthreads_or(degree >= kBlock)) {
      if (degree >= kBlock) winner = threadIdx.x;  // any of them may win this round
      __syncthreads();
      if (winner == static_cast<int>(threadIdx.x)) {
        list_begin = begin;
        list_degree = degree;
        list_source = d;
        degree = 0;
      }
      __syncthreads();
      relax_list(f, s, list_begin, list_degree, list_source, threadIdx.x, kBlock);
    }

    for (uint32 left = __ballot_sync(kAllLanes, degree >= 32); left; left &= left - 1) {
      const int lane = __ffs(left) - 1;
      relax_list(f, s, __shfl_sync(kAllLanes, begin, lane), __shfl_sync(kAllLanes, degree, lane),
                 __shfl_sync(kAllLanes, d, lane), lane_id(), 32);
      if (lane_id() == lane) degree = 0;
    }

    int total;
    const int before = block_exclusive_sum(static_cast<int>(degree), scratch, &total);
    int written = 0;  // of this thread's list
    for (int done = 0; done < total; done += kPool) {
      for (; written < degree && before + written < done + kPool; ++written) {
        pool_edge[before + written - done] = begin + written;
        pool_source[before + written - done] = d;
      }
      __syncthreads();
      vertex_t target[kInFlight];
      weight_t candidate[kInFlight];
      bool active[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        const int e = u * kBlock + threadIdx.x;
        active[u] = done + e < total;
        const Edge edge = load_edge(f.edges, active[u] ? pool_edge[e] : 0);
        target[u] = edge.target;
        candidate[u] = active[u] ? add_saturating(pool_source[e], edge_weight(edge)) : weight_t(0);
      }
      relax_batch(f, s, target, candidate, active);
      __syncthreads();
    }
  }
  end_sweep(f, s);
}
