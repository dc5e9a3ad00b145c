// Steps over the vertices for one_launch_ranges.cuh: open vertices read their own edges (pull),
// and vertices between two thresholds are found again (scan); and the sums of a step over the grid.
//
// Arrays, launch and races: those of one_launch_ranges.cuh.
// requires: algorithms/near_far/one_launch/one_launch_rows.cuh
#pragma once

// Sums of a step over the grid; four rotate like the queue's counters.
struct alignas(128) Tally {
  uint64 reached;    // vertices reached for the first time
  uint64 degrees;    // of the vertices taken
  uint64 edges;      // read
  weight_t pending;  // least sum (or tentative distance) that waits beyond the threshold
};

struct Range {
  weight_t low, high;
};

// Vertices that a device reads: first is a multiple of 32.
struct Span {
  long long first, last;
};

// A lane's part of the tally.
struct Found {
  uint32 reached = 0;
  uint64 degrees = 0, edges = 0;
  weight_t pending = unreached();
  __device__ __forceinline__ void waits(weight_t d) { pending = d < pending ? d : pending; }
};

// Adds a lane's part to the tally. Called by every thread of a block at the end of a step.
__device__ __forceinline__ void hand_in(const Found& found, Tally* tally) {
  __shared__ Tally sum;
  if (threadIdx.x == 0) sum = Tally{0, 0, 0, unreached()};
  __syncthreads();
  const uint64 reached = warp_sum(static_cast<uint64>(found.reached));
  const uint64 degrees = warp_sum(found.degrees), edges = warp_sum(found.edges);
  const weight_t pending = warp_min(found.pending);
  if (lane_id() == 0) {
    if (reached) atomicAdd(&sum.reached, reached);
    if (degrees) atomicAdd(&sum.degrees, degrees);
    if (edges) atomicAdd(&sum.edges, edges);
    if (pending < unreached()) atomic_minimum(&sum.pending, pending);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (sum.reached) atomicAdd(&tally->reached, sum.reached);
    if (sum.degrees) atomicAdd(&tally->degrees, sum.degrees);
    if (sum.edges) atomicAdd(&tally->edges, sum.edges);
    if (sum.pending < unreached()) atomic_minimum(&tally->pending, sum.pending);
  }
}

// Edges of open vertices, passed with the lane whose vertex they belong to.
struct LookBack {
  const Solve& solve;
  weight_t* best;  // of the warp's 32 vertices, in shared memory
  Found& found;
  template <int N>
  __device__ __forceinline__ void operator()(const bool (&valid)[N], const offset_t (&at)[N],
                                             const int (&owner)[N]) const {
    Edge edge[N];
    weight_t there[N];
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (valid[u]) edge[u] = load_streamed(solve.edges, at[u]);
#pragma unroll
    for (int u = 0; u < N; ++u)
      there[u] = valid[u] ? solve.distance.at(edge[u].target) : unreached();
#pragma unroll
    for (int u = 0; u < N; ++u) {
      found.edges += valid[u];
      if (!(there[u] < unreached())) continue;
      const weight_t sum = add_saturating(there[u], edge_weight(edge[u]));
      if (sum < *const_cast<volatile weight_t*>(best + owner[u]))
        atomic_minimum(best + owner[u], sum);
    }
  }
};

// Lets open vertices search for their best neighbour; edges are spread over the lanes as in a near
// step.
__device__ __forceinline__ void pull_step(const Solve& solve, const Targets& out, Span span,
                                          weight_t low, Stage near, Found& found) {
  __shared__ weight_t least[BLOCK_THREADS];
  weight_t* const best = least + (threadIdx.x & ~31u);
  const long long lanes = grid_threads();
  for (long long base = span.first + first_thread_of_warp(); base < span.last; base += lanes) {
    const long long v = base + lane_id();
    offset_t begin = 0, degree = 0;
    const weight_t d = v < span.last ? solve.distance.at(static_cast<vertex_t>(v)) : weight_t(0);
    const bool open = v < span.last && !(d < low);
    if (open) {
      begin = __ldg(solve.offsets + v);
      degree = __ldg(solve.offsets + v + 1) - begin;
    }
    best[lane_id()] = d;
    __syncwarp();
    walk_by_length<kMiddle, kLongInFlight, kRowsInFlight>(LookBack{solve, best, found}, begin,
                                                          degree, lane_id());
    __syncwarp();
    const weight_t sum = best[lane_id()];
    bool improved = open && sum < d;
    if (improved) {
      const weight_t before = solve.distance.lower(static_cast<vertex_t>(v), sum);
      improved = sum < before;
      found.reached += !(before < unreached());
      if (!(sum < out.threshold)) found.waits(sum);
    }
    push(near, out.near, improved && sum < out.threshold, static_cast<vertex_t>(v), sum);
  }
  flush(near, out.near);
}

// Makes vertices with distances in the range near; the least distance beyond it waits.
__device__ __forceinline__ void scan_step(const Solve& solve, const Targets& out, Span span,
                                          Range range, Stage near, Found& found) {
  const long long lanes = grid_threads();
  for (long long base = span.first + first_thread_of_warp(); base < span.last; base += lanes) {
    const long long v = base + lane_id();
    const weight_t d = v < span.last ? solve.distance.at(static_cast<vertex_t>(v)) : unreached();
    if (!(d < range.high)) found.waits(d);
    push(near, out.near, d < range.high && !(d < range.low), static_cast<vertex_t>(v), d);
  }
  flush(near, out.near);
}
