// Queues, staging and the traversals of a large near set, for one_launch.cuh.
//
// A warp collects its pushes in shared memory and reserves queue space for 64 entries at a time: one
// atomic on a shared counter for every 32 edges would serialise the whole device.
// Three degree classes: rows up to kMiddle edges share the warp's lanes, longer ones are taken by the
// whole warp with as many edges in flight per lane, and beyond kHeavy they are cut into chunks for
// all warps.
// requires: cuda/graph/head_edges.cuh
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/deal.cuh
// requires: cuda/primitives/walk_rows.cuh
// requires: algorithms/near_far/one_launch/one_launch_distances.cuh
#pragma once

// Edges in flight per lane: of rows that share a warp, and of a row with a warp of its own.
#ifndef ROWS_IN_FLIGHT
#define ROWS_IN_FLIGHT 4
#endif
#ifndef LONG_IN_FLIGHT
#define LONG_IN_FLIGHT 4
#endif
// Rows of more edges are cut into chunks for all warps.
#ifndef HEAVY_DEGREE
#define HEAVY_DEGREE 1024
#endif
// No far pile is kept: a split reads all vertices instead.
#ifndef FAR_BY_SCAN
#define FAR_BY_SCAN 0
#endif
#ifndef BLOCK_THREADS
#define BLOCK_THREADS 512
#endif
#ifndef BLOCKS_EACH
#define BLOCKS_EACH 1
#endif

constexpr int kStage = 128;                   // entries that a warp collects for one queue
constexpr int kRowsInFlight = ROWS_IN_FLIGHT;
constexpr int kLongInFlight = LONG_IN_FLIGHT;
constexpr int kMiddle = 64;
constexpr int kHeavy = HEAVY_DEGREE;
constexpr int kChunk = 512;
constexpr int kPart = 128;  // edges of a row that a warp takes at least
constexpr uint32 kStuck = 1, kTooNarrow = 2;

typedef CountOf<(sizeof(offset_t) > 4)>::type count_t;

struct alignas(2 * (sizeof(vertex_t) > sizeof(weight_t) ? sizeof(vertex_t) : sizeof(weight_t))) Entry {
  vertex_t vertex;
  weight_t distance;
};

struct alignas(16) Chunk {
  offset_t begin;
  int size;
  weight_t distance;
};

// Zeroed by the host, which reads status and the counters after it. Fields that different warps update at
// the same time are in different cache lines.
struct Control {
  alignas(128) uint32 arrivals;
  alignas(128) long long status;
  uint64 edges;
  long long steps, splits, local_steps, rescans;
  long long block_rounds;  // of local steps, in the block with the most
  uint64 cycles;           // of the first block's clock
  double last_delta, last_threshold;
  alignas(128) count_t near_count[4];
  alignas(128) count_t far_count[4];
  alignas(128) weight_t far_min[4];
  alignas(128) count_t heavy_count[4];
  alignas(128) uint32 ended[4];  // blocks that have ended their local step; see local_step
  uint64 began[4];               // cycles of the first block's clock when a step began
};

// Passed by value; every field takes 8 bytes.
struct Solve {
  long long n;
  const offset_t* offsets;
  const Edge* edges;
  const HeadRow* heads;  // of short rows at fixed places (one_launch_heads.cuh), or not used
  Distances distance;
  Entry* near_queue[2];
  Entry* far_pile[2];
  Chunk* heavy;
  Control* control;
  long long capacity;
  alignas(8) count_t heavy_capacity;
  long long local_capacity;
  long long local_rounds;
  long long local_leave;
  long long row_lanes;
  weight_t* answer;  // final distances, if they are packed during the solve
};

// Result of a step, for the host's record of a run.
struct Record {
  uint64 kind, near, far, nanoseconds;
};
enum StepKind : uint32 { kSplit, kGrid, kLocal, kRescan, kPull };

