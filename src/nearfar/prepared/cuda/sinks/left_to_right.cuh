// Turns rows of sums over shortcuts into the rows of a search, bit for bit: one block per row.
//
// Shortcuts add in another order than a search, which adds from the source on, so a sweep's floats
// are off by rounding. The search's distance of a vertex is the least such sum over all paths, and
// relaxing to the fixed point finds it from any sums along paths. The sums are recomputed from the
// source on over edges that are tight up to `slack` in the given row, which are little more than a
// tree of shortest paths; a vertex whose sum improves relaxes its own edges in the next round. An
// edge that is left out leads to a sum above the bound of its head, and a reached vertex has a sum
// within its bound: once all are reached no edge can improve any, whatever the slack, and the row
// is that of a search. If rounding exceeded the slack, some vertex is not reached, and the rounds
// continue with more slack and finally without bounds.
//
// The sequential form is cpu/distances/polish.hpp. Rounds follow the number of edges, which needs
// no sorting.
//
// Macros: those of types.cuh, THREADS per block. Weights must not be negative.
// Arrays: offsets[n + 1] and edges[m] of the graph; sources[count]; rows[count][n], replaced; for
// each block exact[n] and queue[2][n]. Launch: any number of blocks of THREADS; rows are
// distributed over blocks.
// Races: blocks share nothing. Within one, atomics lower distances while others read them: a value
// read is a sum along a path, and each improvement puts the vertex into the next round. A queue
// that would be too long is replaced by all vertices.
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/warp.cuh
// requires: cuda/primitives/walk_rows.cuh

constexpr int kWidest = 2;  // number of times that the slack is widened; then there is no bound

// Non-negative floats have the order of their bits.
__device__ __forceinline__ float lower(float* to, float x) {
  return __int_as_float(atomicMin(reinterpret_cast<int*>(to), __float_as_int(x)));
}
__device__ __forceinline__ double lower(double* to, double x) {
  return __longlong_as_double(atomicMin(reinterpret_cast<long long*>(to), __double_as_longlong(x)));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    restore_sums(int n, const offset_t* offsets, const Edge* edges, const long long* sources,
                 weight_t* rows, int count, weight_t* spaces, int* queues, weight_t slack) {
  __shared__ int length[3];  // of the queue of this round, the next, and the one after
  __shared__ int missing;    // vertices with a distance that are not reached
  weight_t* const exact = spaces + static_cast<long long>(blockIdx.x) * n;
  int* const queue = queues + static_cast<long long>(blockIdx.x) * 2 * n;
  for (int r = blockIdx.x; r < count; r += gridDim.x) {
    weight_t* const row = rows + static_cast<long long>(r) * n;
    const int source = static_cast<int>(sources[r]);
    if (threadIdx.x == 0) {
      length[0] = 1;
      length[1] = length[2] = 0;
      missing = -1;  // the source is reached
      queue[0] = source;
    }
    __syncthreads();
    int there = 0;
    for (int v = threadIdx.x; v < n; v += THREADS) {
      there += row[v] < unreached();
      exact[v] = v == source ? weight_t(0) : unreached();
    }
    there = warp_sum(there);
    if (lane_id() == 0 && there) atomicAdd(&missing, there);
    __syncthreads();
    weight_t allowed = slack, factor = weight_t(1) + slack;
    bool bounded = true;
    for (int round = 0, widened = 0;; ++round) {
      const int waiting = length[round % 3];
      const bool everyone = waiting > n;
      const int* const now = queue + (round & 1) * n;
      int* const next = queue + (1 - (round & 1)) * n;
      int* const next_length = length + (round + 1) % 3;
      const int all = everyone ? n : waiting;
      if (threadIdx.x == 0) length[(round + 2) % 3] = 0;
      if (all == 0) {
        if (missing <= 0 || !bounded) break;
        allowed *= weight_t(64);
        factor = weight_t(1) + allowed;
        bounded = ++widened <= kWidest;
        // The vertices reached so far relax all of their edges again.
        __syncthreads();
        if (threadIdx.x == 0) *next_length = n + 1;
        __syncthreads();
        continue;
      }
      int reached = 0;
      for (int base = threadIdx.x & ~31; base < all; base += THREADS) {
        const int i = base + lane_id();
        offset_t begin = 0;
        int size = 0;
        weight_t d = unreached();
        if (i < all) {
          const int v = everyone ? i : now[i];
          begin = offsets[v];
          size = static_cast<int>(offsets[v + 1] - begin);
          d = load_relaxed(exact + v);
          if (d == unreached()) size = 0;
        }
        auto take = [&](const bool(&valid)[4], const offset_t(&at)[4], const weight_t(&from)[4]) {
          Edge edge[4];
          weight_t nearly[4];
#pragma unroll
          for (int u = 0; u < 4; ++u)
            if (valid[u]) edge[u] = load_edge(edges, at[u]);
#pragma unroll
          for (int u = 0; u < 4; ++u)
            if (valid[u]) nearly[u] = row[edge[u].target];
#pragma unroll
          for (int u = 0; u < 4; ++u) {
            if (!valid[u]) continue;
            const weight_t sum = from[u] + edge_weight(edge[u]);
            if (bounded && !(sum <= nearly[u] * factor)) continue;
            const weight_t before = lower(exact + edge[u].target, sum);
            if (!(sum < before)) continue;
            reached += before == unreached() && nearly[u] < unreached();
            const int place = atomicAdd(next_length, 1);
            if (place < n) next[place] = static_cast<int>(edge[u].target);
          }
        };
        walk_by_length<256, 4, 4>(take, begin, size, d);
      }
      reached = warp_sum(reached);
      if (lane_id() == 0 && reached) atomicSub(&missing, reached);
      __syncthreads();
    }
    for (int v = threadIdx.x; v < n; v += THREADS) row[v] = load_relaxed(exact + v);
    __syncthreads();
  }
}
