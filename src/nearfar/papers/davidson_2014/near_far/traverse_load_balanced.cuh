// Traversal "load_balanced": every block takes the same number of edges, from any lists.
//
// The gather kernel has numbered the frontier's edges; a block owns a contiguous range of the numbers and
// finds the list in which it starts by one search in the sorted starts, 32 probes at a time. It then walks
// its range in tiles: the lists of a tile go to shared memory, and each thread finds its edge's list there by
// a binary search. Work is even between blocks and inside them. Paper: Davidson et al. 2014, section IV.B,
// "Load-Balanced Partitioning", with Baxter's sorted search. Launch: blocks of 256, any grid.
// requires: papers/davidson_2014/near_far/relax.cuh

constexpr int kInFlight = 4;
constexpr int kTile = kBlock * kInFlight;

// Returns the last entry whose start is at most e; starts[0] = 0. Called by every lane of the warp;
// all get the result.
__device__ __forceinline__ uint64 list_of(const offset_t* starts, uint64 count, offset_t e) {
  uint64 low = 0, high = count;  // starts[low] <= e < starts[high]
  while (high - low > 1) {
    const uint64 step = (high - low + 31) / 32;
    const uint64 probe = low + step * (lane_id() + 1);
    const bool below = probe < high && starts[probe] <= e;
    const int passed = __popc(__ballot_sync(kAllLanes, below));
    low += step * passed;
    high = low + step < high ? low + step : high;
  }
  return low;
}

extern "C" __global__ void __launch_bounds__(kBlock) traverse(Frame f, uint32 iteration) {
  if (f.control->done) return;
  __shared__ offset_t first[kTile + 1];
  __shared__ offset_t shift[kTile + 1];
  __shared__ weight_t source[kTile + 1];
  Sweep s = begin_sweep(f, iteration);
  const uint64 packed = f.control->gathered;
  const uint64 count = packed >> kEdgeBits;
  const offset_t total = static_cast<offset_t>(packed & ((1ull << kEdgeBits) - 1));
  const uint64 even = (static_cast<uint64>(total) + gridDim.x - 1) / gridDim.x;
  const uint64 share = even < kBlock ? kBlock : even;  // spreads a small frontier over many blocks
  const uint64 mine = share * blockIdx.x;
  if (mine < static_cast<uint64>(total)) {
    const offset_t begin = static_cast<offset_t>(mine);
    const offset_t end = mine + share < static_cast<uint64>(total) ? static_cast<offset_t>(mine + share) : total;
    uint64 list = list_of(f.starts, count, begin);
    for (offset_t e0 = begin; e0 < end; e0 += kTile) {
      const offset_t e1 = end - e0 < kTile ? end : e0 + kTile;
      // Lists of the tile, 256 per round. Each has an edge, so at most kTile of them start inside
      // it, and one before it.
      int lists = 0;
      while (true) {
        const uint64 i = list + lists + threadIdx.x;
        bool inside = false;
        if (i < count && lists + static_cast<int>(threadIdx.x) <= kTile) {
          const offset_t start = f.starts[i];
          inside = start < e1;
          if (inside) {
            const vertex_t v = f.queue1[i];
            const int slot = lists + threadIdx.x;
            first[slot] = start;
            shift[slot] = f.offsets[v] - start;
            source[slot] = load_relaxed(f.distance + v);
          }
        }
        const int found = __syncthreads_count(inside);
        lists += found;
        if (found < kBlock) break;
      }
      vertex_t target[kInFlight];
      weight_t candidate[kInFlight];
      bool active[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        const offset_t e = e0 + u * kBlock + static_cast<offset_t>(threadIdx.x);
        active[u] = e < e1;
        int low = 0, high = active[u] ? lists : 1;
        while (high - low > 1) {
          const int middle = (low + high) >> 1;
          if (first[middle] <= e) low = middle;
          else high = middle;
        }
        const Edge edge = load_edge(f.edges, active[u] ? e + shift[low] : 0);
        target[u] = edge.target;
        candidate[u] = add_saturating(source[low], edge_weight(edge));
        s.edges += active[u];
      }
      relax_batch(f, s, target, candidate, active);
      list += lists - 1;  // the next tile starts in this one's last list, or in the one after it
      __syncthreads();
    }
  }
  end_sweep(f, s);
}
