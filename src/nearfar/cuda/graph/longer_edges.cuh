// Finds edges that are longer than another path between their ends, and copies a graph without
// them: what cpu/graph/backbone.cpp does on cores, where the margin for floats is explained.
//
// Paths over one vertex, the pivot: distances from it, and to it, come from sweeps over all edges,
// in which a path grows by one edge: the number of sweeps bounds the edges of a path, and directed
// graphs are not reversed.
//
// Short searches: a warp finds paths from a vertex over the few nearest ones. Labels may be lost
// where many compete for a place, so that which edges are found depends on the order of threads.
//
// Arrays: offsets[n + 1], edges[m], tails[m] (vertex_t); distances[n] (weight_t); longer[m]: bytes,
// 0 at first; kept_of[gridDim.x]: edges of a block's `share` that are kept; starts[gridDim.x]:
// their sums before. `farthest` + from[u]: no path to u is longer, or `farthest` if `from` is null;
// `error`: as in backbone.cpp, 0 for integers.
// Launch: any grid, for sweep a cooperative one in blocks of 256 threads; count_kept and copy_kept
// the same one, in blocks of at most 1024 threads; search_shortly in blocks of kSearches warps.
// Races: minima and flags only.
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/grid_barrier.cuh
// requires: cuda/primitives/warp.cuh

__device__ __forceinline__ long long first_index() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ long long grid_stride() {
  return static_cast<long long>(gridDim.x) * blockDim.x;
}

extern "C" __global__ void find_tails(const offset_t* offsets, long long n, long long m,
                                      vertex_t* tails) {
  for (long long i = first_index(); i < m; i += grid_stride()) {
    long long low = 0, high = n;  // offsets[low] <= i < offsets[high]
    while (high - low > 1) {
      const long long middle = (low + high) / 2;
      (offsets[middle] <= i ? low : high) = middle;
    }
    tails[i] = static_cast<vertex_t>(low);
  }
}

// Finds distances from the pivot, or to it, in sweeps: `distances` and `next` take turns and are
// equal at the end. changed[sweep], 0 at first: whether it lowered one; the first that did not is
// the last.
extern "C" __global__ void __launch_bounds__(256)
    sweep(const Edge* edges, const vertex_t* tails, long long n, long long m, long long pivot,
          int away, int most_sweeps, weight_t* distances, weight_t* next, int* changed,
          uint32* barrier) {
  for (long long v = first_index(); v < n; v += grid_stride())
    distances[v] = v == pivot ? weight_t(0) : unreached();
  grid_barrier(barrier);
  for (int round = 0; round < most_sweeps; ++round) {
    weight_t* const before = round % 2 == 0 ? distances : next;
    weight_t* const after = round % 2 == 0 ? next : distances;
    for (long long v = first_index(); v < n; v += grid_stride())
      after[v] = load_relaxed(before + v);
    grid_barrier(barrier);
    bool lowered = false;
    for (long long i = first_index(); i < m; i += grid_stride()) {
      const Edge edge = load_edge(edges, static_cast<offset_t>(i));
      const vertex_t tail = tails[i], nearer = away ? tail : edge.target;
      const vertex_t farther = away ? edge.target : tail;
      const weight_t sum = add_saturating(load_relaxed(before + nearer), edge_weight(edge));
      if (!(sum < load_relaxed(before + farther))) continue;
      lowered = true;
      if (sum < load_relaxed(after + farther)) atomic_minimum(after + farther, sum);
    }
    if (lowered) changed[round] = 1;
    grid_barrier(barrier);
    if (load_relaxed(changed + round) == 0) return;
  }
}

__device__ __forceinline__ bool exceeds(weight_t weight, weight_t bound, double error,
                                        double reach) {
  if (!(error > 0)) return weight > bound;
  return static_cast<double>(weight) - static_cast<double>(bound) > error * (reach + weight);
}

__device__ __forceinline__ double reach_of(long long vertex, double farthest,
                                           const weight_t* from) {
  return from == nullptr ? farthest : farthest + static_cast<double>(from[vertex]);
}

