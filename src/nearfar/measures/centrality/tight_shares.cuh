// Betweenness with weights: one thread block per source, from its finished distances.
//
// An edge is tight when d[u] + w == d[v]; the tight edges are the edges of the shortest paths
// (path_shares.cuh). First every edge is tested once (for both of its directions where rows hold
// both, SYMMETRIC), and each vertex keeps a list of its tight edges and one of its predecessors, at
// the places of its rows. Then vertices are taken in rounds: one whose predecessors all have their
// numbers gets its own (Kahn 1962), so no distances are sorted and edges of weight zero need no
// rule of their own. Vertices never reached in this way depend on a cycle of weight zero, which the
// host reports. The backward pass takes the same rounds.
//
// Blocks take sources blockIdx.x, blockIdx.x + gridDim.x, ... Lists have the order of the rows, so
// every sum has one order; the order of the vertices of a round depends on atomics and changes
// nothing.
//
// Arrays: offsets n + 1, edges m; entering_*: of the reversed graph, unless SYMMETRIC; distances: a
// row of n per source; next, before: per block m entries (next: edges with EDGES, else targets);
// counts: per block 3 n.
// requires: measures/centrality/path_shares.cuh

// Returns true if the sum equals the distance and both vertices are reached. *beyond: the sum does
// not fit.
__device__ __forceinline__ bool is_tight(weight_t from, weight_t weight, weight_t to, bool* beyond) {
  if constexpr (static_cast<weight_t>(0.5) != 0) {
    const weight_t sum = from + weight;
    *beyond = *beyond || !(sum < unreached());
    return sum == to;
  } else {
    const uint64 sum = static_cast<uint64>(from) + static_cast<uint64>(weight);
    *beyond = *beyond || sum >= static_cast<uint64>(unreached());
    return sum == static_cast<uint64>(to);
  }
}

// Inputs of the rounds: tight edges out of each vertex (kNext), into it (kBefore), or both in one walk.
template <bool kNext, bool kBefore>
struct Sorting {
  typedef Edge Item;
  typedef weight_t Seen;
  const Edge* edges;
  const weight_t* distance;
  int *next, *before, *n_next, *n_before, *waiting;
  int* reached;
  bool* beyond;
  int vertex;
  int v;
  weight_t d;
  offset_t begin;
  int leaving, entering;

  template <int Lanes>
  __device__ __forceinline__ void open(int owner, offset_t from) {
    v = of_owner<Lanes>(vertex, owner);
    d = distance[v];
    begin = from;
    leaving = entering = 0;
  }
  __device__ __forceinline__ Item load(offset_t at) { return load_edge(edges, at); }

  // Appends to the row's list in the order of the row.
  template <int Lanes>
  __device__ __forceinline__ void keep(bool wanted, int* list, int* length, int entry) {
    if constexpr (Lanes == 1) {
      if (wanted) list[begin + (*length)++] = entry;
      return;
    }
    const uint32 votes = __ballot_sync(kAllLanes, wanted);
    const int first = lane_id() & ~(Lanes - 1);
    const uint32 group = votes >> first & (Lanes == 32 ? kAllLanes : (1u << (Lanes & 31)) - 1);
    if (wanted) list[begin + *length + __popc(group & ((1u << (lane_id() - first)) - 1))] = entry;
    *length += __popc(group);
  }
  __device__ __forceinline__ weight_t look(bool there, offset_t, const Edge& edge) {
    return there && d != unreached() ? distance[edge.target] : unreached();
  }
  template <int Lanes>
  __device__ __forceinline__ void take(bool there, offset_t at, const Edge& edge, weight_t other) {
    bool leads = false, comes = false;
    if (there && d != unreached()) {
      const weight_t weight = edge_weight(edge);
      const bool both = other != unreached();
      bool ignored = false;
      if constexpr (kNext) leads = is_tight(d, weight, other, beyond) && both;
      if constexpr (kBefore) comes = both && is_tight(other, weight, d, &ignored);
    }
    if constexpr (kNext) keep<Lanes>(leads, next, &leaving, EDGES ? static_cast<int>(at) : edge.target);
    if constexpr (kBefore) keep<Lanes>(comes, before, &entering, edge.target);
  }
  template <int Lanes>
  __device__ __forceinline__ void close(bool there, bool first) {
    if (!there || !first || d == unreached()) return;
    if constexpr (kNext) {
      n_next[v] = leaving;
      atomicAdd(reached, 1);
    }
    if constexpr (kBefore) n_before[v] = waiting[v] = entering;
  }
};

// The number of paths of a vertex whose predecessors have theirs.
struct Numbers {
  typedef int Item;
  typedef Count Seen;
  const int* before;
  Count* values;
  int* many;
  int source;
  int vertex;
  int v;
  Count sum;

