// balls[n][BALL_WIDTH] of a graph, see balls.cuh, and radii[kMostHops + 1]: how many vertices have a ball of each radius.
//
// One thread per vertex searches by hops until the row of the next target does not fit any more; with `heads` (row_shortcuts.cuh) an
// edge may be several hops long. What it has found lies in shared memory, in a column of its own, beside a table of
// twice as many bytes that finds a target among them by its hash. A warp collects vertices that have a
// ball, clears the tables and writes the words of its vertices together.
//
// Launch: one warp per block, any grid. Races: none.
//
// requires: algorithms/breadth_first/balls.cuh
// requires: cuda/edges.cuh
// requires: cuda/warp.cuh

constexpr int kFillThreads = 32;
constexpr int kSlots = BALL_WIDTH > 64 ? 256 : 128;  // of a table
constexpr int kColumn = 33;  // so that neither words of a vertex nor vertices share banks
static_assert(BALL_WIDTH <= 128, "a slot of a table holds the place of a word in a byte, and half of them are free");

struct BallsOfWarp {
  uint32 words[BALL_WIDTH * kColumn];
  alignas(16) unsigned char table[kSlots * 32];  // 0, or one more than the place of a word
};

struct Rows {
  const offset_t* offsets;
  const Edge* edges;
  const RowEdge* heads;  // or null
};

struct BallOfThread {
  uint32* words;
  unsigned char* table;
  int count;

  __device__ __forceinline__ uint32 word(int i) const { return words[i * kColumn]; }

  // Adds t, or brings it nearer. False where it is new and there is no room for it.
  __device__ __forceinline__ bool add(vertex_t t, int hops) {
    const uint32 word = static_cast<uint32>(t) | static_cast<uint32>(hops) << kVertexBits;
    uint32 slot = static_cast<uint32>(t) * 2654435769u >> 16 & (kSlots - 1);
    while (const int place = table[slot * 32]) {
      uint32* const there = words + (place - 1) * kColumn;
      if (((*there ^ word) & kVertexMask) == 0) {
        if (word < *there) *there = word;
        return true;
      }
      slot = (slot + 1) & (kSlots - 1);
    }
    if (count == BALL_WIDTH || hops > kMostHops) return false;
    words[count * kColumn] = word;
    table[slot * 32] = static_cast<unsigned char>(++count);
    return true;
  }

  // Adds the targets of u. False where there is no room for them: then none is new.
  __device__ __forceinline__ bool add_row(const Rows& rows, vertex_t u, vertex_t center, int hops) {
    const int before = count;
    const bool fits = add_edges(rows, u, center, hops);
    if (!fits) count = before;  // nobody asks the table any more
    return fits;
  }

  __device__ __forceinline__ bool add_edges(const Rows& rows, vertex_t u, vertex_t center, int hops) {
    if (rows.heads) {
      const RowEdge* const row = rows.heads + static_cast<long long>(u) * kRowEdges;
      RowEdge edge[kRowEdges];
#pragma unroll
      for (int j = 0; j < kRowEdges; j += 2)
        *reinterpret_cast<int4*>(edge + j) = __ldg(reinterpret_cast<const int4*>(row + j));
      if (edge[0].target != kLongRow) {
#pragma unroll
        for (int j = 0; j < kRowEdges; ++j)
          if (edge[j].target >= 0 && edge[j].target != center && !add(edge[j].target, hops + edge[j].weight))
            return false;
        return true;
      }
    }
    const offset_t last = __ldg(rows.offsets + u + 1);
    offset_t j = __ldg(rows.offsets + u);
    if (last - j > 4 * BALL_WIDTH) return false;
    for (; j < last; ++j) {
      const vertex_t t = load_edge(rows.edges, j).target;
      if (t != center && !add(t, hops + 1)) return false;
    }
    return true;
  }
};

// Where the search of a ball stopped: words of fewer hops than `hops`, and of as many before `place`, are not taken on.
struct Stopped {
  int hops, place;
};