// Sets longer[i] of edges longer than the path over the pivot. to[], from[]: distances to it and
// from it.
extern "C" __global__ void drop_by_pivot(const Edge* edges, const vertex_t* tails, long long m,
                                         const weight_t* to, const weight_t* from, double farthest,
                                         double error, unsigned char* longer) {
  for (long long i = first_index(); i < m; i += grid_stride()) {
    const Edge edge = load_edge(edges, static_cast<offset_t>(i));
    const vertex_t tail = tails[i];
    const weight_t bound = add_saturating(to[tail], from[edge.target]);
    if (exceeds(edge_weight(edge), bound, error, reach_of(tail, farthest, from))) longer[i] = 1;
  }
}

constexpr int kSearches = 8;  // of a block, one per warp
constexpr int kSlotBits = 8;  // of the table of a search
constexpr int kSlots = 1 << kSlotBits;
constexpr int kProbes = 8;            // places at which a vertex may be
constexpr int kLongRow = kSlots / 2;  // edges from which a vertex keeps all
constexpr int kLooked = 64;           // edges of another row that a search looks at
constexpr int kOwn = kSlots / 32;     // slots in which a lane looks for the nearest vertex
constexpr int kFree = -1;

// Lengths of paths from a vertex, by the vertices where they end.
struct PathTable {
  int names[kSlots];
  weight_t lengths[kSlots];

  __device__ __forceinline__ static int place(vertex_t vertex) {
    return static_cast<int>((static_cast<uint32>(vertex) * 2654435769u) >> (32 - kSlotBits));
  }
  __device__ void clear() {
    for (int slot = lane_id(); slot < kSlots; slot += 32) {
      names[slot] = kFree;
      lengths[slot] = unreached();
    }
  }
  __device__ weight_t length(vertex_t vertex) const {
    for (int probe = 0, slot = place(vertex); probe < kProbes;
         ++probe, slot = (slot + 1) % kSlots) {
      if (names[slot] == vertex) return lengths[slot];
      if (names[slot] == kFree) break;
    }
    return unreached();
  }
  __device__ void lower(vertex_t vertex, weight_t length) {
    for (int probe = 0, slot = place(vertex); probe < kProbes;
         ++probe, slot = (slot + 1) % kSlots) {
      const int before = atomicCAS(&names[slot], kFree, static_cast<int>(vertex));
      if (before != kFree && before != vertex) continue;
      atomic_minimum(&lengths[slot], length);
      return;
    }
  }
};

// The least length of a lane's slots, and its slot.
struct Nearest {
  weight_t length;
  int slot;

  __device__ __forceinline__ bool before(const Nearest& other) const {
    return length < other.length || (length == other.length && slot < other.slot);
  }
};

__device__ __forceinline__ Nearest nearest_of_warp(Nearest nearest) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    const Nearest other{__shfl_xor_sync(kAllLanes, nearest.length, step),
                        __shfl_xor_sync(kAllLanes, nearest.slot, step)};
    if (other.before(nearest)) nearest = other;
  }
  return nearest;
}

__device__ __forceinline__ weight_t greatest_of_warp(weight_t value) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    const weight_t other = __shfl_xor_sync(kAllLanes, value, step);
    if (value < other) value = other;
  }
  return value;
}

