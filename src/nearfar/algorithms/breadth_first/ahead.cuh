// Running ahead: the breadth-first search of roads and grids, where a level has almost nothing to do.
//
// Once a frontier has stayed small for kPatience levels, the search goes on without levels until its
// end: each block takes its share of the frontier into shared memory and advances it round by round
// with a block barrier only, distances falling by atomic minimum as in a label-correcting search.
// Blocks that run ahead of others may give a vertex a distance that another block lowers later; it is
// then taken again: repeated work, never a wrong answer. After ahead_rounds rounds, or when a list
// outgrows kAheadLeave, what is left goes to the global queue and is dealt anew.
//
// A round is one trip to memory: the lists hold edges (target and the distance that it would get), and
// rows[n][ROW_WIDTH] holds the first targets of every vertex at a place that the vertex itself gives.
// So the row of a target is read while the atomic on its distance is under way, one edge per
// thread. Rows that do not fit have kLonger in their last slot and are read from the edge array;
// beyond kThinDegree edges the vertex goes to the global queue. A frontier too large for the lists,
// or with such a vertex, takes a step over the whole device (relax_step), which reads rows as
// pushing does. When a queue overflows, all reached vertices are relaxed (the queue's entries are a
// subset of them).
//
// Races, harmless: distances are read relaxed and may be old: then the atomic answers.
//
// requires: algorithms/breadth_first/search_state.cuh
// requires: cuda/grid_barrier.cuh
#pragma once

#ifndef ROW_WIDTH
#define ROW_WIDTH 4
#endif

#ifndef PATIENCE
#define PATIENCE 16
#endif
constexpr int kPatience = PATIENCE;  // levels before the search runs ahead
constexpr uint32 kAheadLeave = 1024;  // edges of a block's list
constexpr vertex_t kNoTarget = -1, kLonger = -2;

struct Row {
  vertex_t target[ROW_WIDTH];
};

__device__ __forceinline__ Row load_row(const vertex_t* rows, vertex_t v) {
  Row row;
  const vertex_t* const at = rows + static_cast<long long>(v) * ROW_WIDTH;
#pragma unroll
  for (int i = 0; i < ROW_WIDTH * static_cast<int>(sizeof(vertex_t)) / 16; ++i) {
    if constexpr (sizeof(vertex_t) == 4) {
      const int4 part = load_early(reinterpret_cast<const int4*>(at) + i);
      memcpy(row.target + 4 * i, &part, 16);
    } else {
      const longlong2 part = load_early(reinterpret_cast<const longlong2*>(at) + i);
      memcpy(row.target + 2 * i, &part, 16);
    }
  }
  return row;
}

// What a step of the search that runs ahead writes to.
struct AheadOut {
  AheadEntry* queue;
  count_t* counter;
  int* least;          // distance in the queue
  uint32* long_rows;   // 1 when a vertex of it does not fit the lists
  AheadEntry* heavy;   // vertices beyond kHeavy edges, of the present step
  uint32* heavy_counter;
  count_t capacity;
};

// The lanes that take put (v, d) into the global queue. The whole warp calls it.
__device__ __forceinline__ void enqueue(const AheadOut& out, bool take, vertex_t v, int d) {
  const uint32 takers = __ballot_sync(kAllLanes, take);
  if (takers == 0) return;
  count_t base = 0;
  if (lane_id() == 0) base = atomicAdd(out.counter, static_cast<count_t>(__popc(takers)));
  base = __shfl_sync(kAllLanes, base, 0) + __popc(takers & ((1u << lane_id()) - 1));
  if (!take) return;
  if (base < out.capacity) out.queue[base] = AheadEntry{v, d};
  if (d < load_relaxed(out.least)) atomicMin(out.least, d);
}

struct AheadList {
  AheadEntry* edges;
  uint32* filled;
  uint32 room;
};

// The lanes that take put the edges of their vertex v at distance d into the block's list. Returns
// whether the block should end its step. The whole warp calls it.
__device__ __forceinline__ bool put_rows(const Search& s, const AheadOut& out, const AheadList& list,
                                         bool take, vertex_t v, int d, const Row& row) {
  int count = 0;
#pragma unroll
  for (int i = 0; i < ROW_WIDTH; ++i) count += take && row.target[i] >= 0;
  const int upto = warp_inclusive_sum(count);
  uint32 base = 0;
  if (lane_id() == 31 && upto) base = atomicAdd(list.filled, static_cast<uint32>(upto));
  uint32 at = __shfl_sync(kAllLanes, base, 31) + upto - count;
  bool ends = at + count > list.room && count;
#pragma unroll
  for (int i = 0; i < ROW_WIDTH; ++i)
    if (i < count && at + i < list.room) list.edges[at + i] = AheadEntry{row.target[i], d + 1};
  const bool longer = take && row.target[ROW_WIDTH - 1] == kLonger;
  uint32 rest = __ballot_sync(kAllLanes, longer);
  while (rest) {
    const int lane = __ffs(rest) - 1;
    rest &= rest - 1;
    const vertex_t owner = __shfl_sync(kAllLanes, v, lane);
    const int next = __shfl_sync(kAllLanes, d, lane) + 1;
    const offset_t begin = __ldg(s.offsets + owner) + (ROW_WIDTH - 1);
    const offset_t end = __ldg(s.offsets + owner + 1);
    if (end - begin > kThinDegree) {
      ends |= lane_id() == lane;
      continue;
    }
    const int size = static_cast<int>(end - begin);
    if (lane_id() == 0) base = atomicAdd(list.filled, static_cast<uint32>(size));
    const uint32 first = __shfl_sync(kAllLanes, base, 0);
    for (int j = lane_id(); j < size && first + j < list.room; j += 32)
      list.edges[first + j] = AheadEntry{load_edge(s.edges, begin + j).target, next};
    ends |= lane_id() == lane && first + size > list.room;
  }
  if (ends) *out.long_rows = 1;
  enqueue(out, ends, v, d);
  return ends;
}

