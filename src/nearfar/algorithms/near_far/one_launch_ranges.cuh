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
// requires: algorithms/near_far/one_launch_due.cuh

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
  const uint64 reachable =
      entered ? static_cast<uint64>(n_entered) + !entered[source] : ~uint64(0);
  uint64 reached = 1, degrees = 0;
  uint32 k = 0;
  long long steps = 0, splits = 0, rescans = 0, pulls = 0;
  weight_t low = weight_t(0), high = threshold_above(weight_t(0), delta), pending = unreached();
  bool eager = false;
  Found found;
  const Span all{0, solve.n};
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
      scan_step(solve, out, all, Range{low, high}, near, found);
      ++rescans;
    } else if (size) {
      near_step(solve, out, due, solve.near_queue[k & 1], size, near, found, AllHere{});
    } else if (eager) {
      scan_step(solve, out, all, Range{low, high}, near, found);
    } else if (pull) {
      pull_step(solve, out, all, low, near, found);
      eager = true;
      ++pulls;
    } else {
      advance_step(solve, out, all, due, near, found, AllHere{});
    }
    hand_in(found, tally);
    grid_barrier(&control->arrivals);
    const count_t chunks = load_relaxed(&control->heavy_count[k & 3]);
    if (chunks) {
      pieces_step(solve, out, due, chunks < solve.heavy_capacity ? chunks : solve.heavy_capacity,
                  near, found, AllHere{});
      hand_in(found, tally);
      grid_barrier(&control->arrivals);
    }
    ++k;
  }
  report(control, found.edges, steps, splits, pulls, rescans, delta, high);
}
