// balls[n][BALL_WIDTH] of a graph, see balls.cuh, and radii[kMostHops + 1]: the number of vertices
// per radius of their balls.
//
// kGroup lanes search for a vertex: they settle the nearest unsettled target, a lane per edge of
// its row, until a row no longer fits; with `heads` (row_shortcuts.cuh) an edge may be several hops
// long. Found targets are stored in a hash table in shared memory, as the words of the ball. The
// groups of a warp proceed together.
//
// Launch: kFillThreads per block, any grid. Races: none; lanes of a group that find the same vertex
// agree by atomics.
//
// requires: algorithms/breadth_first/balls.cuh
// requires: cuda/primitives/deal.cuh
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/warp.cuh

constexpr int kFillThreads = 128;
constexpr int kGroup = 8;
constexpr int kSlots = BALL_WIDTH > 64 ? 256 : 128;  // of a table
static_assert(2 * BALL_WIDTH <= kSlots, "half of a table is free");
static_assert(kRowEdges == kGroup, "a lane takes an edge of a row");

struct Rows {
  const offset_t* offsets;
  const Edge* edges;
  const RowEdge* heads;  // or null
};

__device__ __forceinline__ int lane_of_group() { return lane_id() & (kGroup - 1); }

// Returns the part of a warp's votes that belongs to the caller's group.
__device__ __forceinline__ uint32 votes_of_group(bool vote) {
  return __ballot_sync(kAllLanes, vote) >> (lane_id() & ~(kGroup - 1)) & ((1u << kGroup) - 1);
}

// The table and the state shared by the lanes of a group.
struct Ball {
  uint32* table;
  vertex_t center;
  int count;

  // Returns the slot of a vertex, or the free slot for it.
  __device__ __forceinline__ uint32 find(vertex_t v, uint32 slot) const {
    while (true) {
      const uint32 there = const_cast<volatile uint32*>(table)[slot];
      if (there == kNone || (there & kVertexMask) == static_cast<uint32>(v)) return slot;
      slot = (slot + 1) & (kSlots - 1);
    }
  }

  // Adds or improves a target per lane. Returns false in all lanes of a group if one of them found
  // no room. Called by the full warp.
  __device__ __forceinline__ bool add(bool valid, vertex_t v, int hops) {
    const bool far = valid && hops > kMostHops;
    valid &= !far;
    uint32 slot = static_cast<uint32>(v) * 2654435769u >> 16 & (kSlots - 1);
    const uint32 word = kTakenOn | static_cast<uint32>(hops) << kVertexBits | static_cast<uint32>(v);
    bool fresh = false;
    if (valid) {
      slot = find(v, slot);
      fresh = const_cast<volatile uint32*>(table)[slot] == kNone;
      if (!fresh) atomicMin(table + slot, word);  // settled entries are less than any word with the sign
    }
    __syncwarp();
    const uint32 wanting = votes_of_group(fresh);
    const bool fits = count + __popc(wanting & ((1u << lane_of_group()) - 1)) < BALL_WIDTH;
    bool added = false;
    if (fresh && fits) {
      while (true) {
        const uint32 before = atomicCAS(table + slot, kNone, word);
        added = before == kNone;
        if (added) break;
        if ((before & kVertexMask) == static_cast<uint32>(v)) {  // another lane has the same target
          atomicMin(table + slot, word);
          break;
        }
        slot = (slot + 1) & (kSlots - 1);
      }
    }
    count += __popc(votes_of_group(added));
    return votes_of_group(far || (fresh && !fits)) == 0;
  }

  // Adds the row of u to the balls of the groups that settle a vertex. Called by the full warp.
  __device__ __forceinline__ bool add_row(const Rows& rows, bool settles, vertex_t u, int hops) {
    RowEdge edge{kNoVertex, 1};
    offset_t at = 0, end = 0;
    bool by_head = false, fits = true;
    if (settles && rows.heads) {
      edge = rows.heads[static_cast<long long>(u) * kRowEdges + lane_of_group()];
      by_head = edge.target != kLongRow;
    }
    if (settles && !by_head) {
      at = __ldg(rows.offsets + u);
      end = __ldg(rows.offsets + u + 1);
      if (end - at > 4 * BALL_WIDTH) fits = false, end = at;
      at += lane_of_group();
      edge = RowEdge{at < end ? load_edge(rows.edges, at).target : kNoVertex, 1};
    }
    while (true) {
      fits &= add(edge.target >= 0 && edge.target != center, edge.target, hops + edge.weight);
      at += kGroup;
      if (!__any_sync(kAllLanes, at < end)) return fits;
      edge = RowEdge{at < end ? load_edge(rows.edges, at).target : kNoVertex, 1};
    }
  }