// The threads' edges (t, d): relaxed, and the rows of what improved put into the list.
__device__ __forceinline__ bool advance(const Search& s, const AheadOut& out, const AheadList& next,
                                        const AheadEntry* now, uint32 count, int limit,
                                        int* deepest) {
  bool ends = false;
  for (uint32 base = threadIdx.x & ~31u; base < count; base += blockDim.x) {
    const uint32 slot = base + lane_id();
    AheadEntry edge{0, 0};
    Row row;
    bool improved = false;
    if (slot < count) {
      edge = now[slot];
      row = load_row(s.rows, edge.vertex);
      improved = edge.distance < atomicMin(s.distance + edge.vertex, edge.distance);
    }
    if (improved && edge.distance > *deepest) *deepest = edge.distance;
    ends |= put_rows(s, out, next, improved && edge.distance < limit, edge.vertex, edge.distance, row);
  }
  return ends;
}

// Every thread of every block calls it; a block without a share returns at once.
__device__ __noinline__ void ahead_step(const Search& given, const AheadOut& to,
                                        const AheadEntry* queue, count_t size, int limit, int rounds,
                                        void* shared, uint64* edges_seen, int* deepest) {
  __shared__ uint32 filled[3];
  const Search s = given;  // copies, so that nothing is read again in the chain of a round
  const AheadOut out = to;
  const count_t share = (size + gridDim.x - 1) / gridDim.x;
  const count_t start = share * blockIdx.x;
  const uint32 mine = start >= size          ? 0u
                      : size - start < share ? static_cast<uint32>(size - start)
                                             : static_cast<uint32>(share);
  if (mine == 0) return;
  AheadEntry* const edges = static_cast<AheadEntry*>(shared);
  const uint32 room = static_cast<uint32>(s.ahead_room);
  if (threadIdx.x < 3) filled[threadIdx.x] = 0;
  __syncthreads();
  bool ends = false;
  for (uint32 base = threadIdx.x & ~31u; base < mine; base += blockDim.x) {
    const uint32 i = base + lane_id();
    AheadEntry entry{0, 0};
    Row row;
    bool fresh = false;
    if (i < mine) {
      entry.vertex = __ldcg(&queue[start + i].vertex);
      entry.distance = __ldcg(&queue[start + i].distance);
      row = load_row(s.rows, entry.vertex);
      fresh = load_relaxed(s.distance + entry.vertex) == entry.distance;
    }
    ends |= put_rows(s, out, AheadList{edges, &filled[0], room}, fresh && entry.distance < limit,
                     entry.vertex, entry.distance, row);
  }
  uint32 seen = 0, count;
  for (int round = 0;; ++round) {
    const bool over = __syncthreads_or(ends);
    const uint32 made = *const_cast<volatile uint32*>(&filled[round % 3]);
    count = made < room ? made : room;
    if (over || count == 0 || round >= rounds || count > kAheadLeave) {
      const AheadEntry* const left = edges + (round & 1) * room;
      for (uint32 base = threadIdx.x & ~31u; base < count; base += blockDim.x) {
        const uint32 slot = base + lane_id();
        AheadEntry edge{0, 0};
        bool improved = false;
        if (slot < count) {
          edge = left[slot];
          improved = edge.distance < atomicMin(s.distance + edge.vertex, edge.distance);
        }
        if (improved && edge.distance > *deepest) *deepest = edge.distance;
        enqueue(out, improved && edge.distance < limit, edge.vertex, edge.distance);
      }
      break;
    }
    if (threadIdx.x == 0) filled[(round + 2) % 3] = 0;
    const AheadList next{edges + ((round + 1) & 1) * room, &filled[(round + 1) % 3], room};
    ends = advance(s, out, next, edges + (round & 1) * room, count, limit, deepest);
    if (threadIdx.x == 0) seen += count;
  }
  if (threadIdx.x == 0) *edges_seen += seen + count;
}