  template <int Lanes>
  __device__ __forceinline__ void open(int owner, offset_t) {
    v = of_owner<Lanes>(vertex, owner);
    sum = Count{};
  }
  __device__ __forceinline__ Item load(offset_t at) { return before[at]; }
  __device__ __forceinline__ Count look(bool there, offset_t, int from) {
    return there ? values[from] : Count{};
  }
  template <int Lanes>
  __device__ __forceinline__ void take(bool, offset_t, int, const Count& part) {
    sum = sum_of(sum, part);
  }
  template <int Lanes>
  __device__ __forceinline__ void close(bool there, bool first) {
    sum = group_sum<Lanes>(sum);
    if (!there || !first) return;
    const Count paths = v == source ? count_of(1) : sum;
    values[v] = paths;
    if (too_many(paths)) *many = 1;
  }
};

__device__ __forceinline__ int target_of(const Edge* edges, int entry) {
  return EDGES ? static_cast<int>(load_edge(edges, entry).target) : entry;
}

// Moves successors whose last predecessor this was to the next round.
struct Release {
  typedef int Item;
  typedef int Seen;  // the vertex that is ready, or -1
  const Edge* edges;
  const int* next;
  int* waiting;
  int* queue;
  int* tail;
  int vertex;

  template <int Lanes>
  __device__ __forceinline__ void open(int, offset_t) {}
  __device__ __forceinline__ Item load(offset_t at) { return next[at]; }
  __device__ __forceinline__ int look(bool there, offset_t, int entry) {
    if (!there) return -1;
    const int target = target_of(edges, entry);
    return atomicSub(waiting + target, 1) == 1 ? target : -1;
  }
  template <int Lanes>
  __device__ __forceinline__ void take(bool, offset_t, int, int ready) {
    append(ready >= 0, ready, queue, tail);
  }
  template <int Lanes>
  __device__ __forceinline__ void close(bool, bool) {}
};

struct NextTight {
  typedef int Item;
  const Edge* edges;
  const int* next;
  __device__ __forceinline__ Item load(offset_t at) const { return next[at]; }
  __device__ __forceinline__ bool leads(int entry, offset_t, int* target, offset_t* edge) const {
    *target = target_of(edges, entry);
    *edge = entry;
    return true;
  }
};

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    tight_shares(const offset_t* offsets, const Edge* edges, const offset_t* entering_offsets,
                 const Edge* entering_edges, const int* sources, const weight_t* distances,
                 long long endless, int* next, int* before, int* counts, long long m,
                 const __grid_constant__ PathSums all) {
  __shared__ int tail, many, ended, reached, too_far;
  const int n = static_cast<int>(all.n);
  next += blockIdx.x * m;
  before += blockIdx.x * m;
  int* const n_next = counts + static_cast<size_t>(blockIdx.x) * 3 * n;
  int* const n_before = n_next + n;
  int* const waiting = n_before + n;
  const BlockSums mine(all);
  for (long long i = blockIdx.x; i < all.sources; i += gridDim.x) {
    const int source = sources[i];
    const double weight = all.weights ? all.weights[i] : 1;
    const weight_t* distance = distances + i * n;
    __syncthreads();
    if (threadIdx.x == 0) many = ended = reached = too_far = 0;
    __syncthreads();
    bool beyond = false;
#if SYMMETRIC
    Sorting<true, true> both{edges,  distance, next,     before, n_next,
                             n_before, waiting,  &reached, &beyond};
    walk_vertices(nullptr, 0, n, offsets, nullptr, both);
#else
    Sorting<true, false> leaving{edges,  distance, next,     before, n_next,
                                 n_before, waiting,  &reached, &beyond};
    walk_vertices(nullptr, 0, n, offsets, nullptr, leaving);
    Sorting<false, true> entering{entering_edges, distance, next,     before, n_next,
                                  n_before,       waiting,  &reached, &beyond};
    walk_vertices(nullptr, 0, n, entering_offsets, nullptr, entering);
#endif
    if (beyond && endless) too_far = 1;
    __syncthreads();
    const bool looped = n_before[source] != 0;
    if (threadIdx.x == 0) {
      mine.order[0] = source;
      mine.bounds[0] = 0;
      mine.bounds[1] = 1;
      tail = 1;
      all.reached[i] = reached;
      if (too_far || looped) all.status[i] = too_far ? kSaturated : kZeroCycle;
    }
    if (too_far || looped) continue;
    __syncthreads();
    int low = 0, high = 1, levels = 0;
    while (low < high) {
      Numbers numbers{before, mine.values, &many, source};
      Release release{edges, next, waiting, mine.order, &tail};
      walk_vertices(mine.order, low, high, entering_offsets, n_before, numbers);
      walk_vertices(mine.order, low, high, offsets, n_next, release);
      __syncthreads();
      low = high;
      high = tail;
      ++levels;
      if (threadIdx.x == 0) mine.bounds[levels + 1] = high;
      __syncthreads();
    }
    const bool cycle = high != reached;
    if (threadIdx.x == 0 && (cycle || many)) all.status[i] = cycle ? kZeroCycle : kTooManyPaths;
    if (cycle || many || all.forward_only) continue;
    const NextTight tight{edges, next};
    for (int level = levels - 1; level >= (EDGES ? 0 : 1); --level) {
      Shares<NextTight> shares{tight, all, mine, weight, &ended};
      walk_vertices(mine.order, mine.bounds[level], mine.bounds[level + 1], offsets, n_next, shares);
      __syncthreads();
    }
    add_source(all, mine, reached, ended);
  }
}
