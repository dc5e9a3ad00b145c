// Steps over the vertices for one_launch_ranges.cuh: open vertices look at their own edges (pull),
// and vertices between two thresholds are found again (scan); and what a step adds up over the grid.
//
// Arrays, launch and races: those of one_launch_ranges.cuh.
// requires: algorithms/near_far/one_launch_rows.cuh
#pragma once

// What a step adds up over the grid; four rotate like the queue's counters.
struct alignas(128) Tally {
  uint64 reached;    // vertices reached for the first time
  uint64 degrees;    // of the vertices taken
  weight_t pending;  // least sum (or tentative distance) that waits beyond the threshold
};

struct Range {
  weight_t low, high;
};

// Vertices that a device looks at: first is a multiple of 32.
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

__device__ __forceinline__ void hand_in(Found& found, Tally* tally) {
  __shared__ Tally sum;
  if (threadIdx.x == 0) sum = Tally{0, 0, unreached()};
  __syncthreads();
  const uint64 reached = warp_sum(static_cast<uint64>(found.reached));
  const uint64 degrees = warp_sum(found.degrees);
  const weight_t pending = warp_min(found.pending);
  if (lane_id() == 0) {
    if (reached) atomicAdd(&sum.reached, reached);
    if (degrees) atomicAdd(&sum.degrees, degrees);
    if (pending < unreached()) atomic_minimum(&sum.pending, pending);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (sum.reached) atomicAdd(&tally->reached, sum.reached);
    if (sum.degrees) atomicAdd(&tally->degrees, sum.degrees);
    if (sum.pending < unreached()) atomic_minimum(&tally->pending, sum.pending);
  }
  found.reached = 0;
  found.degrees = 0;
  found.pending = unreached();
}

// Open vertices look for their best neighbour. Rows beyond 32 edges have the warp for themselves.
__device__ __noinline__ void pull_step(const Solve& solve, const Targets& out, Span span,
                                       weight_t low, Stage near, Found& found) {
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
    weight_t best = unreached();
    uint32 longer = __ballot_sync(kAllLanes, degree > 32);
    while (longer) {
      const int lane = __ffs(longer) - 1;
      longer &= longer - 1;
      const offset_t row = __shfl_sync(kAllLanes, begin, lane);
      const offset_t size = __shfl_sync(kAllLanes, degree, lane);
      weight_t mine = unreached();
      for (offset_t j = lane_id(); j < size; j += 32) {
        const Edge edge = load_edge(solve.edges, row + j);
        const weight_t sum =
            add_saturating(solve.distance.at(edge.target), edge_weight(edge));
        mine = sum < mine ? sum : mine;
        ++found.edges;
      }
      mine = __shfl_sync(kAllLanes, warp_min(mine), 0);
      if (lane_id() == lane) {
        best = mine;
        degree = 0;
      }
    }
    for (offset_t first = 0; first < degree; first += kRowsInFlight) {
      Edge edge[kRowsInFlight];
#pragma unroll
      for (int u = 0; u < kRowsInFlight; ++u)
        if (first + u < degree) edge[u] = load_edge(solve.edges, begin + first + u);
      weight_t near_by[kRowsInFlight];
#pragma unroll
      for (int u = 0; u < kRowsInFlight; ++u)
        near_by[u] =
            first + u < degree ? solve.distance.at(edge[u].target) : unreached();
#pragma unroll
      for (int u = 0; u < kRowsInFlight; ++u) {
        if (!(near_by[u] < unreached())) continue;
        const weight_t sum = add_saturating(near_by[u], edge_weight(edge[u]));
        best = sum < best ? sum : best;
      }
      found.edges += degree - first < kRowsInFlight ? degree - first : kRowsInFlight;
    }
    bool improved = open && best < d;
    if (improved) {
      const weight_t before = solve.distance.lower(static_cast<vertex_t>(v), best);
      improved = best < before;
      found.reached += !(before < unreached());
      if (!(best < out.threshold)) found.waits(best);
    }
    push(near, out.near, improved && best < out.threshold, static_cast<vertex_t>(v), best);
  }
  flush(near, out.near);
}

// Vertices with distances in the range become near; the least beyond it is what waits.
__device__ __noinline__ void scan_step(const Solve& solve, const Targets& out, Span span,
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
