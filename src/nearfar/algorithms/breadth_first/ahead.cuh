// Running ahead: breadth-first search of roads and grids, whose levels have very few vertices.
//
// On a graph whose frontiers stay small the search does not proceed by levels: each block takes its
// share of the frontier into shared memory and advances it round by round with a block barrier
// only, distances falling by atomic minimum as in a label-correcting search. Blocks that run ahead
// of others may give a vertex a distance that another block lowers later; it is then processed
// again, which costs time but is never wrong. After ahead_rounds rounds, or when a list outgrows
// kAheadLeave, the remaining entries go to the global queue and are distributed again.
//
// A round takes several hops. A warp takes a vertex, and its lanes the targets that lie around it
// with their hops (balls.cuh): all get their distances at once, and the search continues only from
// those whose edges may lead out of the ball. So at the end no edge can be relaxed, whatever the
// balls contain. A round waits for memory twice: for the ball, and for the atomics on its
// distances. If most balls have the same radius, the search continues from vertices at multiples of
// ball_hops: otherwise waves that stop at different distances would meet and each process every
// vertex. On other graphs blocks use full balls, with few rounds between distributions, and if
// there are many entries, those far beyond the nearest wait. Rows may skip vertices of few edges
// (row_shortcuts.cuh); these get their distances at the end.
//
// A row that does not fit a ball is read from the edge array, one hop of it; beyond kThinDegree
// edges the vertex goes to the global queue. A frontier too large for the lists, or with such a
// vertex, takes a step over the whole device (relax_step), which reads rows as pushing does. When a
// queue overflows, all reached vertices are relaxed (the queue's entries are a subset of them).
//
// requires: algorithms/breadth_first/balls.cuh
// requires: algorithms/breadth_first/search_state.cuh
#pragma once

constexpr uint32 kAheadLeave = 1024;  // entries of a block's list
constexpr uint32 kAheadAlone = 64;  // the same while some blocks have no share
constexpr uint32 kAheadRoom = 4096;   // room for the round that exceeds it
constexpr count_t kCrowd = 2;  // entries per warp beyond which the far ones wait
constexpr int kBallWords = BALL_WIDTH / 32;  // per lane

// Outputs of a step that runs ahead.
struct AheadOut {
  AheadEntry* queue;
  count_t* counter;
  int* least;          // distance in the queue
  uint32* long_rows;   // 1 when a vertex of it does not fit the lists
  AheadEntry* heavy;   // vertices with more than kHeavy edges, of this step
  uint32* heavy_counter;
  count_t capacity;
};

// Puts (v, d) of the lanes with `take` into the global queue. Called by the full warp.
__device__ __forceinline__ void enqueue(const AheadOut& out, bool take, vertex_t v, int d) {
  const uint32 takers = __ballot_sync(kAllLanes, take);
  if (takers == 0) return;
  count_t base = 0;
  if (lane_id() == 0) base = atomicAdd(out.counter, static_cast<count_t>(__popc(takers)));
  const int least = warp_min(take ? d : 0x7fffffff);
  if (lane_id() == 0) atomicMin(out.least, least);
  base = __shfl_sync(kAllLanes, base, 0) + __popc(takers & ((1u << lane_id()) - 1));
  if (take && base < out.capacity) out.queue[base] = AheadEntry{v, d};
}

struct AheadList {
  AheadEntry* entries;
  uint32* filled;
};

// Counters of a thread that runs ahead.
struct AheadCounts {
  uint32 seen;
  int deepest;
};

// Puts (v[u], d[u]) of the lanes with take[u] into the block's list, or into the queue if it is
// full. Called by the full warp.
template <int N>
__device__ __forceinline__ void put(const AheadOut& out, const AheadList& list,
                                    const bool (&take)[N], const vertex_t (&v)[N],
                                    const int (&d)[N]) {
  uint32 takers[N], all = 0;
#pragma unroll
  for (int u = 0; u < N; ++u) {
    takers[u] = __ballot_sync(kAllLanes, take[u]);
    all += __popc(takers[u]);
  }
  if (all == 0) return;
  uint32 base = 0;
  if (lane_id() == 0) base = atomicAdd(list.filled, all);
  base = __shfl_sync(kAllLanes, base, 0);
  const bool over = base + all > kAheadRoom;
#pragma unroll
  for (int u = 0; u < N; ++u) {
    const uint32 at = base + __popc(takers[u] & ((1u << lane_id()) - 1));
    if (take[u] && at < kAheadRoom) list.entries[at] = AheadEntry{v[u], d[u]};
    if (over) enqueue(out, take[u] && at >= kAheadRoom, v[u], d[u]);
    base += __popc(takers[u]);
  }
}

