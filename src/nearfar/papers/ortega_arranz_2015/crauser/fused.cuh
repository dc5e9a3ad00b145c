// Relax, minimum and update of Crauser's criteria in one cooperative launch, the loop on the
// device.
//
// The steps and their results are those of crauser.cuh, so iterations and distances are the
// same; three launches, a copy and a wait on the host per iteration become three grid barriers.
// Beyond Ortega-Arranz et al. (2015). Departures inside the steps: one byte per vertex
// holds all flags and only its own thread touches it; relaxing tests no unsettled flag (a
// settled distance cannot improve) but reads the distance before the atomic; a row of 32 edges
// or more is shared by its warp; the minimum ends in an atomic. The third barrier separates update
// from the next relax: without it a vertex could settle on a distance written meanwhile, which is
// correct but makes iteration counts vary.
//
// Arrays: distance[n], flags[n] (bytes), thresholds[3][2] (weight_t), lightest_out[n],
// lightest_in[n] (the latter null without the in-criterion), arrivals (uint32, 0), counts[5]
// (uint64, 0: iterations, settled, working, edges, stuck), trace[2][trace_size] (uint64, 0) or null:
// frontier and edges of each iteration.
// Launch: cooperative, whole warps, any grid that is resident at once.
// Races, harmless: distances fall by atomic minimum; relax reads another vertex's distance with
// a relaxed load only to skip atomics. Thresholds rotate over three slots: one is written, one
// may still be read by a slower block, one is reset; barriers separate them.
//
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/grid_barrier.cuh
// requires: cuda/loops/settle.cuh
// requires: papers/ortega_arranz_2015/crauser/policy.cuh

enum Flag : flag_t { kOpen = 0, kSettled = 1, kFrontier = 2 };

struct FusedWork {
  uint64 settled = 0, working = 0, edges = 0;
};

__device__ __forceinline__ void relax_edge(const Edge* edges, offset_t e, weight_t d,
                                           weight_t* distance) {
  const Edge edge = load_edge(edges, e);
  const weight_t sum = add_saturating(d, edge_weight(edge));
  weight_t* const target = distance + edge.target;
  if (sum < load_relaxed(target)) atomic_minimum(target, sum);
}

// One warp's 32 vertices; all lanes call. Returns this lane's edges, 0 for a vertex not in the
// frontier.
__device__ __forceinline__ uint64 relax_warp(long long v, long long n, const offset_t* offsets,
                                             const Edge* edges, weight_t* distance, flag_t* flags,
                                             bool* working) {
  const bool mine = v < n && flags[v] == kFrontier;
  *working = mine;
  if (__ballot_sync(kAllLanes, mine) == 0) return 0;
  offset_t begin = 0, end = 0;
  weight_t d = weight_t(0);
  if (mine) {
    flags[v] = kSettled;
    begin = offsets[v];
    end = offsets[v + 1];
    d = load_relaxed(distance + v);
  }
  const bool shared_row = end - begin >= 32;
  for (uint32 rows = __ballot_sync(kAllLanes, shared_row); rows != 0; rows &= rows - 1) {
    const int owner = __ffs(rows) - 1;
    const offset_t last = __shfl_sync(kAllLanes, end, owner);
    const weight_t from = __shfl_sync(kAllLanes, d, owner);
    for (offset_t e = __shfl_sync(kAllLanes, begin, owner) + lane_id(); e < last; e += 32)
      relax_edge(edges, e, from, distance);
  }
  if (!shared_row)
    for (offset_t e = begin; e < end; ++e) relax_edge(edges, e, d, distance);
  return uint64(end - begin);
}

