// Bellman-Ford over a queue of active vertices (johnson-cuda, Algorithms 2 and 4), weights of either sign.
//
// A round relaxes the edges of the vertices that improved in the previous round. Macros: LANES_EACH (1: a thread
// per vertex, as in the paper; 32: a warp per vertex, which balances long rows as the paper's child launches
// are meant to, without launches), CLASSES (1: rows are sorted into the paper's edge classes, and `once` and
// `sinks` are the bounds of the classes). Two drivers: relax_active is one round, for a host loop; one_launch
// runs all rounds in one cooperative launch.
//
// distance: n. stamp: n, the last round whose queue a vertex was pushed to; one atomicExch decides who pushes.
// queue: two of n entries. sizes: 3 counters in rotation (round r reads r % 3, fills r + 1, clears r + 2).
// stats[0] edges, [1] rounds, [2] vertices.
// In-degree 1 (rows up to `once`): no other edge writes the target's distance or pushes it, so a plain store and
// no stamp. Out-degree 0 (rows from `sinks` on): left to relax_sinks after the rounds.
// Races: a distance read may be lowered by another thread in the same round; that thread pushes the vertex again.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/warp.cuh
// requires: cuda/primitives/grid_barrier.cuh

struct Rounds {
  const offset_t* offsets;
  const offset_t* once;
  const offset_t* sinks;
  const Edge* edges;
  weight_t* distance;
  uint32* stamp;
  vertex_t* queue;
  uint32* sizes;
  long long n;
  weight_t limit;
  long long source;
};

__device__ __forceinline__ void push_active(const Rounds& r, vertex_t t, uint32 round) {
  r.queue[((round + 1) & 1) * r.n + atomicAdd(r.sizes + (round + 1) % 3, 1u)] = t;
}

__device__ __forceinline__ void relax_active_edge(const Rounds& r, weight_t d, offset_t e, uint32 round) {
  const Edge edge = load_edge(r.edges, e);
  weight_t* to = r.distance + edge.target;
  const weight_t sum = add_saturating_signed(d, edge_weight(edge));
  if (!(sum < load_relaxed(to)) || sum > r.limit) return;
  if (sum < atomic_minimum_signed(to, sum) && atomicExch(r.stamp + edge.target, round + 1) != round + 1)
    push_active(r, edge.target, round);
}

// Runs one round over `entries` active vertices by the full grid; adds to this thread's counters.
__device__ __forceinline__ void relax_round(const Rounds& r, uint32 round, uint32 entries, uint64& relaxed,
                                            uint64& processed) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x / LANES_EACH;
  const long long me = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / LANES_EACH;
  const int lane = threadIdx.x % LANES_EACH;
  for (long long q = me; q < entries; q += stride) {
    const vertex_t v = r.queue[(round & 1) * r.n + q];
    const weight_t d = load_relaxed(r.distance + v);
    const offset_t begin = r.offsets[v];
#if CLASSES
    const offset_t once = r.once[v], end = r.sinks[v];
    for (offset_t e = begin + lane; e < once; e += LANES_EACH) {
      const Edge edge = load_edge(r.edges, e);
      const weight_t sum = add_saturating_signed(d, edge_weight(edge));
      if (!(sum < load_relaxed(r.distance + edge.target)) || sum > r.limit) continue;
      r.distance[edge.target] = sum;
      push_active(r, edge.target, round);
    }
#else
    const offset_t once = begin, end = r.offsets[v + 1];
#endif
    for (offset_t e = once + lane; e < end; e += LANES_EACH) relax_active_edge(r, d, e, round);
    if (lane == 0) {
      relaxed += end - begin;
      ++processed;
    }
  }
}

__device__ __forceinline__ void count_work(uint64 relaxed, uint64 processed, uint64* stats) {
  relaxed = warp_sum(relaxed);
  processed = warp_sum(processed);
  if (lane_id() == 0 && processed) {
    atomicAdd(&stats[0], relaxed);
    atomicAdd(&stats[2], processed);
  }
}

extern "C" __global__ void start_queue(weight_t* distance, uint32* stamp, vertex_t* queue, uint32* sizes,
                                       long long n, long long source, uint64* stats) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long me = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long v = me; v < n; v += stride) {
    distance[v] = v == source ? weight_t(0) : unreached();
    stamp[v] = 0;
  }
  if (me < 3) {
    sizes[me] = me == 0 ? 1 : 0;
    stats[me] = 0;
  }
  if (me == 0) queue[0] = static_cast<vertex_t>(source);
}

// Runs one round. Launch: blocks of 256, any grid.
extern "C" __global__ void __launch_bounds__(256, 4)
    relax_active(const offset_t* offsets, const offset_t* once, const offset_t* sinks, const Edge* edges,
                 weight_t* distance, uint32* stamp, vertex_t* queue, uint32* sizes, long long n, weight_t limit,
                 long long source, uint64* stats, uint32 round) {
  const Rounds r{offsets, once, sinks, edges, distance, stamp, queue, sizes, n, limit, source};
  uint64 relaxed = 0, processed = 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    sizes[(round + 2) % 3] = 0;
    stats[1] += 1;
  }
  relax_round(r, round, load_relaxed(sizes + round % 3), relaxed, processed);
  count_work(relaxed, processed, stats);
}

// Runs all rounds, at most `most` of them. Launch: cooperative, blocks of 256. *barrier starts at
// 0.
extern "C" __global__ void __launch_bounds__(256, 4)
    one_launch(const offset_t* offsets, const offset_t* once, const offset_t* sinks, const Edge* edges,
               weight_t* distance, uint32* stamp, vertex_t* queue, uint32* sizes, long long n, weight_t limit,
               long long source, uint64* stats, uint32 round, uint32 most, uint32* barrier) {
  const Rounds r{offsets, once, sinks, edges, distance, stamp, queue, sizes, n, limit, source};
  uint64 relaxed = 0, processed = 0;
  uint32 done = 0;
  for (; done < most; ++done, ++round) {
    const uint32 entries = load_relaxed(sizes + round % 3);
    if (entries == 0) break;
    if (blockIdx.x == 0 && threadIdx.x == 0) sizes[(round + 2) % 3] = 0;
    relax_round(r, round, entries, relaxed, processed);
    grid_barrier(barrier);
  }
  count_work(relaxed, processed, stats);
  if (blockIdx.x == 0 && threadIdx.x == 0) stats[1] += done;
}

// Relaxes edges to vertices without out-edges, once, after the rounds. Launch: blocks of 256.
extern "C" __global__ void __launch_bounds__(256, 4)
    relax_sinks(const offset_t* offsets, const offset_t* sinks, const Edge* edges, weight_t* distance,
                long long n, weight_t limit) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < n; v += stride) {
    const weight_t d = load_relaxed(distance + v);
    if (d == unreached()) continue;
    for (offset_t e = sinks[v]; e < offsets[v + 1]; ++e) {
      const Edge edge = load_edge(edges, e);
      const weight_t sum = add_saturating_signed(d, edge_weight(edge));
      if (sum < load_relaxed(distance + edge.target) && !(sum > limit))
        atomic_minimum_signed(distance + edge.target, sum);
    }
  }
}
