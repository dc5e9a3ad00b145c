// Kernels of the compound frontier on adjacency lists: minimum (one and two passes), update,
// and the relax forms that only this family has.
//
// Martin, Torres and Gavilanes (2009): minimum1 and minimum2 (sections 3 and 4.1), update (Fig.
// 4), U-GPU-PLUS (section 4.2) and F-GPU without atomics (section 4.1, "introduced for
// measuring purposes, since it is not correct"). settle_relax.cuh has relax_F and relax_U. On
// the GPUs of 2009 U-GPU-PLUS read the frontier flags through a texture; here it uses the
// read-only path (ld.global.nc).
//
// Launch: minimum with ceil(n / 2b) blocks of b threads, minimum_again with ceil(count / 2b),
// the others with one thread per vertex. relax_predecessors_plus needs (b + 1) * sizeof(offset_t)
// bytes of shared memory.
// Races: relax_successors_no_atomics has a write-after-write race between frontier vertices
// that share a successor, on purpose. The others have none (settle.cuh, settle_relax.cuh).
//
// requires: cuda/loops/settle_relax.cuh
// requires: papers/martin_2009/frontier/policy.cuh

extern "C" __global__ void minimum(long long n, const weight_t* distance, const flag_t* unsettled,
                                   weight_t* partial) {
  settle_minimum(EqualMinimum{}, n, distance, unsettled, partial);
}

// minimum2: the same reduction over the first pass's results.
extern "C" __global__ void minimum_again(long long count, const weight_t* values,
                                         weight_t* partial) {
  __shared__ weight_t scratch[32];
  const long long i = static_cast<long long>(blockIdx.x) * 2 * blockDim.x + threadIdx.x;
  const long long j = i + blockDim.x;
  const weight_t first = i < count ? values[i] : unreached();
  const weight_t second = j < count ? values[j] : unreached();
  const weight_t found = block_min(second < first ? second : first, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = found;
}

extern "C" __global__ void update(long long n, const weight_t* distance, flag_t* frontier,
                                  flag_t* unsettled, SettleCounts* counts, weight_t first,
                                  weight_t second) {
  settle_update(EqualMinimum{}, n, distance, frontier, unsettled, counts, first, second);
}

struct LowerByStore {
  __device__ void operator()(weight_t* p, weight_t sum) const {
    if (sum < *p) *p = sum;
  }
};

extern "C" __global__ void relax_successors_no_atomics(long long n, const offset_t* offsets,
                                                       const Edge* edges, weight_t* distance,
                                                       const flag_t* frontier,
                                                       const flag_t* unsettled,
                                                       SettleCounts* counts) {
  relax_successors_by(LowerByStore{}, n, offsets, edges, distance, frontier, unsettled, counts);
}

extern "C" __global__ void relax_predecessors_plus(long long n, const offset_t* offsets,
                                                   const Edge* edges, weight_t* distance,
                                                   const flag_t* __restrict__ frontier,
                                                   const flag_t* unsettled, SettleCounts* counts) {
  extern __shared__ long long shared_words[];
  offset_t* const bounds = reinterpret_cast<offset_t*>(shared_words);
  const long long i = global_thread();
  // Every thread stages the start of its own row; the last one of the block, or of the graph, also
  // the end.
  if (i < n) {
    bounds[threadIdx.x] = offsets[i];
    if (threadIdx.x == blockDim.x - 1 || i == n - 1) bounds[threadIdx.x + 1] = offsets[i + 1];
  }
  __syncthreads();
  const bool working = i < n && unsettled[i];
  offset_t begin = 0, end = 0;
  if (working) {
    begin = bounds[threadIdx.x];
    end = bounds[threadIdx.x + 1];
    const weight_t before = distance[i];
    weight_t best = before;
    for (offset_t e = begin; e < end; ++e) {
      const Edge edge = load_edge(edges, e);
      if (__ldg(&frontier[edge.target])) {
        const weight_t sum = add_saturating(distance[edge.target], edge_weight(edge));
        best = sum < best ? sum : best;
      }
    }
    if (best < before) distance[i] = best;
  }
  count_work(counts, working, uint64(end - begin));
}
