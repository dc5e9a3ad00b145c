// The thin step of the breadth-first search: a few blocks advance a small frontier for many levels.
//
// On roads and grids a level is a chain of dependent reads and a barrier, with little between. Here
// each block keeps its part of the frontier in shared memory, with row bounds, and what it finds
// stays with it: nothing goes through the global queue. A level is edge, then atomic minimum on the
// distance (the row bounds of the target are read meanwhile), then a barrier of the blocks that
// take part; one block needs no barrier but its own. The step ends when a list outgrows kThinLeave,
// when blocks are too many for what is left, or at a row that wants more than row_lanes lanes.
//
// The barrier is one atomic on a word that counts arrivals (bits 24 and up), blocks that want to
// end (16 to 23) and entries (0 to 15, at most kThinLeave per block): so the decision comes with
// the barrier and needs no further read. Four words rotate; a word is reset two rounds after its
// use.
//
// requires: algorithms/breadth_first/search_state.cuh
// requires: cuda/grid_barrier.cuh
#pragma once

struct ThinEntry {
  vertex_t vertex;
  offset_t begin;
  int degree;
};

struct ThinState {
  int level;       // that the next step gives
  uint32 round;    // of the blocks' barrier, never reset
  uint64 reached;  // vertices found and expanded within the step
};

// Thread 0 of each of `blocks` blocks. Returns the full word.
__device__ __forceinline__ uint32 meet(Control* control, uint32 round, uint32 blocks, uint32 word) {
  uint32* const here = &control->meetings[round & 3];
  if (blockIdx.x == 0) control->meetings[(round + 2) & 3] = 0;
  __threadfence();
  atomicAdd(here, word);
  uint32 now;
  while ((now = load_acquire(here)) >> 24 < blocks) {
  }
  __threadfence();
  return now;
}

__device__ __forceinline__ void thin_level(const Search& s, const Found& out, uint32* visited,
                                           int level, const ThinEntry* now, uint32 count,
                                           ThinEntry* next, uint32* filled, uint32* want_end,
                                           uint64* edges_seen) {
  const int width = static_cast<int>(s.row_lanes);
  const uint32 room = static_cast<uint32>(s.thin_capacity);
  const uint32 rows = 32 / width, warps = blockDim.x >> 5;
  const int leader = lane_id() & ~(width - 1);
  uint32 seen = 0;
  for (uint32 base = (threadIdx.x >> 5) * rows; base < count; base += warps * rows) {
    const uint32 slot = base + lane_id() / width;
    ThinEntry entry{};
    if (slot < count) entry = now[slot];
    for (int j = lane_id() - leader; __any_sync(kAllLanes, j < entry.degree); j += width) {
      ThinEntry fresh{};
      bool improved = false;
      if (j < entry.degree) {
        fresh.vertex = load_edge(s.edges, entry.begin + j).target;
        fresh.begin = load_early(s.offsets + fresh.vertex);
        const offset_t end = load_early(s.offsets + fresh.vertex + 1);
        improved = level < atomicMin(s.distance + fresh.vertex, level);
        const offset_t degree = end - fresh.begin;
        fresh.degree = degree > 0x7fffffff ? 0x7fffffff : static_cast<int>(degree);
        ++seen;
      }
      const uint32 takers = __ballot_sync(kAllLanes, improved);
      if (takers == 0) continue;
      uint32 at = 0;
      if (lane_id() == 0) at = atomicAdd(filled, static_cast<uint32>(__popc(takers)));
      at = __shfl_sync(kAllLanes, at, 0) + __popc(takers & ((1u << lane_id()) - 1));
      if (!improved) continue;
      atomicOr(visited + (fresh.vertex >> 5), bit_of(fresh.vertex));
      if (fresh.degree > kThinDegree || at >= room) *want_end = 1;
      if (at < room) {
        next[at] = fresh;
      } else {  // no room: to the queue at once, behind which the step's end puts the others
        out.queue[atomicAdd(out.counter, count_t(1))] = fresh.vertex;
        atomicAdd(out.ahead, degree_of(s, fresh.vertex));
        if (fresh.degree > kThinDegree) *out.long_rows = 1;
      }
    }
  }
  *edges_seen += seen;
}