// Sets longer[e] of edges longer than a path that a short search from their tail finds, for every
// `step`th vertex. both_ways: every edge has the same weight in the other direction, and the rows
// of neighbours are looked at too. found[0] counts the edges of these vertices that were not
// marked before, found[1] those marked now.
extern "C" __global__ void search_shortly(const Edge* edges, const offset_t* offsets, long long n,
                                          long long step, int most_settled, int both_ways,
                                          const weight_t* from, double farthest, double error,
                                          unsigned char* longer, unsigned long long* found) {
  __shared__ PathTable tables[kSearches];
  PathTable& table = tables[threadIdx.x / 32];
  const int lane = lane_id();
  uint32 looked = 0, marked = 0;
  for (long long u = first_index() / 32 * step; u < n; u += grid_stride() / 32 * step) {
    const offset_t begin = offsets[u], end = offsets[u + 1];
    if (end - begin > kLongRow) continue;
    weight_t most = 0;
    for (offset_t e = begin + lane; e < end; e += 32) {
      const weight_t weight = edge_weight(load_edge(edges, e));
      if (most < weight) most = weight;
    }
    most = greatest_of_warp(most);
    if (!(most > 0)) continue;  // nothing is shorter
    table.clear();
    __syncwarp();
    if (lane == 0) table.lower(static_cast<vertex_t>(u), 0);
    __syncwarp();
    uint32 settled = 0;  // own slots
    for (int round = 0; round < most_settled; ++round) {
      Nearest nearest{unreached(), kSlots};
      for (int own = 0; own < kOwn; ++own) {
        const int slot = own * 32 + lane;
        if (!(settled >> own & 1) && table.lengths[slot] < nearest.length)
          nearest = {table.lengths[slot], slot};
      }
      nearest = nearest_of_warp(nearest);
      if (!(nearest.length < most)) break;
      if (nearest.slot % 32 == lane) settled |= 1u << nearest.slot / 32;
      const vertex_t vertex = table.names[nearest.slot];
      const offset_t first = offsets[vertex], length = offsets[vertex + 1] - first;
      const offset_t last = first + (length < kLooked || round == 0 ? length : kLooked);
      for (offset_t e = first + lane; e < last; e += 32) {
        const Edge edge = load_edge(edges, e);
        const weight_t sum = add_saturating(nearest.length, edge_weight(edge));
        if (!(sum > most)) table.lower(edge.target, sum);
      }
      __syncwarp();
    }
    const double reach = reach_of(u, farthest, from);
    for (offset_t e = begin + lane; e < end; e += 32) {
      if (longer[e]) continue;
      const Edge edge = load_edge(edges, e);
      weight_t bound = table.length(edge.target);
      const offset_t first = offsets[edge.target], length = offsets[edge.target + 1] - first;
      const offset_t last = both_ways ? first + (length < kLooked ? length : kLooked) : first;
      for (offset_t i = first; i < last; ++i) {
        const Edge back = load_edge(edges, i);
        const weight_t sum = add_saturating(table.length(back.target), edge_weight(back));
        if (sum < bound) bound = sum;
      }
      ++looked;
      if (!exceeds(edge_weight(edge), bound, error, reach)) continue;
      longer[e] = 1;
      ++marked;
    }
    __syncwarp();
  }
  looked = warp_sum(looked), marked = warp_sum(marked);
  if (lane != 0) return;
  atomicAdd(found, static_cast<unsigned long long>(looked));
  atomicAdd(found + 1, static_cast<unsigned long long>(marked));
}

extern "C" __global__ void count_kept(const unsigned char* longer, long long m, long long share,
                                      uint32* kept_of) {
  const long long begin = share * blockIdx.x, end = begin + share < m ? begin + share : m;
  uint32 mine = 0;
  for (long long i = begin + threadIdx.x; i < end; i += blockDim.x) mine += !longer[i];
  const uint32 sum = warp_sum(mine);
  if (lane_id() == 0) atomicAdd(kept_of + blockIdx.x, sum);  // 0 at first
}

extern "C" __global__ void copy_kept(const Edge* edges, const vertex_t* tails, long long n,
                                     long long m, const unsigned char* longer, const uint32* starts,
                                     long long share, int* indptr, int* indices,
                                     weight_t* weights) {
  __shared__ uint32 scratch[33];
  const long long begin = share * blockIdx.x, end = begin + share < m ? begin + share : m;
  uint32 base = starts[blockIdx.x];
  for (long long first = begin; first < end; first += blockDim.x) {
    const long long i = first + threadIdx.x;
    const bool keeps = i < end && !longer[i];
    uint32 total = 0;
    const uint32 at = base + block_exclusive_sum<uint32>(keeps, scratch, &total);
    base += total;
    if (i >= end) continue;
    // Rows begin where their first edge would be; those without edges, with the next one.
    const long long tail = tails[i], before = i == 0 ? -1 : static_cast<long long>(tails[i - 1]);
    for (long long row = before + 1; row <= tail; ++row) indptr[row] = static_cast<int>(at);
    if (i == m - 1)
      for (long long row = tail + 1; row <= n; ++row) indptr[row] = static_cast<int>(at + keeps);
    if (!keeps) continue;
    const Edge edge = load_edge(edges, static_cast<offset_t>(i));
    indices[at] = static_cast<int>(edge.target);
    weights[at] = edge_weight(edge);
  }
}
