// balls[n][BALL_WIDTH] of a graph, see balls.cuh, and radii[kMostHops + 1]: how many vertices have each radius.
//
// One thread per vertex searches breadth first until the next hop does not fit any more. What it has found lies in
// shared memory, in a column of its own, beside a table of twice as many bytes that finds a target among
// them by its hash. A warp clears the tables and writes the words of its vertices together.
//
// Launch: one warp per block, any grid. Races: none.
//
// requires: algorithms/breadth_first/balls.cuh
// requires: cuda/edges.cuh
// requires: cuda/warp.cuh

constexpr int kFillThreads = 32;
constexpr int kSlots = 2 * BALL_WIDTH;  // of a table
constexpr int kColumn = 33;  // so that neither words of a vertex nor vertices share banks
static_assert(BALL_WIDTH < 255, "a slot of a table holds the place of a word in a byte");

struct BallsOfWarp {
  uint32 words[BALL_WIDTH * kColumn];
  alignas(16) unsigned char table[kSlots * 32];  // 0, or one more than the place of a word
};

struct BallOfThread {
  uint32* words;
  unsigned char* table;
  int count;

  __device__ __forceinline__ vertex_t vertex(int i) const {
    return static_cast<vertex_t>(words[i * kColumn] & kVertexMask);
  }

  // Adds t unless it is there. False where it is new and there is no room for it.
  __device__ __forceinline__ bool add(vertex_t t, int hop) {
    uint32 slot = static_cast<uint32>(t) * 2654435769u >> 16 & (kSlots - 1);
    while (const int place = table[slot * 32]) {
      if (vertex(place - 1) == t) return true;
      slot = (slot + 1) & (kSlots - 1);
    }
    if (count == BALL_WIDTH) return false;
    words[count * kColumn] = static_cast<uint32>(t) | static_cast<uint32>(hop) << kVertexBits;
    table[slot * 32] = static_cast<unsigned char>(++count);
    return true;
  }

  // Adds the targets of u. False where there is no room for them.
  __device__ __forceinline__ bool add_row(const offset_t* offsets, const Edge* edges, vertex_t u,
                                          vertex_t center, int hop) {
    const offset_t last = __ldg(offsets + u + 1);
    offset_t j = __ldg(offsets + u);
    if (last - j > 4 * BALL_WIDTH) return false;
    for (; j < last; ++j) {
      const vertex_t t = load_edge(edges, j).target;
      if (t != center && !add(t, hop)) return false;
    }
    return true;
  }
};

// Fills the ball of v; the words from *outer on are the farthest. Returns its radius: 0 where not even the
// row fits, and kMostHops where nothing lies beyond.
__device__ __forceinline__ int search_ball(const offset_t* offsets, const Edge* edges, vertex_t v,
                                           BallOfThread& ball, int* outer) {
  *outer = 0;
  int begin = 0;
  for (int hop = 1; hop <= kMostHops; ++hop) {
    const int end = ball.count;
    bool fits = true;
    if (hop == 1)
      fits = ball.add_row(offsets, edges, v, v, hop);
    else
      for (int i = begin; i < end && fits; ++i)
        fits = ball.add_row(offsets, edges, ball.vertex(i), v, hop);
    if (!fits) {
      ball.count = end;
      return hop - 1;
    }
    *outer = end;
    if (ball.count == end) break;
    begin = end;
  }
  return kMostHops;
}

extern "C" __global__ void __launch_bounds__(kFillThreads)
    fill_balls(const offset_t* offsets, const Edge* edges, long long n, uint32* balls, uint32* radii) {
  __shared__ BallsOfWarp mine;
  __shared__ uint32 seen[kMostHops + 1];
  if (threadIdx.x <= kMostHops) seen[threadIdx.x] = 0;
  __syncthreads();
  const long long stride = static_cast<long long>(gridDim.x) * kFillThreads;
  for (long long base = static_cast<long long>(blockIdx.x) * kFillThreads; base < n;
       base += stride) {
    uint32* const table = reinterpret_cast<uint32*>(mine.table);
    for (int i = lane_id(); i < kSlots * 8; i += 32) table[i] = 0;
    __syncwarp();
    const long long v = base + lane_id();
    BallOfThread ball{mine.words + lane_id(), mine.table + lane_id(), 0};
    int outer = 0, radius = 0;
    if (v < n) {
      radius = search_ball(offsets, edges, static_cast<vertex_t>(v), ball, &outer);
      atomicAdd(&seen[radius], 1u);
    }
    __syncwarp();
    const int upto = n - base < 32 ? static_cast<int>(n - base) : 32;
    for (int owner = 0; owner < upto; ++owner) {
      const int filled = __shfl_sync(kAllLanes, ball.count, owner);
      const int from = __shfl_sync(kAllLanes, outer, owner);
      const bool longer = __shfl_sync(kAllLanes, radius, owner) == 0;
      for (int i = lane_id(); i < BALL_WIDTH; i += 32) {
        uint32 word = longer && i == 0 ? kLonger : kNone;
        if (i < filled) word = mine.words[i * kColumn + owner] | (i >= from ? kFarthest : 0u);
        balls[(base + owner) * BALL_WIDTH + i] = word;
      }
    }
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x <= kMostHops && seen[threadIdx.x]) atomicAdd(radii + threadIdx.x, seen[threadIdx.x]);
}
