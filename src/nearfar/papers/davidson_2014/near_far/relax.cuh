// Relaxation of a batch of edges, used by all traversals.
//
// Each lane passes up to U edges; distances of all are loaded before the first is used, so U chains of
// memory reads overlap. A candidate uses the atomic only when it is less than the read value. Races: a
// distance may fall between the read and the atomic (the atomic decides), and a vertex may be improved
// several times in one iteration (it is queued once and read in the next, when its distance is final for
// this iteration). Paper: Davidson et al. 2014, section IV.B and IV.C.
// requires: papers/davidson_2014/near_far/state.cuh
#pragma once

// State of a thread in an iteration.
struct Sweep {
  uint32 iteration;
  weight_t threshold, limit;
  int side;
  weight_t near_min, far_min;
  uint64 edges;
  uint32 labelled;
};

__device__ __forceinline__ Sweep begin_sweep(const Frame& f, uint32 iteration) {
  const Control& c = *f.control;
  return {iteration, c.threshold, c.limit, static_cast<int>(c.side), unreached(), unreached(), 0, 0};
}

// Appends this lane's targets whose bit is set in `near_bits` and `far_bits`; one reservation per
// warp.
template <int U>
__device__ __forceinline__ void append(const Frame& f, const Sweep& s, const vertex_t (&target)[U],
                                       uint32 near_bits, uint32 far_bits) {
  const uint32 mine = __popc(near_bits) | __popc(far_bits) << 16;
  if (!__any_sync(kAllLanes, mine != 0)) return;
  const uint32 upto = warp_inclusive_sum(mine);
  uint64 near_base = 0, far_base = 0;
  if (lane_id() == 31) {
    if (upto & 0xffff) near_base = atomicAdd(&f.control->near_size[(s.iteration + 1) & 1],
                                             static_cast<uint64>(upto & 0xffff));
    if (FAR && upto >> 16)
      far_base = atomicAdd(&f.control->far_size[s.side], static_cast<uint64>(upto >> 16));
  }
  near_base = __shfl_sync(kAllLanes, near_base, 31) + ((upto - mine) & 0xffff);
  far_base = __shfl_sync(kAllLanes, far_base, 31) + ((upto - mine) >> 16);
  vertex_t* const queue = near_output(f, s.iteration);
#pragma unroll
  for (int u = 0; u < U; ++u) {
    if (near_bits >> u & 1) {
      queue[near_base] = target[u];
      if (OWNERS) f.owner[target[u]] = static_cast<offset_t>(near_base);  // any one of several may win
      ++near_base;
    }
    if (FAR && (far_bits >> u & 1)) far_pile(f, s.side)[far_base++] = target[u];
  }
}

// Relax the lane's active edges; every lane of the warp must call. `candidate` is distance + weight.
template <int U>
__device__ __forceinline__ void relax_batch(const Frame& f, Sweep& s, const vertex_t (&target)[U],
                                            const weight_t (&candidate)[U], const bool (&active)[U]) {
  weight_t current[U];
#pragma unroll
  for (int u = 0; u < U; ++u)
    current[u] = active[u] ? load_relaxed(f.distance + target[u]) : weight_t(0);
  uint32 near_bits = 0, far_bits = 0;
#pragma unroll
  for (int u = 0; u < U; ++u) {
    if (!active[u] || !(candidate[u] < current[u]) || candidate[u] > s.limit) continue;
    const weight_t before = atomic_minimum(f.distance + target[u], candidate[u]);
    if (!(candidate[u] < before)) continue;
#if STATS
    s.labelled += before == unreached();
    f.last_label[target[u]] = s.iteration;
#endif
    if (!FAR || candidate[u] < s.threshold) {
      if (HYBRID && candidate[u] < s.near_min) s.near_min = candidate[u];
      if (OWNERS || claim(f.stamp + target[u], s.iteration + 1)) near_bits |= 1u << u;
    } else {
      if (candidate[u] < s.far_min) s.far_min = candidate[u];
      if (claim(f.in_far + target[u], 1)) far_bits |= 1u << u;
    }
  }
  append(f, s, target, near_bits, far_bits);
}

// Lowers *p to the least of the block's values; every thread must call.
__device__ __forceinline__ void block_minimum(weight_t value, weight_t* p) {
  const weight_t least = warp_min(value);
  if (lane_id() == 0 && least < unreached()) atomic_minimum(p, least);
}

// End of a traverse kernel: adds the block's counts; the last block decides the next step.
__device__ __forceinline__ void end_sweep(const Frame& f, const Sweep& s) {
  const uint64 edges = warp_sum(s.edges);
  if (lane_id() == 0 && edges) atomicAdd(&f.control->iteration_edges, edges);
#if STATS
  const uint64 labelled = warp_sum(static_cast<uint64>(s.labelled));
  if (lane_id() == 0 && labelled) atomicAdd(&f.control->labelled, labelled);
#endif
#if FAR
  block_minimum(s.far_min, &f.control->far_min);
#endif
#if HYBRID
  block_minimum(s.near_min, &f.control->near_min);
#endif
  if (last_block(&f.control->traverse_ticket) && threadIdx.x == 0) move_on(f, s.iteration);
}

// Entry i of this iteration's frontier: its vertex, or -1 past the end.
__device__ __forceinline__ vertex_t frontier_entry(const Frame& f, uint32 iteration, uint64 i,
                                                   uint64 size) {
  if (i >= size) return -1;
  return (GATHER || iteration & 1 ? f.queue1 : f.queue0)[i];
}

// The bounds of a thread's adjacency list, and the distance of its vertex.
struct Row {
  offset_t begin, degree;
  weight_t distance;
};

// Returns the row of entry i, empty past the end; its edges count as relaxed.
__device__ __forceinline__ Row frontier_row(const Frame& f, Sweep& s, uint32 iteration, uint64 i,
                                            uint64 size) {
  const vertex_t v = frontier_entry(f, iteration, i, size);
  if (v < 0) return {0, 0, weight_t(0)};
  const weight_t d = load_relaxed(f.distance + v);
  const offset_t begin = f.offsets[v], degree = f.offsets[v + 1] - begin;
  s.edges += degree;
  return {begin, degree, d};
}

__device__ __forceinline__ uint64 frontier_size(const Frame& f, uint32 iteration) {
  return GATHER ? f.control->gathered >> kEdgeBits : f.control->near_size[iteration & 1];
}