// Relaxes one edge per lane; its target goes to the list if it improved.
__device__ __forceinline__ void relax_lane(const Search& s, const AheadOut& out, const AheadList& next,
                                           bool there, vertex_t target, int d, int limit,
                                           AheadCounts& counts) {
  bool improved[1] = {false};
  if (there && d <= limit) {
    improved[0] = d < atomicMin(s.distance + target, d);
    ++counts.seen;
  }
  if (improved[0] && d > counts.deepest) counts.deepest = d;
  put(out, next, improved, {target}, {d});
}

// Relaxes the edges of a vertex without a ball.
__device__ __noinline__ AheadCounts expand_row(const Search& s, const AheadOut& out,
                                               const AheadList& next, AheadEntry entry, int limit) {
  AheadCounts counts{0, 0};
  if (s.heads) {
    RowEdge edge{kNoVertex, 0};
    const RowEdge* const row = s.heads + static_cast<long long>(entry.vertex) * kRowEdges;
    if (lane_id() < kRowEdges) edge = row[lane_id()];
    if (__shfl_sync(kAllLanes, edge.target, 0) != kLongRow) {
      const int d = entry.distance + edge.weight;
      relax_lane(s, out, next, edge.target >= 0, edge.target, d, limit, counts);
      return counts;
    }
  }
  const offset_t begin = __ldg(s.offsets + entry.vertex);
  const offset_t end = __ldg(s.offsets + entry.vertex + 1);
  if (end - begin > kThinDegree) {
    if (lane_id() == 0) *out.long_rows = 1;
    enqueue(out, lane_id() == 0, entry.vertex, entry.distance);
    return counts;
  }
  for (offset_t first = begin; first < end; first += 32) {
    const offset_t j = first + lane_id();
    const vertex_t t = j < end ? load_edge(s.edges, j).target : kNoVertex;
    relax_lane(s, out, next, j < end, t, entry.distance + 1, limit, counts);
  }
  return counts;
}

// Expands the balls of `count` vertices, one per warp; the list receives the vertices of the next
// round.
__device__ __forceinline__ void expand(const Search& s, const AheadOut& out, const AheadList& next,
                                       const AheadEntry* now, uint32 count, int limit,
                                       AheadCounts& counts) {
  // Copies, so that they are not read again in the chain of a round.
  const uint32* const balls = s.balls;
  int* const distance = s.distance;
  const int every = static_cast<int>(s.ball_hops);
  for (uint32 i = threadIdx.x >> 5; i < count; i += blockDim.x >> 5) {
    const AheadEntry entry = now[i];
    const uint32* const ball = balls + static_cast<long long>(entry.vertex) * BALL_WIDTH;
    const int whole = every - entry.distance % every;
    const int reach = whole < kMostHops ? whole : kMostHops;  // words beyond it have no target
    const int present = load_relaxed(distance + entry.vertex);
    uint32 word[kBallWords];
    int before[kBallWords];
#pragma unroll
    for (int u = 0; u < kBallWords; ++u)
      word[u] = static_cast<uint32>(load_early(reinterpret_cast<const int*>(ball) + u * 32 + lane_id()));
    // An entry is stale if its vertex improved: the entry with that distance is used instead.
    if (__any_sync(kAllLanes, present < entry.distance) || entry.distance >= limit) continue;
    if (__shfl_sync(kAllLanes, word[0], 0) == kLonger) {
      const AheadCounts more = expand_row(s, out, next, entry, limit);
      counts.seen += more.seen;
      if (more.deepest > counts.deepest) counts.deepest = more.deepest;
      continue;
    }
    vertex_t target[kBallWords];
    int d[kBallWords];
    bool nearer[kBallWords], takes_on[kBallWords];
#pragma unroll
    for (int u = 0; u < kBallWords; ++u) {
      const int hops = hops_of(word[u]);
      target[u] = static_cast<vertex_t>(word[u] & kVertexMask);
      d[u] = entry.distance + hops;
      nearer[u] = hops <= reach && d[u] <= limit;
      takes_on[u] = hops == reach || word[u] & kTakenOn;
      counts.seen += nearer[u];
    }
    // Most targets are behind the wave, and a read is cheaper than an atomic that changes nothing.
#pragma unroll
    for (int u = 0; u < kBallWords; ++u)
      before[u] = nearer[u] ? load_relaxed(distance + target[u]) : 0;
#pragma unroll
    for (int u = 0; u < kBallWords; ++u) nearer[u] = d[u] < before[u];
#pragma unroll
    for (int u = 0; u < kBallWords; ++u)
      if (nearer[u] && takes_on[u])
        expect_ball(balls, target[u]);
#pragma unroll
    for (int u = 0; u < kBallWords; ++u)
      before[u] = nearer[u] ? atomicMin(distance + target[u], d[u]) : 0;
#pragma unroll
    for (int u = 0; u < kBallWords; ++u) {
      nearer[u] = d[u] < before[u];
      if (nearer[u] && d[u] > counts.deepest) counts.deepest = d[u];
      takes_on[u] = takes_on[u] && nearer[u];
    }
    put(out, next, takes_on, target, d);
  }
}

