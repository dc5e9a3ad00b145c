// The edges of a directed graph by their targets, which pulling needs.
//
// A counting sort in one cooperative launch: count the edges into each vertex, sum the counts up to
// row bounds (each block its share of the vertices), and put each edge's source at the next place
// of its target's row. The order of a row's sources varies between runs; a search's distances do
// not depend on it.
//
// Arrays: offsets[n + 1], edges[m] -> in_offsets[n + 1], in_edges[m]; places[n], sums[blocks],
// heavy[m / kReverseHeavy + 1], control (zeroed). Launch: cooperative, whole warps, at most 1024
// threads per block.
// Races: none but the order of a row.
//
// requires: cuda/primitives/deal.cuh
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/grid_barrier.cuh
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/walk_rows.cuh

constexpr int kReverseInFlight = 4, kReverseMiddle = 64;
constexpr int kReverseHeavy = 512;  // longer rows have a block for themselves

typedef CountOf<(sizeof(offset_t) > 4)>::type place_t;

struct ReverseControl {
  alignas(128) uint32 arrivals;
  alignas(128) uint32 heavy;
};

// Writes the source of each position into the row of the edge's target.
struct Scatter {
  const Edge* edges;
  place_t* places;
  vertex_t* in_edges;

  template <int N>
  __device__ __forceinline__ void operator()(const bool (&valid)[N], const offset_t (&at)[N],
                                             const vertex_t (&from)[N]) const {
    vertex_t target[N];
    place_t place[N];
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (valid[u]) target[u] = load_edge(edges, at[u]).target;
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (valid[u]) place[u] = atomicAdd(places + target[u], place_t(1));
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (valid[u]) in_edges[place[u]] = from[u];
  }
};

// Writes exclusive sums of places[] to in_offsets[] and back to places[].
__device__ __forceinline__ void sum_up(long long n, long long m, offset_t* in_offsets,
                                       place_t* places, place_t* sums, uint32* arrivals) {
  __shared__ place_t scratch[33];
  const long long share = (n + gridDim.x - 1) / gridDim.x;
  const long long first = share * blockIdx.x < n ? share * blockIdx.x : n;
  const long long last = first + share < n ? first + share : n;
  place_t mine = 0, total = 0;
  for (long long v = first + threadIdx.x; v < last; v += blockDim.x)
    mine += load_relaxed(places + v);
  block_exclusive_sum(mine, scratch, &total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
  grid_barrier(arrivals);
  mine = 0;
  for (uint32 b = threadIdx.x; b < blockIdx.x; b += blockDim.x) mine += load_relaxed(sums + b);
  place_t before = 0;
  block_exclusive_sum(mine, scratch, &before);
  for (long long base = first; base < last; base += blockDim.x) {
    const long long v = base + threadIdx.x;
    const place_t count = v < last ? load_relaxed(places + v) : place_t(0);
    const place_t at = before + block_exclusive_sum(count, scratch, &total);
    before += total;
    if (v < last) {
      in_offsets[v] = static_cast<offset_t>(at);
      places[v] = at;
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) in_offsets[n] = static_cast<offset_t>(m);
}

extern "C" __global__ void __launch_bounds__(1024)
    reverse(const offset_t* offsets, const Edge* edges, long long n, long long m,
            offset_t* in_offsets, vertex_t* in_edges, place_t* places, place_t* sums,
            vertex_t* heavy, ReverseControl* control) {
  const long long stride = grid_threads();
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long v = thread; v < n; v += stride) places[v] = 0;
  grid_barrier(&control->arrivals);
  for (long long base = thread; base < m; base += stride * kReverseInFlight) {
    vertex_t target[kReverseInFlight];
#pragma unroll
    for (int u = 0; u < kReverseInFlight; ++u)
      if (base + u * stride < m)
        target[u] = load_edge(edges, static_cast<offset_t>(base + u * stride)).target;
#pragma unroll
    for (int u = 0; u < kReverseInFlight; ++u)
      if (base + u * stride < m) atomicAdd(places + target[u], place_t(1));
  }
  grid_barrier(&control->arrivals);
  sum_up(n, m, in_offsets, places, sums, &control->arrivals);
  grid_barrier(&control->arrivals);
  const Scatter scatter{edges, places, in_edges};
  for (long long base = first_thread_of_warp(); base < n; base += stride) {
    const long long v = base + lane_id();
    offset_t begin = 0, degree = 0;
    if (v < n) {
      begin = __ldg(offsets + v);
      degree = __ldg(offsets + v + 1) - begin;
    }
    if (degree > kReverseHeavy) {
      heavy[atomicAdd(&control->heavy, 1u)] = static_cast<vertex_t>(v);
      degree = 0;
    }
    walk_by_length<kReverseMiddle, kReverseInFlight, kReverseInFlight>(
        scatter, begin, degree, static_cast<vertex_t>(v));
  }
  grid_barrier(&control->arrivals);
  const uint32 count = load_relaxed(&control->heavy);
  constexpr int kPiece = 32 * kReverseInFlight;
  for (uint32 h = blockIdx.x; h < count; h += gridDim.x) {
    const vertex_t v = __ldcg(heavy + h);
    const offset_t begin = __ldg(offsets + v), degree = __ldg(offsets + v + 1) - begin;
    const offset_t warps = blockDim.x >> 5;
    for (offset_t first = kPiece * (threadIdx.x >> 5); first < degree; first += kPiece * warps) {
      const offset_t left = degree - first;
      walk_long<kReverseInFlight>(scatter, begin + first,
                                  left < kPiece ? static_cast<int>(left) : kPiece, v);
    }
  }
}
