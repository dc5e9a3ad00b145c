// Shared by the kernels of the family: the arrays of a run, its control block, and its transitions.
//
// A run is a sequence of iterations that the host launches ahead: [gather], traverse, [split].
// All decisions are taken on the device by the last block of a kernel (a ticket counts blocks), so the host
// reads the control block only now and then. Paper: Davidson, Baxter, Garland, Owens 2014, section IV.C.
//
// Macros: FAR (keep a far pile), HYBRID (switch between sweep and near-far), OWNERS (duplicates removed by a
// lookup table of owners; else a vertex claims its place once per iteration), GATHER (compact the
// near set before it is traversed), BUCKETS (the host decides the next step, see bucketing.cuh),
// STATS (record every iteration).
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/warp.cuh
#pragma once

constexpr int kBlock = 256;         // threads per block, in every kernel of the family
constexpr int kRecords = 4096;      // iterations that the ring of records holds
constexpr int kEdgeBits = sizeof(offset_t) == 4 ? 32 : 36;  // low part of a packed (vertices, edges) count

// One iteration, when STATS; the host reads the ring before it is overwritten.
struct Record {
  uint64 iteration, frontier, near_size, far_size, edges, labelled, nanoseconds;
};

// The state of a run, updated on the device. Every field takes 8 bytes; the host mirrors the order.
struct Control {
  uint64 near_size[2];      // entries for iteration k in [k & 1]
  uint64 far_size[2];       // entries of far[side]
  uint64 gathered;          // vertices << kEdgeBits | edges, of this iteration
  uint64 iterations, vertices_processed, edges_relaxed, splits;
  uint64 iteration_edges, labelled;
  uint64 traverse_ticket, split_ticket;
  uint64 done, split, side, phase;
  uint64 saturation;        // HYBRID: a frontier of this size fills the device
  uint64 keys, taken;       // BUCKETS: keys written by classify; leading keys that take used up
  alignas(8) weight_t threshold;  // distances below it are near, from it on far
  alignas(8) weight_t floor;      // distances below it were settled before the last split
  alignas(8) weight_t delta;
  alignas(8) weight_t near_min;   // HYBRID: least distance put into the near set this iteration
  alignas(8) weight_t far_min;    // no entry of the far pile has a smaller distance and is not stale
  alignas(8) weight_t limit;      // inclusive: greater distances are not kept
};

// The arrays of a run, passed by value. Lengths: distance, stamp, in_far, owner, last_label, queue1,
// far0, far1 n; queue0 n, or max(m, n) with OWNERS; starts n.
struct Frame {
  const offset_t* offsets;
  const Edge* edges;
  weight_t* distance;
  vertex_t* queue0;     // near set of even iterations; with GATHER: as written, of all iterations
  vertex_t* queue1;     // near set of odd iterations; with GATHER: compacted
  offset_t* starts;     // load_balanced: first edge number of each compacted entry
  offset_t* owner;      // OWNERS: slot that owns a vertex
  uint32* stamp;        // else: last iteration for which a vertex was claimed
  vertex_t* far0;       // far pile while side is 0
  vertex_t* far1;
  uint32* in_far;       // 1 while a vertex has an entry in the far pile
  Control* control;
  Record* records;
  uint32* last_label;   // STATS: iteration of a vertex's last improvement
  long long n;
};

// Two pointers and a choice, not an array: indexing an array parameter would copy it to local memory.
__device__ __forceinline__ vertex_t* far_pile(const Frame& f, int side) {
  return side ? f.far1 : f.far0;
}

__device__ __forceinline__ vertex_t* near_output(const Frame& f, uint32 iteration) {
  return GATHER || iteration & 1 ? f.queue0 : f.queue1;
}

// Returns true for exactly one caller that sets *p to `value` (it held another value before).
__device__ __forceinline__ bool claim(uint32* p, uint32 value) {
  return load_relaxed(p) != value && atomicExch(p, value) != value;
}

// Returns true in every thread of the block that finishes last; its later reads see the writes of
// all blocks.
__device__ __forceinline__ bool last_block(uint64* ticket) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint64 order = atomicAdd(ticket, 1ull);
    last = order == gridDim.x - 1;
    if (last) *ticket = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// Returns the next threshold after `now`: one delta more, or past an empty range, and always past
// `far_min`.
__device__ __forceinline__ weight_t next_threshold(const Control& c) {
  const weight_t from = c.far_min > c.threshold && c.far_min < unreached() ? c.far_min : c.threshold;
  const weight_t next = add_saturating(from, c.delta);
  const weight_t beyond = next_above(from);  // a float delta may vanish next to a large distance
  return next > beyond ? next : beyond;
}

#if FAR
__device__ __forceinline__ void begin_split(Control& c, weight_t threshold) {
  c.floor = c.threshold;
  c.threshold = threshold;
  c.far_min = unreached();
  c.split = 1;
}
#endif

// After the last block of iteration `iteration`: count, record, and decide the next step. One thread.
__device__ __forceinline__ void move_on(const Frame& f, uint32 iteration) {
  Control& c = *f.control;
  const uint64 raw = c.near_size[iteration & 1];
  const uint64 frontier = GATHER ? c.gathered >> kEdgeBits : raw;
  const uint64 next = c.near_size[(iteration + 1) & 1];
  c.near_size[iteration & 1] = 0;
  c.gathered = 0;
  c.edges_relaxed += c.iteration_edges;
  c.vertices_processed += frontier;
  if (raw) {
#if STATS
    Record& r = f.records[c.iterations % kRecords];
    r.iteration = iteration;
    r.frontier = frontier;
    r.near_size = next;
    r.far_size = c.far_size[c.side];
    r.edges = c.iteration_edges;
    r.labelled = c.labelled;
    r.nanoseconds = clock_nanoseconds();
#endif
    ++c.iterations;
  }
  c.iteration_edges = 0;
  c.labelled = 0;
#if HYBRID
  if (next >= c.saturation && c.phase != 1) {  // enough work: switch from sweep to near-far
    c.phase = 1;
    c.threshold = add_saturating(c.near_min, c.delta);
    if (!(c.threshold > c.near_min)) c.threshold = next_above(c.near_min);
  }
  c.near_min = unreached();
#endif
#if !BUCKETS
  if (next) return;
#if FAR
  if (c.far_size[c.side]) {
#if HYBRID
    if (c.far_size[c.side] < c.saturation) {  // too little to fill the device: sweep all of it
      c.phase = 2;
      begin_split(c, unreached());
      return;
    }
#endif
    begin_split(c, next_threshold(c));
    return;
  }
#endif
  c.done = 1;
#endif
}