// Takes a block's share of the queue. If there are many entries, stale ones are dropped and those
// beyond `bound` wait in the queue, because they may be lowered before their turn.
__device__ __forceinline__ uint32 take_share(const Search& s, const AheadOut& out,
                                             AheadEntry* entries, uint32* filled,
                                             const AheadEntry* share, uint32 count, bool crowded,
                                             int bound) {
  for (uint32 first = threadIdx.x & ~31u; first < count; first += blockDim.x) {
    const uint32 i = first + lane_id();
    AheadEntry entry{0, 0};
    if (i < count) entry = AheadEntry{__ldcg(&share[i].vertex), __ldcg(&share[i].distance)};
    if (!crowded) {
      if (i < count) entries[i] = entry;
      continue;
    }
    const bool fresh = i < count && load_relaxed(s.distance + entry.vertex) == entry.distance;
    enqueue(out, fresh && entry.distance > bound, entry.vertex, entry.distance);
    const bool taken = fresh && entry.distance <= bound;
    put<1>(out, AheadList{entries, filled}, {taken}, {entry.vertex}, {entry.distance});
  }
  __syncthreads();
  return crowded ? *const_cast<volatile uint32*>(filled) : count;
}

// Called by every thread of every block; a block without a share returns at once.
__device__ __noinline__ void ahead_step(const Search& s, const AheadOut& out,
                                        const AheadEntry* queue, count_t size, int least, int limit,
                                        int rounds, void* shared, AheadCounts* total) {
  __shared__ uint32 filled[3];
  AheadCounts counts = *total;
  const count_t share = (size + gridDim.x - 1) / gridDim.x;
  const count_t start = share * blockIdx.x;
  if (start >= size) return;
  uint32 count = static_cast<uint32>(size - start < share ? size - start : share);
  AheadEntry* const entries = static_cast<AheadEntry*>(shared);
  if (threadIdx.x < 3) filled[threadIdx.x] = 0;
  __syncthreads();
  const int ahead = static_cast<int>(s.ahead_of_least);
  const int bound = least < 0x7fffffff - ahead ? least + ahead : 0x7fffffff;
  const bool crowded = size > kCrowd * grid_warps<count_t>();
  count = take_share(s, out, entries, filled, queue + start, count, crowded, bound);
  const uint32 leave = size < gridDim.x ? kAheadAlone : kAheadLeave;
  int round = 0;
  for (; round < rounds && count && (round == 0 || count <= leave); ++round) {
    if (threadIdx.x == 0) filled[(round + 2) % 3] = 0;
    const AheadList next{entries + ((round + 1) & 1) * kAheadRoom, &filled[(round + 1) % 3]};
    expand(s, out, next, entries + (round & 1) * kAheadRoom, count, limit, counts);
    __syncthreads();
    count = *const_cast<volatile uint32*>(&filled[(round + 1) % 3]);
    count = count < kAheadRoom ? count : kAheadRoom;
  }
  const AheadEntry* const left = entries + (round & 1) * kAheadRoom;
  for (uint32 base = threadIdx.x & ~31u; base < count; base += blockDim.x) {
    const uint32 i = base + lane_id();
    const bool mine = i < count;
    const AheadEntry entry = mine ? left[i] : AheadEntry{0, 0};
    enqueue(out, mine && entry.distance < limit, entry.vertex, entry.distance);
  }
  *total = counts;
}