  // Returns the nearest unsettled target as a word without its sign, or kNone. Called by the full
  // warp.
  __device__ __forceinline__ uint32 nearest(uint32* slot) const {
    uint32 least = kNone;
    for (int i = lane_of_group() * 4; i < kSlots; i += kGroup * 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(table + i);
      const uint32 words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (words[k] & kTakenOn && (words[k] ^ kTakenOn) < least) {
          least = words[k] ^ kTakenOn;
          *slot = i + k;
        }
    }
    return least;
  }

  // Writes the ball. Called by the full warp.
  __device__ __forceinline__ void write(uint32* words, bool searches, int radius) const {
    int filled = 0;
    for (int i = lane_of_group(); i < kSlots; i += kGroup) {
      const bool used = searches && radius && table[i] != kNone;
      const uint32 votes = votes_of_group(used);
      if (used) words[filled + __popc(votes & ((1u << lane_of_group()) - 1))] = table[i];
      filled += __popc(votes);
    }
    for (int i = filled + lane_of_group(); searches && i < BALL_WIDTH; i += kGroup)
      words[i] = i == 0 && radius == 0 ? kLonger : kNone;
    __syncwarp();
  }
};

__device__ __forceinline__ uint32 group_min(uint32 value) {
#pragma unroll
  for (int step = kGroup / 2; step; step /= 2) {
    const uint32 other = __shfl_xor_sync(kAllLanes, value, step);
    value = other < value ? other : value;
  }
  return value;
}

// Fills the balls of the groups that have a vertex. Returns the hops of the target whose row did
// not fit, 0 for the vertex itself. Called by the full warp.
__device__ __forceinline__ int search_ball(const Rows& rows, Ball& ball, bool searches) {
  for (int i = lane_of_group(); i < kSlots; i += kGroup) ball.table[i] = kNone;
  __syncwarp();
  bool fits = ball.add_row(rows, searches, ball.center, 0);
  int radius = fits ? kMostHops : 0;
  bool open = searches && fits;
  while (__any_sync(kAllLanes, open)) {
    __syncwarp();
    uint32 slot = 0;
    const uint32 own = ball.nearest(&slot);
    const uint32 least = group_min(own);
    open &= least != kNone;
    __syncwarp();
    fits = ball.add_row(rows, open, static_cast<vertex_t>(least & kVertexMask), hops_of(least));
    if (open && !fits) {
      radius = hops_of(least);
      open = false;
    }
    if (open && own == least) ball.table[slot] = least;
  }
  __syncwarp();
  return radius;
}

extern "C" __global__ void __launch_bounds__(kFillThreads)
    fill_balls(const offset_t* offsets, const Edge* edges, const RowEdge* heads, long long n,
               uint32* balls, uint32* radii) {
  __shared__ uint4 tables[kFillThreads / kGroup][kSlots / 4];
  __shared__ uint32 seen[kMostHops + 1];
  const Rows rows{offsets, edges, heads};
  if (threadIdx.x <= kMostHops) seen[threadIdx.x] = 0;
  __syncthreads();
  Ball ball{reinterpret_cast<uint32*>(tables[threadIdx.x / kGroup]), 0, 0};
  for (long long first = 32 * grid_warp<long long>(); first < n;
       first += 32 * grid_warps<long long>()) {
    const long long candidate = first + lane_id();
    const bool passed = candidate < n && heads &&
                        __ldg(&heads[candidate * kRowEdges + kRowEdges - 1].target) == kRemovedRow;
    for (uint32 left = __ballot_sync(kAllLanes, passed); left; left &= left - 1)
      for (int i = lane_id(); i < BALL_WIDTH; i += 32)
        balls[(first + __ffs(left) - 1) * BALL_WIDTH + i] = i == 0 ? kLonger : kNone;
    for (uint32 left = __ballot_sync(kAllLanes, candidate < n && !passed); left;) {
      uint32 own = left;  // a vertex for each group
      for (int k = 0; k < 32 / kGroup; ++k, left &= left - 1)
        if (k < lane_id() / kGroup) own &= own - 1;
      ball.center = static_cast<vertex_t>(first + (own ? __ffs(own) - 1 : 0));
      ball.count = 0;
      const int radius = search_ball(rows, ball, own);
      if (own && lane_of_group() == 0) atomicAdd(&seen[radius], 1u);
      ball.write(balls + static_cast<long long>(ball.center) * BALL_WIDTH, own, radius);
    }
  }
  __syncthreads();
  if (threadIdx.x <= kMostHops && seen[threadIdx.x]) atomicAdd(radii + threadIdx.x, seen[threadIdx.x]);
}