// Fills the ball of v. At 0 hops it stops where not even the row fits.
__device__ __forceinline__ Stopped search_ball(const Rows& rows, vertex_t v, BallOfThread& ball) {
  if (!ball.add_row(rows, v, v, 0)) return Stopped{0, 0};
  int first = 0;  // those before it lie within
  for (int hops = 1; hops <= kMostHops; ++hops) {
    while (first < ball.count && hops_of(ball.word(first)) < hops) ++first;
    if (first == ball.count) break;
    for (int i = first; i < ball.count; ++i) {
      const uint32 word = ball.word(i);
      if (hops_of(word) == hops && !ball.add_row(rows, static_cast<vertex_t>(word & kVertexMask), v, hops))
        return Stopped{hops, i};
    }
  }
  return Stopped{kMostHops + 1, 0};
}

extern "C" __global__ void __launch_bounds__(kFillThreads)
    fill_balls(const offset_t* offsets, const Edge* edges, const RowEdge* heads, long long n, uint32* balls,
               uint32* radii) {
  __shared__ BallsOfWarp mine;
  __shared__ uint32 seen[kMostHops + 1];
  __shared__ vertex_t waiting[2 * kFillThreads];
  const Rows rows{offsets, edges, heads};
  if (threadIdx.x <= kMostHops) seen[threadIdx.x] = 0;
  __syncthreads();
  const long long stride = static_cast<long long>(gridDim.x) * kFillThreads;
  int filled = 0;
  for (long long base = static_cast<long long>(blockIdx.x) * kFillThreads; base < n + stride; base += stride) {
    const long long candidate = base + lane_id();
    const bool there = candidate < n;
    const bool passed =
        there && heads && __ldg(&heads[candidate * kRowEdges + kRowEdges - 1].target) == kRemovedRow;
    const bool takes = there && !passed;
    const uint32 takers = __ballot_sync(kAllLanes, takes);
    for (uint32 left = __ballot_sync(kAllLanes, passed); left; left &= left - 1)
      for (int i = lane_id(); i < BALL_WIDTH; i += 32)
        balls[(base + __ffs(left) - 1) * BALL_WIDTH + i] = i == 0 ? kLonger : kNone;
    if (takes) waiting[filled + __popc(takers & ((1u << lane_id()) - 1))] = static_cast<vertex_t>(candidate);
    filled += __popc(takers);
    __syncwarp();
    const int upto = filled < kFillThreads ? filled : kFillThreads;
    if (upto < kFillThreads && base < n) continue;  // until there is one for each lane
    uint32* const table = reinterpret_cast<uint32*>(mine.table);
    for (int i = lane_id(); i < kSlots * 8; i += 32) table[i] = 0;
    __syncwarp();
    BallOfThread ball{mine.words + lane_id(), mine.table + lane_id(), 0};
    Stopped stopped{0, 0};
    const vertex_t v = lane_id() < upto ? waiting[lane_id()] : vertex_t(0);
    if (lane_id() < upto) {
      stopped = search_ball(rows, v, ball);
      atomicAdd(&seen[stopped.hops < kMostHops ? stopped.hops : kMostHops], 1u);
    }
    __syncwarp();
    for (int owner = 0; owner < upto; ++owner) {
      const int count = __shfl_sync(kAllLanes, ball.count, owner);
      const int hops = __shfl_sync(kAllLanes, stopped.hops, owner);
      const int place = __shfl_sync(kAllLanes, stopped.place, owner);
      const long long row = __shfl_sync(kAllLanes, v, owner);
      for (int i = lane_id(); i < BALL_WIDTH; i += 32) {
        uint32 word = hops == 0 && i == 0 ? kLonger : kNone;
        if (i < count) {
          word = mine.words[i * kColumn + owner];
          if (hops_of(word) > hops || (hops_of(word) == hops && i >= place)) word |= kTakenOn;
        }
        balls[row * BALL_WIDTH + i] = word;
      }
    }
    __syncwarp();
    filled -= upto;
    if (lane_id() < filled) waiting[lane_id()] = waiting[kFillThreads + lane_id()];
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x <= kMostHops && seen[threadIdx.x]) atomicAdd(radii + threadIdx.x, seen[threadIdx.x]);
}
