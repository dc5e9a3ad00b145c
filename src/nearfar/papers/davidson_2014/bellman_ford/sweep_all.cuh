// Bellman-Ford, one thread per vertex: relax every edge of every reached vertex until nothing
// changes.
//
// The baseline of the near-far paper (section II.B and V), there LonestarGPU's code: no queue, no ordering,
// O(n m) work at worst. *last is the number of iterations up to and including the last one that improved a
// distance; iteration k returns at once unless k - 1 did, so the host may launch ahead. Races: a distance read
// may be improved by another thread in the same iteration; that thread then sets *last and the next iteration
// reads the new distance. All writers of *last in an iteration write the same value.
// Launch: blocks of 256, any grid, grid-stride. counters[0] iterations, [1] edges, [2] vertices.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/warp.cuh

extern "C" __global__ void start_all(weight_t* distance, long long n, long long source, uint32* last,
                                     uint64* counters) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long me = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long v = me; v < n; v += stride) distance[v] = v == source ? weight_t(0) : unreached();
  if (me == 0) *last = 0;  // the source got its distance in "iteration -1"
  if (me < 3) counters[me] = 0;
}

extern "C" __global__ void __launch_bounds__(256)
    sweep_all(const offset_t* offsets, const Edge* edges, weight_t* distance, long long n, weight_t limit,
              uint32* last, uint64* counters, uint32 iteration) {
  if (load_relaxed(last) < iteration) return;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long me = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (me == 0) counters[0] += 1;
  bool improved = false;
  uint64 relaxed = 0, processed = 0;
  for (long long v = me; v < n; v += stride) {
    const weight_t d = load_relaxed(distance + v);
    if (d == unreached()) continue;
    const offset_t end = offsets[v + 1];
    ++processed;
    relaxed += end - offsets[v];
    for (offset_t e = offsets[v]; e < end; ++e) {
      const Edge edge = load_edge(edges, e);
      const weight_t candidate = add_saturating(d, edge_weight(edge));
      if (candidate < load_relaxed(distance + edge.target) && !(candidate > limit))
        improved |= candidate < atomic_minimum(distance + edge.target, candidate);
    }
  }
  if (__any_sync(kAllLanes, improved) && lane_id() == 0) *last = iteration + 1;
  relaxed = warp_sum(relaxed);
  processed = warp_sum(processed);
  if (lane_id() == 0 && processed) {
    atomicAdd(&counters[1], relaxed);
    atomicAdd(&counters[2], processed);
  }
}
