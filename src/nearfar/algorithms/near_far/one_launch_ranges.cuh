// Near-Far over rows sorted by weight, in one cooperative launch: an edge is looked at when its sum
// is due.
//
// The near set and thresholds are those of Davidson et al. (2014), section IV.D; light and heavy
// edges are Meyer and Sanders' (delta-stepping, 2003), taken further: a row is read only as far as
// its sums lie below the threshold, and when the threshold moves from `low` to `high` every settled
// vertex goes on with the edges whose sums lie between the two. So nothing is pushed past the
// threshold and there is no far pile. The solve ends when no sum is left, or earlier when every
// vertex that an edge enters is reached. Where the graph is its own transpose and few edges are
// left at open vertices, these look at their rows themselves instead (pull; Chakaravarthy et al.
// 2014), and from then on a vertex that is taken relaxes its whole row ("eager"): the settled ones
// need no more visits.
//
// Steps, each between two grid barriers: near (take the queue), advance (settled vertices go on),
// pull, scan (eager: find the vertices between two thresholds), rescan (a queue overflowed: the
// same, with the present thresholds).
//
// Arrays: offsets[n + 1], edges[m] sorted by weight in pieces of kChunk per row, distance[n],
// near_queue[2][capacity], heavy[heavy_capacity], entered[n], control, tallies[4]. far_pile is not
// used.
// Launch: cooperative, whole warps, dynamic shared memory for a stage per warp.
// Races, all harmless: distances fall by atomic minimum in any order and are read with relaxed
// loads.
// requires: cuda/grid_barrier.cuh
// requires: algorithms/near_far/one_launch_rows.cuh
// requires: algorithms/near_far/one_launch_pull.cuh

#ifndef SEARCH_DEGREE
#define SEARCH_DEGREE 16
#endif
constexpr int kSearch = SEARCH_DEGREE;  // rows up to this length are read whole
constexpr int kProbes = 7;

// Edges whose sums lie in the range; the least sum beyond it waits for a later step.
struct DueBetween {
  const Targets& out;
  Stage& near;
  Found& found;
  Range range;
  __device__ __forceinline__ bool counts(bool, weight_t sum) const {
    if (!(sum < range.high)) found.waits(sum);
    const bool due = sum < range.high && !(sum < range.low);
    found.edges += due;
    return due;
  }
  __device__ __forceinline__ void lowered(bool improved, vertex_t v, weight_t sum,
                                          weight_t was) const {
    found.reached += improved && !(was < unreached());
    if (improved && !(sum < out.threshold)) found.waits(sum);
    push(near, out.near, improved && sum < out.threshold, v, sum);
  }
};

struct Bracket {
  int low, high;
};

// Narrows where the sums of a sorted row reach `bound`: sums before low are below it, the one at
// high is not.
__device__ __forceinline__ Bracket find_bound(const StoredEdge* row, int size, weight_t d,
                                              weight_t bound) {
  int low = 0, high = size;
  while (high - low > kSearch) {
    const int span = high - low;
    weight_t sum[kProbes];
#pragma unroll
    for (int i = 0; i < kProbes; ++i)
      sum[i] = add_saturating(d, edge_weight(load_edge(row, low + (i + 1) * span / (kProbes + 1))));
    int below = 0;
#pragma unroll
    for (int i = 0; i < kProbes; ++i) below += sum[i] < bound;
    const int base = low;
    if (below < kProbes) high = base + (below + 1) * span / (kProbes + 1);
    if (below) low = base + below * span / (kProbes + 1) + 1;
  }
  return Bracket{low, high};
}

// The lanes' rows (degree 0 for none), as far as their sums lie in the range. The whole warp calls
// it.
__device__ __forceinline__ void take_rows(const Solve& solve, const Targets& out, Stage& near,
                                          Found& found, Range range, offset_t begin,
                                          offset_t degree, weight_t d) {
  const bool whole = !(range.high < unreached());
  degree = set_heavy_aside(solve, out, begin, degree, d);
  int size = static_cast<int>(degree);
  if (size > kSearch && size <= kChunk && !whole) {
    const StoredEdge* const row = solve.edges + begin;
    const int high = find_bound(row, size, d, range.high).high;
    const int low = d < range.low ? find_bound(row, size, d, range.low).low : 0;
    begin += low;
    size = (high < size ? high + 1 : size) - low;
  }
  const Relax<DueBetween> relax{solve, {out, near, found, range}};
  walk_by_length<kMiddle, kLongInFlight, kRowsInFlight>(relax, begin, size, d);
}

__device__ __noinline__ void near_step(const Solve& solve, const Targets& out, Range range,
                                       const Entry* queue, count_t size, Stage near, Found& found) {
  take_queue(solve, queue, size, [&](offset_t begin, offset_t degree, weight_t d) {
    found.degrees += static_cast<uint64>(degree);
    take_rows(solve, out, near, found, range, begin, degree, d);
  });
  flush(near, out.near);
}

// All settled vertices, in their order, so that rows are read nearly in sequence.
__device__ __noinline__ void advance_step(const Solve& solve, const Targets& out, Range range,
                                          Stage near, Found& found) {
  const long long lanes = grid_threads();
  for (long long base = first_thread_of_warp(); base < solve.n; base += lanes) {
    const long long v = base + lane_id();
    offset_t begin = 0, degree = 0;
    const weight_t d = v < solve.n ? solve.distance.at(static_cast<vertex_t>(v)) : unreached();
    if (d < range.low) {
      begin = __ldg(solve.offsets + v);
      degree = __ldg(solve.offsets + v + 1) - begin;
    }
    found.degrees += static_cast<uint64>(degree);
    take_rows(solve, out, near, found, range, begin, degree, d);
  }
  flush(near, out.near);
}