// Destination of entries: a queue, its counter, and the least distance put there (null if unused).
struct Sink {
  Entry* queue;
  count_t* counter;
  weight_t* least;
  count_t capacity;
};

struct Targets {
  Sink near;
  Sink far;
  count_t* heavy;
  weight_t threshold;
};

__device__ __forceinline__ long long thread_of_grid() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// Loads an edge that will not be read again soon.
__device__ __forceinline__ Edge load_streamed(const Edge* edges, offset_t at) {
  if constexpr (sizeof(Edge) == 8) {
    const long long raw = load_once(reinterpret_cast<const long long*>(edges + at));
    Edge edge;
    memcpy(&edge, &raw, sizeof(edge));
    return edge;
  }
  return load_edge(edges, at);
}

__device__ __forceinline__ Entry load_entry(const Entry* p) {
  Entry entry;
  if constexpr (sizeof(Entry) == 16) {
    const longlong2 raw = __ldcg(reinterpret_cast<const longlong2*>(p));
    memcpy(&entry, &raw, 16);
  } else {
    const long long raw = __ldcg(reinterpret_cast<const long long*>(p));
    memcpy(&entry, &raw, 8);
  }
  return entry;
}

__device__ __forceinline__ Chunk load_chunk(const Chunk* p) {
  Chunk chunk;
  const longlong2 raw = __ldcg(reinterpret_cast<const longlong2*>(p));
  memcpy(&chunk, &raw, sizeof(raw));
  if constexpr (sizeof(Chunk) > 16) {
    const longlong2 rest = __ldcg(reinterpret_cast<const longlong2*>(p) + 1);
    memcpy(reinterpret_cast<char*>(&chunk) + 16, &rest, 16);
  }
  return chunk;
}

__device__ __forceinline__ void store_entry(Entry* p, vertex_t v, weight_t d) {
  Entry entry;
  entry.vertex = v;
  entry.distance = d;
  *p = entry;
}

// Entries that a warp has collected for one sink; `filled` is the same in all lanes.
struct Stage {
  Entry* slots;
  int filled;
};

// Not inlined, because it runs once per about a hundred pushes.
__device__ __noinline__ void write_out(const Entry* slots, int filled, const Sink& sink) {
  __syncwarp();
  count_t base = 0;
  if (lane_id() == 0) base = atomicAdd(sink.counter, static_cast<count_t>(filled));
  base = __shfl_sync(kAllLanes, base, 0);
  weight_t least = unreached();
  for (int i = lane_id(); i < filled; i += 32) {
    const Entry entry = slots[i];
    least = entry.distance < least ? entry.distance : least;
    if (base + i < sink.capacity) sink.queue[base + i] = entry;
  }
  if (sink.least) {
    least = warp_min(least);
    if (lane_id() == 0 && least < load_relaxed(sink.least)) atomic_minimum(sink.least, least);
  }
  __syncwarp();
}

__device__ __forceinline__ void flush(Stage& stage, const Sink& sink) {
  if (stage.filled == 0) return;
  write_out(stage.slots, stage.filled, sink);
  stage.filled = 0;
}

__device__ __forceinline__ void push(Stage& stage, const Sink& sink, bool take, vertex_t v,
                                     weight_t d) {
  const uint32 takers = __ballot_sync(kAllLanes, take);
  if (takers == 0) return;
  if (take) store_entry(stage.slots + stage.filled + __popc(takers & ((1u << lane_id()) - 1)), v, d);
  stage.filled += __popc(takers);
  if (stage.filled > kStage - 32) flush(stage, sink);
}

