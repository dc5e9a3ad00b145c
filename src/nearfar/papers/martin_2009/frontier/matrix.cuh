// The relax step on an adjacency matrix, the flags staged in shared memory by chunks.
//
// Martin et al. (2009), section 5. matrix[u * n + v] is the weight of the edge u -> v,
// unreached() without an edge. A block walks all n entries in chunks of its b threads; before a
// chunk every thread stages one element: of frontier and distance for predecessors (thread t walks
// column t, so a warp reads neighbouring entries), of unsettled for successors (thread t walks
// row t). Departures: a block without a working thread returns at once, an entry without an edge is
// skipped before the atomic (its sum could not improve anything), sums saturate, work is counted.
//
// Launch: one thread per vertex. Shared memory: relax_columns b * (sizeof(weight_t) + 1) bytes,
// the two relax_rows b bytes.
// Races: relax_columns stages distances that their own threads may be lowering, but uses only
// those of frontier vertices, which no longer change. relax_rows_no_atomics races on purpose
// (section 4.1).
//
// requires: cuda/loops/settle.cuh

template <class T>
__device__ __forceinline__ T* shared_bytes() {
  extern __shared__ long long shared_words[];
  return reinterpret_cast<T*>(shared_words);
}

extern "C" __global__ void relax_columns(long long n, const weight_t* matrix, weight_t* distance,
                                         const flag_t* frontier, const flag_t* unsettled,
                                         SettleCounts* counts) {
  weight_t* const near_distance = shared_bytes<weight_t>();
  flag_t* const near_frontier = reinterpret_cast<flag_t*>(near_distance + blockDim.x);
  const long long t = global_thread();
  const bool working = t < n && unsettled[t];
  if (!__syncthreads_or(working)) return;
  const weight_t before = working ? distance[t] : weight_t(0);
  weight_t best = before;
  for (long long base = 0; base < n; base += blockDim.x) {
    const long long mine = base + threadIdx.x;
    if (mine < n) {
      near_frontier[threadIdx.x] = frontier[mine];
      near_distance[threadIdx.x] = distance[mine];
    }
    __syncthreads();
    const int chunk = static_cast<int>(n - base < blockDim.x ? n - base : blockDim.x);
    if (working)
      for (int k = 0; k < chunk; ++k)
        if (near_frontier[k]) {
          const weight_t sum = add_saturating(near_distance[k], matrix[(base + k) * n + t]);
          best = sum < best ? sum : best;
        }
    __syncthreads();
  }
  if (working && best < before) distance[t] = best;
  count_work(counts, working, uint64(n));
}

template <bool kAtomic>
__device__ __forceinline__ void relax_rows_with(long long n, const weight_t* matrix,
                                                weight_t* distance, const flag_t* frontier,
                                                const flag_t* unsettled, SettleCounts* counts) {
  flag_t* const open = shared_bytes<flag_t>();
  const long long t = global_thread();
  const bool working = t < n && frontier[t];
  if (!__syncthreads_or(working)) return;
  const weight_t d = working ? distance[t] : weight_t(0);
  for (long long base = 0; base < n; base += blockDim.x) {
    const long long mine = base + threadIdx.x;
    if (mine < n) open[threadIdx.x] = unsettled[mine];
    __syncthreads();
    const int chunk = static_cast<int>(n - base < blockDim.x ? n - base : blockDim.x);
    if (working)
      for (int k = 0; k < chunk; ++k) {
        if (!open[k]) continue;
        const weight_t sum = add_saturating(d, matrix[t * n + base + k]);
        if (sum == unreached()) continue;
        weight_t* const target = &distance[base + k];
        if (kAtomic)
          atomic_minimum(target, sum);
        else if (sum < *target)
          *target = sum;
      }
    __syncthreads();
  }
  count_work(counts, working, uint64(n));
}

extern "C" __global__ void relax_rows(long long n, const weight_t* matrix, weight_t* distance,
                                      const flag_t* frontier, const flag_t* unsettled,
                                      SettleCounts* counts) {
  relax_rows_with<true>(n, matrix, distance, frontier, unsettled, counts);
}

extern "C" __global__ void relax_rows_no_atomics(long long n, const weight_t* matrix,
                                                 weight_t* distance, const flag_t* frontier,
                                                 const flag_t* unsettled, SettleCounts* counts) {
  relax_rows_with<false>(n, matrix, distance, frontier, unsettled, counts);
}