__device__ __noinline__ void pieces_step(const Solve& solve, const Targets& out, Range range,
                                         count_t chunks, Stage near, Found& found) {
  const Relax<DueBetween> relax{solve, {out, near, found, range}};
  for (count_t c = grid_warp<count_t>(); c < chunks; c += grid_warps<count_t>()) {
    const Chunk chunk = load_chunk(solve.heavy + c);
    if (chunk.size == 0) continue;
    const int stride = (chunk.size + 31) / 32;
    const int place = (lane_id() + 1) * stride - 1;
    const Edge probe =
        load_edge(solve.edges, chunk.begin + (place < chunk.size ? place : chunk.size - 1));
    const weight_t sum = add_saturating(chunk.distance, edge_weight(probe));
    const int low = __popc(__ballot_sync(kAllLanes, sum < range.low)) * stride;
    const int high = (__popc(__ballot_sync(kAllLanes, sum < range.high)) + 1) * stride;
    const int end = high < chunk.size ? high : chunk.size;
    if (low < end)
      walk_long<kLongInFlight>(relax, chunk.begin + low, end - low, chunk.distance);
  }
  flush(near, out.near);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    near_far_ranges(Solve given, long long source, double delta, double eager_growth,
                    weight_t limit, const vertex_t* targets, long long n_targets, long long m,
                    long long pull_share, const unsigned char* entered, long long n_entered,
                    Tally* tallies, long long max_steps, Record* records, long long most_records) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ Solve solve;  // see one_launch.cuh
  __shared__ Targets out;
  if (threadIdx.x == 0) solve = given;
  __syncthreads();
  Stage near{reinterpret_cast<Entry*>(shared_bytes) + (threadIdx.x >> 5) * kStage, 0};
  Control* const control = solve.control;
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < solve.n;
       v += stride)
    solve.distance.slots[v] = Distances::first(v, source);
  if (first_thread) {
    for (int i = 0; i < 4; ++i) tallies[i] = Tally{0, 0, unreached()};
    control->near_count[0] = 1;
    store_entry(solve.near_queue[0], static_cast<vertex_t>(source), weight_t(0));
  }
  grid_barrier(&control->arrivals);

  const count_t capacity = static_cast<count_t>(solve.capacity);
  const uint64 reachable = static_cast<uint64>(n_entered) + !entered[source];
  uint64 reached = 1, degrees = 0;
  uint32 k = 0;
  long long steps = 0, splits = 0, rescans = 0, pulls = 0;
  weight_t low = weight_t(0), high = threshold_above(weight_t(0), delta), pending = unreached();
  bool eager = false;
  Found found;
  while (true) {
    const count_t size = load_relaxed(&control->near_count[k & 3]);
    Tally* const tally = tallies + ((k + 1) & 3);
    reached += load_relaxed(&tallies[k & 3].reached);
    degrees += load_relaxed(&tallies[k & 3].degrees);
    const weight_t waiting = load_relaxed(&tallies[k & 3].pending);
    pending = waiting < pending ? waiting : pending;
    if (++steps > max_steps) {
      if (first_thread) control->status = kStuck;
      break;
    }
    if (first_thread) {
      control->near_count[(k + 2) & 3] = 0;
      control->heavy_count[(k + 2) & 3] = 0;
      tallies[(k + 2) & 3] = Tally{0, 0, unreached()};
    }
    const bool lost = size > capacity;
    const bool recorded = records && first_thread && steps <= most_records;
    if (recorded) {
      const uint32 kind = lost ? kRescan : size == 0 ? kSplit : kGrid;
      records[steps - 1] = {kind, size, 0, clock_nanoseconds()};
    }
    bool pull = false;
    if (size == 0) {
      if (!(pending < unreached()) || pending > limit || (!eager && reached >= reachable)) break;
      if (n_targets) {
        bool settled = true;
        for (long long t = threadIdx.x; t < n_targets; t += blockDim.x)
          settled &= solve.distance.at(targets[t]) < high;
        if (__syncthreads_and(settled)) break;
      }
      const uint64 open = degrees < static_cast<uint64>(m) ? m - degrees : 0;
      pull =
          !eager && pull_share && open * static_cast<uint64>(pull_share) < static_cast<uint64>(m);
      if (pull) delta *= eager_growth;
      low = high;
      high = threshold_above(pending < high ? high : pending, delta);
      pending = unreached();
      degrees = 0;
      ++splits;
    }
    if (pull && recorded) records[steps - 1].kind = kPull;
    if (threadIdx.x == 0) {
      const Sink sink{solve.near_queue[(k + 1) & 1], &control->near_count[(k + 1) & 3], nullptr,
                      capacity};
      out = Targets{sink, sink, &control->heavy_count[k & 3], high};
    }
    __syncthreads();
    const Range due{size == 0 && !eager ? low : weight_t(0), eager ? unreached() : high};
    if (lost) {
      scan_step(solve, out, Range{low, high}, near, found);
      ++rescans;
    } else if (size) {
      near_step(solve, out, due, solve.near_queue[k & 1], size, near, found);
    } else if (eager) {
      scan_step(solve, out, Range{low, high}, near, found);
    } else if (pull) {
      pull_step(solve, out, low, near, found);
      eager = true;
      ++pulls;
    } else {
      advance_step(solve, out, due, near, found);
    }
    hand_in(found, tally);
    grid_barrier(&control->arrivals);
    const count_t chunks = load_relaxed(&control->heavy_count[k & 3]);
    if (chunks) {
      pieces_step(solve, out, due, chunks < solve.heavy_capacity ? chunks : solve.heavy_capacity,
                  near, found);
      hand_in(found, tally);
      grid_barrier(&control->arrivals);
    }
    ++k;
  }
  report(control, found.edges, steps, splits, pulls, rescans, delta, high);
}