// Every thread of every block calls it; those that take no part return at once.
__device__ __noinline__ void thin_step(const Search& s, const Found& out, uint32* visited,
                                       const vertex_t* frontier, uint32 size, ThinState state,
                                       uint32 slot, long long last_level, void* shared,
                                       uint64* edges_seen) {
  __shared__ uint32 filled[3];
  __shared__ uint32 want_end, agreed;
  __shared__ count_t flush_base;
  const uint32 most = gridDim.x < kMostThinBlocks ? gridDim.x : kMostThinBlocks;
  const uint32 wanted = (size + kThinShare - 1) / kThinShare;
  const uint32 blocks = wanted < most ? wanted : most;
  if (blockIdx.x >= blocks) return;
  const uint32 share = (size + blocks - 1) / blocks;
  const uint32 start = share * blockIdx.x;
  uint32 count = start >= size ? 0 : size - start < share ? size - start : share;
  ThinEntry* const list = static_cast<ThinEntry*>(shared);
  for (uint32 i = threadIdx.x; i < count; i += blockDim.x) {
    ThinEntry entry;
    entry.vertex = __ldcg(frontier + start + i);
    entry.begin = __ldg(s.offsets + entry.vertex);
    entry.degree = static_cast<int>(__ldg(s.offsets + entry.vertex + 1) - entry.begin);
    list[i] = entry;
  }
  if (threadIdx.x == 0) {
    filled[0] = filled[1] = filled[2] = 0;
    want_end = 0;
  }
  __syncthreads();
  uint32 k = 0;
  while (true) {
    ThinEntry* const now = list + (k & 1) * s.thin_capacity;
    ThinEntry* const next = list + ((k + 1) & 1) * s.thin_capacity;
    if (threadIdx.x == 0) filled[(k + 2) % 3] = 0;
    thin_level(s, out, visited, state.level, now, count, next, &filled[(k + 1) % 3], &want_end,
               edges_seen);
    __syncthreads();
    ++k;
    ++state.level;
    const uint32 made = *const_cast<volatile uint32*>(&filled[k % 3]);
    count = made < s.thin_capacity ? made : static_cast<uint32>(s.thin_capacity);
    const bool ends =
        made > kThinLeave || *const_cast<volatile uint32*>(&want_end) || state.level > last_level;
    uint32 total = made, ending = ends;
    if (blocks > 1) {
      if (threadIdx.x == 0) {
        const uint32 mine = made < kThinLeave ? made : kThinLeave;
        agreed = meet(s.control, state.round, blocks, (1u << 24) + (uint32(ends) << 16) + mine);
      }
      __syncthreads();
      ++state.round;
      total = agreed & 0xffff;
      ending = agreed >> 16 & 0xff;
    }
    if (total == 0 || ending || (blocks > 1 && total < blocks * (kThinShare / 4))) break;
    state.reached += total;
    __syncthreads();  // `agreed` and `filled` are written again
  }
  // What is left goes to the queue.
  if (threadIdx.x == 0 && count) flush_base = atomicAdd(out.counter, static_cast<count_t>(count));
  __syncthreads();
  uint64 ahead = 0;
  for (uint32 i = threadIdx.x; i < count; i += blockDim.x) {
    const ThinEntry entry = list[(k & 1) * s.thin_capacity + i];
    out.queue[flush_base + i] = entry.vertex;
    ahead += degree_of(s, entry.vertex);
    if (entry.degree > kThinDegree) *out.long_rows = 1;
  }
  ahead = warp_sum(ahead);
  if (lane_id() == 0 && ahead) atomicAdd(out.ahead, ahead);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    s.control->thin_level[slot] = state.level;
    s.control->thin_round[slot] = state.round;
    s.control->thin_reached[slot] = state.reached;
  }
}
