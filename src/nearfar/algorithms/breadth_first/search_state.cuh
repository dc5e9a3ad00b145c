// Shared by the steps of breadth-first search: arrays, counters, queue staging.
//
// A warp collects the vertices it finds in shared memory and reserves queue space for about a
// hundred at a time; it then reads their row bounds, so that the next step knows how many edges its
// frontier has. Every vertex is found once, so the queue of n entries never overflows.
//
// requires: algorithms/breadth_first/balls.cuh
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/split_barrier.cuh
// requires: cuda/primitives/warp.cuh
#pragma once

#ifndef BLOCK_THREADS
#define BLOCK_THREADS 1024
#endif
#ifndef BLOCKS_EACH
#define BLOCKS_EACH 1
#endif

constexpr int kStage = 128;   // vertices that a warp collects
constexpr int kInFlight = 4;  // edges in flight per lane
constexpr int kMiddle = 64;   // rows above it have a warp for themselves
constexpr int kLong = 256;    // rows above it are cut into chunks for all warps
constexpr int kChunk = 256;
constexpr int kHeavy = 2048;  // rows above it are taken by all warps together, running ahead
constexpr int kAlone = 32;          // edges that a lane pulls by itself
constexpr int kPulled = 1024;       // edges of a row that a warp pulls by itself, at least,
constexpr int kPulledInAll = 4096;  // and of all its rows in a step
constexpr int kDense = 16;  // a frontier of more than 1 / kDense of the vertices is dense
constexpr int kThinDegree = 256;    // longer rows make no thin frontier
constexpr uint32 kStuck = 1, kWantsBalls = 2;  // reasons for stopping early

typedef CountOf<(sizeof(vertex_t) > 4)>::type count_t;

struct alignas(8) Chunk {
  offset_t begin;
  int size;
  vertex_t vertex;  // of the row, where pulling has cut it
};

// A vertex, or the target of an edge, and a distance; see ahead.cuh.
struct alignas(2 * sizeof(vertex_t)) AheadEntry {
  vertex_t vertex;
  int distance;
};

// Steps of each kind, and levels that would have pulled, counted by one thread.
struct Tally {
  long long pushes, pulls, sweeps, missed;
};

// Zeroed by the host, which reads status and the counters after it. Fields that different warps
// update at the same time are in different cache lines; of rotating fields one is written, one read
// and one reset.
struct Control {
  alignas(128) uint32 arrivals;
  alignas(128) long long status;
  uint64 edges;
  long long steps, levels, ahead_steps, rescans, deepest, wide;
  Tally tally;
  alignas(128) long long hopeless;  // vertices that nothing can reach
  alignas(128) count_t found[4];
  alignas(128) uint64 ahead[4];  // edges of the found vertices
  uint32 long_rows[4];           // 1 when one of them has more than kThinDegree edges
  alignas(128) uint32 chunks[4];
  alignas(128) count_t entries[4];  // of the queue when running ahead, see ahead.cuh
  uint32 ahead_long[4], heavy[4];
  int least[4];
};

// Passed by value; every field takes 8 bytes. in_offsets is null where pulling is not possible.
struct Search {
  long long n, m;
  const offset_t* offsets;
  const Edge* edges;
  const offset_t* in_offsets;
  const Edge* in_edges;
  int* distance;
  vertex_t* queue;
  uint32* visited[2];  // a bit per vertex
  Chunk* chunks;
  Control* control;
  long long chunk_capacity;
  long long undirected;
  const uint32* balls;  // of balls.cuh; null before they are made
  long long ball_hops;  // at whose multiples vertices are taken on
  const RowEdge* heads;  // rows with shortcuts, or null
  long long ahead_of_least;  // hops beyond the nearest entry, up to which a crowd is taken on
  AheadEntry* ahead_queue[2];
  AheadEntry* heavy;  // [m / kHeavy + 1]
  long long ahead_capacity, ahead_limit, ahead_rounds;
  uint32* before;       // bits of sweep.cuh; null where the search does not sweep
};

// Result of a step, for the host's record of a run.
struct Record {
  uint64 kind, frontier, edges, nanoseconds;
};
enum StepKind : uint32 { kPush, kPull, kAhead, kRelax, kRescan, kSweep };

// Called by every thread of the grid. No thread waits for the atomic that counts arrivals.
__device__ __forceinline__ void meet(SplitBarrier& barrier) {
  barrier.arrive();
  barrier.wait();
}

// Counters after a step, read by one thread of each block: thousands of warps that read one line
// at once would wait for each other.
struct Seen {
  count_t found;
  uint64 ahead;
  uint32 long_rows, chunks;
};

// Waits at a barrier, then reads the counters of the next step's frontier and of this step's
// chunks.
__device__ __forceinline__ void meet_and_look(SplitBarrier& barrier, const Control* control, uint32 next,
                                              uint32 present, Seen* seen) {
  barrier.arrive();
  if (threadIdx.x == 0) {
    barrier.wait_alone();
    const count_t found = load_relaxed(&control->found[next & 3]);
    const uint64 ahead = load_relaxed(&control->ahead[next & 3]);
    const uint32 long_rows = load_relaxed(&control->long_rows[next & 3]);
    const uint32 chunks = load_relaxed(&control->chunks[present & 3]);
    *seen = Seen{found, ahead, long_rows, chunks};
  }
  __syncthreads();
}

// Destination of the vertices that a step finds.
struct Found {
  vertex_t* queue;
  count_t* counter;
  uint64* ahead;
  uint32* long_rows;
};

__device__ __forceinline__ uint64 degree_of(const Search& s, vertex_t v) {
  return static_cast<uint64>(__ldg(s.offsets + v + 1) - __ldg(s.offsets + v));
}

struct Stage {
  vertex_t* slots;
  int filled;  // the same in all lanes
};

__device__ __noinline__ void write_out(const Search& s, const vertex_t* slots, int filled,
                                       const Found& out) {
  __syncwarp();
  count_t base = 0;
  if (lane_id() == 0) base = atomicAdd(out.counter, static_cast<count_t>(filled));
  uint64 ahead = 0;  // counted while the atomic is under way
  for (int i = lane_id(); i < filled; i += 32) {
    const uint64 degree = degree_of(s, slots[i]);
    ahead += degree;
    if (degree > kThinDegree) *out.long_rows = 1;
  }
  ahead = warp_sum(ahead);
  if (lane_id() == 0 && ahead) atomicAdd(out.ahead, ahead);
  base = __shfl_sync(kAllLanes, base, 0);
  for (int i = lane_id(); i < filled; i += 32) out.queue[base + i] = slots[i];
  __syncwarp();
}

__device__ __forceinline__ void flush(const Search& s, Stage& stage, const Found& out) {
  if (stage.filled == 0) return;
  write_out(s, stage.slots, stage.filled, out);
  stage.filled = 0;
}

__device__ __forceinline__ void push(const Search& s, Stage& stage, const Found& out, bool take,
                                     vertex_t v) {
  const uint32 takers = __ballot_sync(kAllLanes, take);
  if (takers == 0) return;
  if (take) stage.slots[stage.filled + __popc(takers & ((1u << lane_id()) - 1))] = v;
  stage.filled += __popc(takers);
  if (stage.filled > kStage - 32) flush(s, stage, out);
}

__device__ __forceinline__ uint32 bit_of(vertex_t v) {
  return 1u << (v & 31);
}