struct WarpStages {
  Stage near, far;
  weight_t waits;  // least distance that a lane left to the next split
  __device__ explicit WarpStages(Entry* shared)
      : near{shared + (threadIdx.x >> 5) * 2 * kStage, 0},
        far{shared + (threadIdx.x >> 5) * 2 * kStage + kStage, 0},
        waits(unreached()) {}
  __device__ __forceinline__ void offer(const Targets& out, bool improved, vertex_t v, weight_t d) {
    const bool is_near = d < out.threshold;
    push(near, out.near, improved && is_near, v, d);
#if FAR_BY_SCAN
    if (improved && !is_near && d < waits) waits = d;
#else
    push(far, out.far, improved && !is_near, v, d);
#endif
  }
  __device__ __forceinline__ void finish(const Targets& out) {
    flush(near, out.near);
#if FAR_BY_SCAN
    waits = warp_min(waits);
    if (lane_id() == 0 && waits < unreached()) {
      *out.far.counter = 1;  // more than the pile's capacity of 0: "read all vertices"
      if (waits < load_relaxed(out.far.least)) atomic_minimum(out.far.least, waits);
    }
#else
    flush(far, out.far);
#endif
  }
};

// Action of a step on edges in flight (walk_rows.cuh): loads first, then the atomics that may lower a
// distance, then the pushes. Due selects the edges that count now and receives the lowered distances.
template <class Due>
struct Relax {
  const Solve& solve;
  Due due;

  template <int N>
  __device__ __forceinline__ void operator()(const bool (&valid)[N], const offset_t (&at)[N],
                                             const weight_t (&from)[N]) const {
    Edge edge[N];
    Seen seen[N];
    weight_t sum[N];
    slot_t before[N];
    bool improved[N];
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (valid[u]) edge[u] = load_streamed(solve.edges, at[u]);
#pragma unroll
    for (int u = 0; u < N; ++u) {
      sum[u] = valid[u] ? add_saturating(from[u], edge_weight(edge[u])) : unreached();
      improved[u] = due.counts(valid[u], sum[u]);
      if (improved[u]) seen[u] = solve.distance.seen(edge[u].target);
    }
#pragma unroll
    for (int u = 0; u < N; ++u) {
      improved[u] = improved[u] && sum[u] < seen[u].value;
      if (improved[u] && !Distances::fits(sum[u])) {
        solve.control->status = kTooNarrow;
        improved[u] = false;
      }
      if (improved[u]) before[u] = solve.distance.try_lower(edge[u].target, seen[u], sum[u]);
    }
#pragma unroll
    for (int u = 0; u < N; ++u) {
      weight_t was = unreached();
      if (improved[u]) {
        was = solve.distance.lowered(edge[u].target, seen[u], before[u], sum[u]);
        improved[u] = sum[u] < was;
      }
      due.lowered(improved[u], improved[u] ? edge[u].target : vertex_t(0), sum[u], was);
    }
  }
};

// Selects every edge; targets go to the near set or the far pile.
struct AllDue {
  const Targets& out;
  WarpStages& stages;
  __device__ __forceinline__ bool counts(bool valid, weight_t) const { return valid; }
  __device__ __forceinline__ void lowered(bool improved, vertex_t v, weight_t sum, weight_t) const {
    stages.offer(out, improved, v, sum);
  }
};

// Cuts the lanes' rows beyond Heavy into chunks for all warps. Returns the row size that is left to the
// caller: 0, or the whole row where the list of chunks is full.
template <int Heavy>
__device__ __forceinline__ offset_t set_heavy_aside(const Solve& solve, const Targets& out,
                                                    offset_t begin, offset_t size, weight_t d) {
  uint32 heavy = __ballot_sync(kAllLanes, size > Heavy);
  while (heavy) {
    const int lane = __ffs(heavy) - 1;
    heavy &= heavy - 1;
    const offset_t row = __shfl_sync(kAllLanes, begin, lane);
    const offset_t length = __shfl_sync(kAllLanes, size, lane);
    const weight_t distance = __shfl_sync(kAllLanes, d, lane);
    const count_t chunks = static_cast<count_t>((length + kChunk - 1) / kChunk);
    count_t base = 0;
    if (lane_id() == 0) base = atomicAdd(out.heavy, chunks);
    base = __shfl_sync(kAllLanes, base, 0);
    const bool fits = base + chunks <= solve.heavy_capacity;
    for (count_t c = lane_id(); c < chunks && base + c < solve.heavy_capacity; c += 32) {
      const offset_t start = static_cast<offset_t>(c) * kChunk;
      Chunk chunk;
      chunk.begin = row + start;
      chunk.size = !fits ? 0 : static_cast<int>(length - start < kChunk ? length - start : kChunk);
      chunk.distance = distance;
      solve.heavy[base + c] = chunk;
    }
    if (fits && lane_id() == lane) size = 0;
  }
  return size;
}

