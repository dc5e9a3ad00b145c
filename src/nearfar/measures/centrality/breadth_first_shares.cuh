// Betweenness without weights: one thread block per source, level by level, then in reverse.
//
// Brandes 2001 (path_shares.cuh). Bitmaps in shared memory classify an edge: `done` holds the
// levels before the present one, `seen` every vertex found so far. Forward, at a vertex of level L:
// an entering edge from a vertex in `done` comes from level L - 1 (from a nearer one the vertex
// would be nearer), so the number of paths is a sum over those edges; a leaving edge to a vertex
// not in `seen` finds that vertex. Where rows hold both directions of every edge (SYMMETRIC) one
// walk does both. Backward, with levels up to L in `done`: an edge to a vertex not in `done` leads
// to level L + 1. Levels are never stored, and only edges between levels read more of global memory
// than the edge.
//
// Blocks take sources blockIdx.x, blockIdx.x + gridDim.x, ... and add to their own sums, so the
// order of additions does not depend on other blocks. The order of the vertices of a level is not
// deterministic (atomics on `seen` and on the queue's length) and changes no result.
//
// Arrays: offsets n + 1, edges m (targets only); entering_*: of the reversed graph, unless
// SYMMETRIC; bits: gridDim.x slices of 2 * words, or null to keep them in shared memory
// (BITS_SHARED: 8 * words bytes of dynamic shared memory), words = (n + 31) / 32.
// requires: measures/centrality/path_shares.cuh
// requires: cuda/primitives/memory.cuh

struct Bits {
  uint32* words;

  __device__ __forceinline__ bool has(int v) const {
    const uint32* word = words + (v >> 5);
#if BITS_SHARED
    return *const_cast<const volatile uint32*>(word) >> (v & 31) & 1;
#else
    return load_relaxed(word) >> (v & 31) & 1;  // atomics bypass L1
#endif
  }
  // Sets the vertex's bit; true if it was not set.
  __device__ __forceinline__ bool add(int v) const {
    const uint32 bit = 1u << (v & 31);
    return !(atomicOr(words + (v >> 5), bit) & bit);
  }
  __device__ __forceinline__ void remove(int v) const {
    atomicAnd(words + (v >> 5), ~(1u << (v & 31)));
  }
};

// Forward: numbers of paths over `entering`, new vertices over leaving edges, or both.
template <bool kCount, bool kFind>
struct Outwards {
  typedef Edge Item;
  struct Seen {
    Count part;
    bool fresh;
  };
  const Edge* edges;
  Bits done, seen;
  Count* values;
  int* queue;
  int* tail;
  int* many;
  int source;
  bool deeper;
  int vertex;
  int v;
  Count sum;

  template <int Lanes>
  __device__ __forceinline__ void open(int owner, offset_t) {
    v = of_owner<Lanes>(vertex, owner);
    sum = Count{};
  }
  __device__ __forceinline__ Item load(offset_t at) { return load_edge(edges, at); }
  __device__ __forceinline__ Seen look(bool there, offset_t, const Edge& edge) {
    Seen found{};
    if (!there) return found;
    const bool before = kCount && done.has(edge.target);
    if (before) found.part = values[edge.target];
    found.fresh = kFind && deeper && !before && !seen.has(edge.target);
    return found;
  }
  template <int Lanes>
  __device__ __forceinline__ void take(bool, offset_t, const Edge& edge, const Seen& found) {
    if constexpr (kCount) sum = sum_of(sum, found.part);
    if constexpr (kFind) append(found.fresh && seen.add(edge.target), edge.target, queue, tail);
  }
  template <int Lanes>
  __device__ __forceinline__ void close(bool there, bool first) {
    if constexpr (kCount) {
      sum = group_sum<Lanes>(sum);
      if (!there || !first) return;
      const Count paths = v == source ? count_of(1) : sum;
      values[v] = paths;
      if (too_many(paths)) *many = 1;
    }
  }
};

// Backward: an edge that leaves `done` leads to the next level.
struct NextLevel {
  typedef Edge Item;
  const Edge* edges;
  Bits done;
  bool last;  // vertices not in `done` are beyond the limit
  __device__ __forceinline__ Item load(offset_t at) const { return load_edge(edges, at); }
  __device__ __forceinline__ bool leads(const Item& item, offset_t at, int* target,
                                        offset_t* edge) const {
    *target = item.target;
    *edge = at;
    return !last && !done.has(item.target);
  }
};

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    breadth_first_shares(const offset_t* offsets, const Edge* edges, const offset_t* entering_offsets,
                         const Edge* entering_edges, const int* sources, long long limit,
                         uint32* bits, const __grid_constant__ PathSums all) {
  extern __shared__ uint32 shared_bits[];
  __shared__ int tail, many, ended;
  const int n = static_cast<int>(all.n), words = (n + 31) / 32;
#if BITS_SHARED
  uint32* const mine_bits = shared_bits;
#else
  uint32* const mine_bits = bits + static_cast<size_t>(blockIdx.x) * 2 * words;
#endif
  const Bits done{mine_bits}, seen{mine_bits + words};
  const BlockSums mine(all);
  for (long long i = blockIdx.x; i < all.sources; i += gridDim.x) {
    const int source = sources[i];
    const double weight = all.weights ? all.weights[i] : 1;
    for (int w = threadIdx.x; w < 2 * words; w += blockDim.x) mine_bits[w] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
      seen.add(source);
      mine.order[0] = source;
      mine.bounds[0] = 0;
      mine.bounds[1] = 1;
      tail = 1;
      many = ended = 0;
    }
    __syncthreads();
    int low = 0, high = 1, levels = 0;
    while (low < high) {
      const bool deeper = levels < limit;
#if SYMMETRIC
      Outwards<true, true> both{edges, done, seen, mine.values, mine.order, &tail, &many, source, deeper};
      walk_vertices(mine.order, low, high, offsets, nullptr, both);
#else
      Outwards<true, false> count{entering_edges, done,  seen,   mine.values, mine.order,
                                  &tail,          &many, source, deeper};
      walk_vertices(mine.order, low, high, entering_offsets, nullptr, count);
      Outwards<false, true> find{edges, done, seen, mine.values, mine.order, &tail, &many, source, deeper};
      walk_vertices(mine.order, low, high, offsets, nullptr, find);
#endif
      __syncthreads();
      const int next = tail;
      for (int j = low + threadIdx.x; j < high; j += blockDim.x) done.add(mine.order[j]);
      ++levels;
      if (threadIdx.x == 0) mine.bounds[levels + 1] = next;
      __syncthreads();
      low = high;
      high = next;
    }
    const int reached = high;
    if (threadIdx.x == 0) {
      all.reached[i] = reached;
      if (many) all.status[i] = kTooManyPaths;
    }
    if (many || all.forward_only) continue;
    for (int level = levels - 1; level >= (EDGES ? 0 : 1); --level) {
      const int from = mine.bounds[level], to = mine.bounds[level + 1];
      const bool last = level == levels - 1;
      if (!last) {
        const int end = mine.bounds[level + 2];
        for (int j = to + threadIdx.x; j < end; j += blockDim.x) done.remove(mine.order[j]);
        __syncthreads();
      }
      const NextLevel next{edges, done, last};
      Shares<NextLevel> shares{next, all, mine, weight, &ended};
      walk_vertices(mine.order, from, to, offsets, nullptr, shares);
      __syncthreads();
    }
    add_source(all, mine, reached, ended);
  }
}