template <class Policy>
__device__ __forceinline__ void crauser_loop(const Policy& policy, long long n, long long source,
                                             const offset_t* offsets, const Edge* edges,
                                             weight_t* distance, flag_t* flags,
                                             weight_t* thresholds, uint32* arrivals, uint64* counts,
                                             weight_t limit, uint64* trace, long long trace_size,
                                             long long max_iterations) {
  __shared__ weight_t scratch[Policy::kValues][32];
  const bool first_thread = global_thread() == 0;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = global_thread(), first_of_warp = first & ~31ll;
  for (long long v = first; v < n; v += stride) {
    distance[v] = v == source ? weight_t(0) : unreached();
    flags[v] = v == source ? kFrontier : kOpen;
  }
  if (first_thread)
    for (int i = 0; i < 6; ++i) thresholds[i] = unreached();
  grid_barrier(arrivals);

  FusedWork work;
  long long iteration = 0;
  while (true) {
    if (iteration >= max_iterations) {  // the watchdog: an iteration settles at least one vertex
      if (first_thread) counts[4] = 1;
      break;
    }
    uint64 working_now = 0, edges_now = 0;
    for (long long base = first_of_warp; base < n; base += stride) {
      bool working;
      edges_now += relax_warp(base + lane_id(), n, offsets, edges, distance, flags, &working);
      working_now += working;
    }
    work.working += working_now;
    work.edges += edges_now;
    if (trace != nullptr && iteration < trace_size) {
      const uint64 vertices = warp_sum(working_now), looked_at = warp_sum(edges_now);
      if (lane_id() == 0 && vertices != 0) {
        atomicAdd(&trace[iteration], vertices);
        atomicAdd(&trace[trace_size + iteration], looked_at);
      }
    }
    grid_barrier(arrivals);

    weight_t* const slot = thresholds + 2 * (iteration % 3);
    weight_t least[Policy::kValues];
#pragma unroll
    for (int k = 0; k < Policy::kValues; ++k) least[k] = unreached();
    for (long long v = first; v < n; v += stride)
      if (flags[v] == kOpen) policy.see(v, load_relaxed(distance + v), least);
#pragma unroll
    for (int k = 0; k < Policy::kValues; ++k) {
      const weight_t found = block_min(least[k], scratch[k]);
      if (threadIdx.x == 0 && found < unreached()) atomic_minimum(slot + k, found);
    }
    if (first_thread) {
      weight_t* const next = thresholds + 2 * ((iteration + 1) % 3);
      next[0] = next[1] = unreached();
    }
    grid_barrier(arrivals);

    ++iteration;
    const weight_t threshold = load_relaxed(slot);
    const weight_t second = load_relaxed(slot + Policy::kValues - 1);
    if (threshold == unreached()) break;
    for (long long v = first; v < n; v += stride)
      if (flags[v] == kOpen && policy.settles(v, load_relaxed(distance + v), threshold, second)) {
        flags[v] = kFrontier;
        ++work.settled;
      }
    if (threshold > limit) break;
    grid_barrier(arrivals);
  }

  const uint64 settled = warp_sum(work.settled), working = warp_sum(work.working);
  const uint64 looked_at = warp_sum(work.edges);
  if (lane_id() == 0 && (settled | working) != 0) {
    atomicAdd(&counts[1], settled);
    atomicAdd(&counts[2], working);
    atomicAdd(&counts[3], looked_at);
  }
  if (first_thread) counts[0] = uint64(iteration);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    fused_out(long long n, long long source, const offset_t* offsets, const Edge* edges,
              const weight_t* lightest_out, const weight_t* lightest_in, weight_t* distance,
              flag_t* flags, weight_t* thresholds, uint32* arrivals, uint64* counts, weight_t limit,
              uint64* trace, long long trace_size, long long max_iterations) {
  crauser_loop(OutCriterion{lightest_out}, n, source, offsets, edges, distance, flags, thresholds,
               arrivals, counts, limit, trace, trace_size, max_iterations);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    fused_in_out(long long n, long long source, const offset_t* offsets, const Edge* edges,
                 const weight_t* lightest_out, const weight_t* lightest_in, weight_t* distance,
                 flag_t* flags, weight_t* thresholds, uint32* arrivals, uint64* counts,
                 weight_t limit, uint64* trace, long long trace_size,
                 long long max_iterations) {
  crauser_loop(InOutCriterion{{lightest_out}, {lightest_in}}, n, source, offsets, edges, distance,
               flags, thresholds, arrivals, counts, limit, trace, trace_size, max_iterations);
}
