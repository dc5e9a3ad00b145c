// balls[n][BALL_WIDTH] of a graph, see balls.cuh, and radii[kMostHops + 1]: how many vertices have each radius.
//
// One thread per vertex searches breadth first until the next hop does not fit any more. What it has found lies in
// a column of shared memory and is looked through for each candidate: up to 64 words, without conflicts. A
// warp writes the words of its vertices together.
//
// Launch: kFillThreads threads per block, any grid. Races: none.
//
// requires: algorithms/breadth_first/balls.cuh
// requires: cuda/edges.cuh
// requires: cuda/warp.cuh

constexpr int kFillThreads = 64;
constexpr int kColumn = kFillThreads + 1;  // so that neither words of a vertex nor vertices share banks

// Words of v in found[i * kColumn]; returns how many, of which the ones from *outer on are the farthest. *radius is 0
// where not even the row fits, and kMostHops where nothing lies beyond.
__device__ __forceinline__ int ball_of(const offset_t* offsets, const Edge* edges, vertex_t v,
                                       uint32* found, int* outer, int* radius) {
  int count = 0, begin = 0;  // the last hop's words begin there
  for (int hop = 1; hop <= kMostHops; ++hop) {
    const int end = count;
    for (int i = hop == 1 ? -1 : begin; i < end; ++i) {
      const vertex_t u = i < 0 ? v : static_cast<vertex_t>(found[i * kColumn] & kVertexMask);
      const offset_t last = __ldg(offsets + u + 1);
      offset_t j = __ldg(offsets + u);
      if (last - j > 4 * BALL_WIDTH) j = last, count = BALL_WIDTH + 1;
      for (; j < last; ++j) {
        const vertex_t t = load_edge(edges, j).target;
        bool known = t == v;
        for (int k = 0; k < count && !known; ++k)
          known = static_cast<vertex_t>(found[k * kColumn] & kVertexMask) == t;
        if (known) continue;
        if (count < BALL_WIDTH)
          found[count * kColumn] = static_cast<uint32>(t) | static_cast<uint32>(hop) << kVertexBits;
        if (++count > BALL_WIDTH) break;
      }
      if (count > BALL_WIDTH) {  // this hop does not fit: the one before is the last
        *outer = begin;
        *radius = hop - 1;
        return end;
      }
    }
    if (count == end) {  // nothing lies beyond
      *outer = count;
      break;
    }
    begin = end;
    *outer = begin;
  }
  *radius = kMostHops;
  return count;
}

extern "C" __global__ void __launch_bounds__(kFillThreads)
    fill_balls(const offset_t* offsets, const Edge* edges, long long n, uint32* balls, uint32* radii) {
  __shared__ uint32 words[BALL_WIDTH * kColumn];
  __shared__ uint32 seen[kMostHops + 1];
  if (threadIdx.x <= kMostHops) seen[threadIdx.x] = 0;
  __syncthreads();
  const int here = threadIdx.x & ~31;
  const long long stride = static_cast<long long>(gridDim.x) * kFillThreads;
  for (long long base = static_cast<long long>(blockIdx.x) * kFillThreads + here; base < n;
       base += stride) {
    const long long v = base + lane_id();
    int count = 0, outer = 0, radius = 0;
    if (v < n) {
      const vertex_t u = static_cast<vertex_t>(v);
      count = ball_of(offsets, edges, u, words + threadIdx.x, &outer, &radius);
      atomicAdd(&seen[radius], 1u);
    }
    __syncwarp();
    const int upto = n - base < 32 ? static_cast<int>(n - base) : 32;
    for (int owner = 0; owner < upto; ++owner) {
      const int filled = __shfl_sync(kAllLanes, count, owner);
      const int from = __shfl_sync(kAllLanes, outer, owner);
      const bool longer = __shfl_sync(kAllLanes, radius, owner) == 0;
      for (int i = lane_id(); i < BALL_WIDTH; i += 32) {
        uint32 word = longer && i == 0 ? kLonger : kNone;
        if (i < filled) word = words[i * kColumn + here + owner] | (i >= from ? kFarthest : 0u);
        balls[(base + owner) * BALL_WIDTH + i] = word;
      }
    }
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x <= kMostHops && seen[threadIdx.x]) atomicAdd(radii + threadIdx.x, seen[threadIdx.x]);
}