// Returns the edges of each part of a row that several warps share: a power of two, so that parts of sorted
// rows are sorted.
__device__ __forceinline__ offset_t part_size(offset_t degree, count_t sharers) {
  offset_t size = kPart;
  while (size * static_cast<offset_t>(sharers) < degree) size *= 2;
  return size;
}

// Passes the rows of the queue's entries, one per lane, to `take` with the distance; degree 0 for a
// stale entry. While there are more warps than entries, several take parts of a row.
template <class Take>
__device__ __forceinline__ void take_queue(const Solve& solve, const Entry* queue, count_t size,
                                           const Take& take) {
  const count_t warps = grid_warps<count_t>(), warp = grid_warp<count_t>();
  const count_t share = warp_share(size, warps), sharers = size ? warps / size : 0;
  const bool shared = sharers > 1;
  for (count_t base = shared ? warp / sharers : warp * share; base < size; base += warps * share) {
    const count_t i = base + lane_id();
    offset_t begin = 0, degree = 0;
    weight_t d = weight_t(0);
    if (i < size && lane_id() < share) {
      const Entry entry = load_entry(queue + i);
      const weight_t now = solve.distance.at(entry.vertex);
      begin = __ldg(solve.offsets + entry.vertex);
      const offset_t end = __ldg(solve.offsets + entry.vertex + 1);
      d = entry.distance;
      degree = now == d ? end - begin : 0;
    }
    if (shared) {
      const offset_t part = part_size(degree, sharers);
      const offset_t before = part * static_cast<offset_t>(warp % sharers);
      begin += before;
      degree = before < degree ? degree - before : 0;
      degree = degree < part ? degree : part;
    }
    take(begin, degree, d);
  }
}

__device__ __forceinline__ void grid_step(const Solve& solve, const Targets& out, const Entry* queue,
                                          count_t size, Entry* shared, uint64* edges_seen) {
  WarpStages stages(shared);
  const Relax<AllDue> relax{solve, {out, stages}};
  take_queue(solve, queue, size, [&](offset_t begin, offset_t degree, weight_t d) {
    *edges_seen += static_cast<uint64>(degree);
    degree = set_heavy_aside<kHeavy>(solve, out, begin, degree, d);
    walk_by_length<kMiddle, kLongInFlight, kRowsInFlight>(relax, begin, degree, d);
  });
  stages.finish(out);
}

__device__ __forceinline__ void heavy_step(const Solve& solve, const Targets& out, count_t chunks,
                                           Entry* shared) {
  WarpStages stages(shared);
  const Relax<AllDue> relax{solve, {out, stages}};
  for (count_t c = grid_warp<count_t>(); c < chunks; c += grid_warps<count_t>()) {
    const Chunk chunk = load_chunk(solve.heavy + c);
    walk_long<kLongInFlight>(relax, chunk.begin, chunk.size, chunk.distance);
  }
  stages.finish(out);
}

// Returns the next threshold: delta past the least waiting distance, and always greater than it.
__device__ __forceinline__ weight_t threshold_above(weight_t least, double delta) {
  const weight_t step = delta < static_cast<double>(unreached()) ? static_cast<weight_t>(delta)
                                                                  : unreached();
  const weight_t wanted = add_saturating(least, step);
  const weight_t above = next_above(least);
  return wanted < above ? above : wanted;
}
