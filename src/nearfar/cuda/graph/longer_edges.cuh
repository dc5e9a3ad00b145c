// Finds the edges that are longer than the path over one vertex, the pivot, and copies a graph
// without them: what cpu/graph/backbone.cpp does on cores, where the margin for floats is explained.
//
// Distances from the pivot, and to it, come from sweeps over all edges, in which a path grows by
// one edge: the number of sweeps bounds the edges of a path, and directed graphs are not reversed.
//
// Arrays: offsets[n + 1], edges[m], tails[m] (vertex_t); distances[n] (weight_t); kept[m] (bytes);
// kept_of[gridDim.x]: edges that a block keeps of its `share`; starts[gridDim.x]: their sums before.
// Launch: any grid; mark_longer and copy_kept the same one, in blocks of at most 1024 threads.
// Races: minima and flags only.
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/warp.cuh

__device__ __forceinline__ long long first_index() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ long long grid_stride() {
  return static_cast<long long>(gridDim.x) * blockDim.x;
}

extern "C" __global__ void find_tails(const offset_t* offsets, long long n, long long m, vertex_t* tails) {
  for (long long i = first_index(); i < m; i += grid_stride()) {
    long long low = 0, high = n;  // offsets[low] <= i < offsets[high]
    while (high - low > 1) {
      const long long middle = (low + high) / 2;
      (offsets[middle] <= i ? low : high) = middle;
    }
    tails[i] = static_cast<vertex_t>(low);
  }
}

extern "C" __global__ void set_distances(weight_t* distances, long long n, long long pivot) {
  for (long long v = first_index(); v < n; v += grid_stride())
    distances[v] = v == pivot ? weight_t(0) : unreached();
}

// Lowers after[], which begins as a copy of before[]; sets *changed if it does.
extern "C" __global__ void sweep(const Edge* edges, const vertex_t* tails, long long m, long long away,
                                 const weight_t* before, weight_t* after, int* changed) {
  bool lowered = false;
  for (long long i = first_index(); i < m; i += grid_stride()) {
    const Edge edge = load_edge(edges, static_cast<offset_t>(i));
    const vertex_t tail = tails[i], nearer = away ? tail : edge.target;
    const vertex_t farther = away ? edge.target : tail;
    const weight_t sum = add_saturating(before[nearer], edge_weight(edge));
    if (!(sum < before[farther])) continue;
    lowered = true;
    if (sum < load_relaxed(after + farther)) atomic_minimum(after + farther, sum);
  }
  if (lowered) *changed = 1;
}

__device__ __forceinline__ bool exceeds(double weight, double bound, double error, double reach) {
  return weight - bound > error * (reach + weight);
}

// to[], from[]: distances to the pivot and from it; `farthest`: the greatest of to[]; `error`: as
// in backbone.cpp, 0 for integers.
extern "C" __global__ void mark_longer(const Edge* edges, const vertex_t* tails, long long m,
                                       const weight_t* to, const weight_t* from, double farthest,
                                       double error, long long share, unsigned char* kept,
                                       uint32* kept_of) {
  const long long begin = share * blockIdx.x, end = begin + share < m ? begin + share : m;
  uint32 mine = 0;
  for (long long i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const Edge edge = load_edge(edges, static_cast<offset_t>(i));
    const vertex_t tail = tails[i];
    const weight_t weight = edge_weight(edge), bound = add_saturating(to[tail], from[edge.target]);
    const bool longer = error > 0 ? exceeds(weight, bound, error, farthest + from[tail]) : weight > bound;
    kept[i] = !longer;
    mine += !longer;
  }
  const uint32 sum = warp_sum(mine);
  if (lane_id() == 0) atomicAdd(kept_of + blockIdx.x, sum);  // 0 at first
}

extern "C" __global__ void copy_kept(const Edge* edges, const vertex_t* tails, long long n, long long m,
                                     const unsigned char* kept, const uint32* starts, long long share,
                                     int* indptr, int* indices, weight_t* weights) {
  __shared__ uint32 scratch[33];
  const long long begin = share * blockIdx.x, end = begin + share < m ? begin + share : m;
  uint32 base = starts[blockIdx.x];
  for (long long first = begin; first < end; first += blockDim.x) {
    const long long i = first + threadIdx.x;
    const bool keeps = i < end && kept[i];
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
