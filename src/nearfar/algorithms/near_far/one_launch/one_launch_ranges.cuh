// Near-Far over rows sorted by weight, in one cooperative launch: an edge is read when its sum is due.
//
// The near set and thresholds are those of Davidson et al. (2014), section IV.D; light and heavy
// edges are Meyer and Sanders' (delta-stepping, 2003), extended: a row is read only as far as
// its sums are below the threshold, and when the threshold moves from `low` to `high` every settled
// vertex continues with the edges whose sums are between the two. So nothing is pushed past the
// threshold and there is no far pile. The solve ends when no sum is left, or earlier when every
// vertex that an edge enters is reached. Where the graph is its own transpose and few edges are
// left at open vertices, these read their own rows instead (pull; Chakaravarthy et al. 2014), and
// from then on a vertex that is taken relaxes its whole row ("eager"): settled vertices need no
// more visits.
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
// requires: cuda/primitives/split_barrier.cuh
// requires: algorithms/near_far/one_launch/one_launch_due.cuh
// requires: algorithms/near_far/one_launch/one_launch_phases.cuh

// Next step of a block. Its first thread decides after a barrier, from counters that no longer
// change, so all blocks decide alike. It is in shared memory to leave registers to the loops.
struct Plan {
  Progress now;
  count_t size;    // of the near set
  count_t chunks;  // of long rows, in the second half of a step; else 0
  bool lost;       // the near queue overflowed
  long long rescans;
  uint64 advance_at, take_at;  // cycles of the first block's clock when an advance began and ended
};

constexpr int kGrowth = 4;  // of delta

// Widens the next range if settled vertices, which go on at the beginning of each, took longer than the steps
// after them. `size`: entries of the near set, 0 at the end of a range; `began`: cycles when the last step began.
__device__ __forceinline__ void adapt_delta(Plan& plan, count_t size, uint64 began) {
  Progress& now = plan.now;
  if (now.phase == kAdvance) {
    plan.advance_at = began;
    plan.take_at = 0;
    return;
  }
  if (now.eager || !plan.advance_at) return;
  if (!plan.take_at) plan.take_at = began;
  if (size == 0 && plan.take_at - plan.advance_at > began - plan.take_at) now.delta *= kGrowth;
}

// Plans the next step; called by the first thread of a block. All counters are read at once, needed
// or not.
__device__ __forceinline__ void plan_next(const Solve& solve, const Tally* tallies, Plan& plan) {
  Progress& now = plan.now;
  const uint32 k = (now.steps + 1) & 3;
  const count_t chunks = load_relaxed(&solve.control->heavy_count[now.steps & 3]);
  const count_t size = load_relaxed(&solve.control->near_count[k]);
  const uint64 began = load_relaxed(&solve.control->began[now.steps & 3]);
  const Tally found{load_relaxed(&tallies[k].reached), load_relaxed(&tallies[k].degrees),
                    load_relaxed(&tallies[k].edges), load_relaxed(&tallies[k].pending)};
  const bool first_half = plan.chunks == 0;  // of a step, in which long rows are cut up
  plan.chunks = !first_half ? 0 : chunks < solve.heavy_capacity ? chunks : solve.heavy_capacity;
  if (plan.chunks) return;
  adapt_delta(plan, size, began);
  plan.size = size;
  plan.lost = size > solve.capacity;
  plan.rescans += plan.lost;
  now = after(now, size, found, kPullOpen);
}

// Returns the number of steps, including the one that ends the search.
__device__ __forceinline__ long long steps_of(const Progress& now) {
  return now.steps + (now.phase == kEnd);
}

__device__ __forceinline__ StepKind kind_of(const Plan& plan) {
  if (plan.lost) return kRescan;
  return plan.now.phase == kTake ? kGrid : plan.now.phase == kPullOpen ? kPull : kSplit;
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    near_far_ranges(Solve given, long long source, double delta, double eager_growth,
                    weight_t limit, const vertex_t* targets, long long n_targets, long long m,
                    long long pull_share, const unsigned char* entered, long long n_entered,
                    Tally* tallies, long long max_steps, Record* records, long long most_records) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ Solve solve;  // see one_launch.cuh
  __shared__ Targets out;
  __shared__ Plan plan;
  Control* const control = given.control;
  const bool first_block = blockIdx.x == 0;
  if (threadIdx.x == 0) {
    solve = given;
    plan = Plan{};
    Progress& now = plan.now;
    now.high = threshold_above(weight_t(0), delta);
    now.pending = unreached();
    now.limit = limit;
    now.delta = delta;
    now.eager_growth = eager_growth;
    now.edges = static_cast<uint64>(m);
    now.reachable = entered ? static_cast<uint64>(n_entered) + !entered[source] : ~uint64(0);
    now.reached = 1;
    now.pull_share = pull_share;
    now.phase = kTake;
    if (first_block) {
      for (int i = 0; i < 4; ++i) tallies[i] = Tally{0, 0, 0, unreached()};
      control->near_count[1] = 1;
      store_entry(solve.near_queue[1], static_cast<vertex_t>(source), weight_t(0));
    }
  }
  __syncthreads();
  for (long long v = thread_of_grid(); v < solve.n; v += grid_threads())
    solve.distance.slots[v] = Distances::first(v, source);

  SplitBarrier barrier(&control->arrivals);
  const Span all{0, given.n};
  while (true) {
    barrier.arrive();
    if (threadIdx.x == 0) {
      barrier.wait_alone();
      plan_next(solve, tallies, plan);
      Progress& now = plan.now;
      if (now.steps > max_steps) {
        now.phase = kEnd;
        control->status = kStuck;
      } else if (plan.chunks == 0) {
        const long long step = steps_of(now);
        out = next_queue(solve, step, now.high);
        if (first_block) {
          control->near_count[(step + 2) & 3] = 0;
          control->heavy_count[(step + 2) & 3] = 0;
          tallies[(step + 2) & 3] = Tally{0, 0, 0, unreached()};
          control->began[step & 3] = static_cast<uint64>(clock64());
          if (records && step <= most_records)
            records[step - 1] = {kind_of(plan), plan.size, 0, clock_nanoseconds()};
        }
      }
    }
    __syncthreads();
    const Progress& now = plan.now;
    if (now.phase == kEnd) break;
    if (n_targets && plan.size == 0 && plan.chunks == 0) {
      bool settled = true;
      for (long long t = threadIdx.x; t < n_targets; t += blockDim.x)
        settled &= solve.distance.at(targets[t]) < now.low;
      if (__syncthreads_and(settled)) break;
    }
    Stage near{reinterpret_cast<Entry*>(shared_bytes) + (threadIdx.x >> 5) * kStage, 0};
    Found found;
    if (plan.chunks)
      pieces_step(solve, out, due_in(now), plan.chunks, near, found, AllHere{});
    else if (now.phase == kFindAgain || plan.lost)
      scan_step(solve, out, all, Range{now.low, now.high}, near, found);
    else if (now.phase == kPullOpen)
      pull_step(solve, out, all, now.low, near, found);
    else if (now.phase == kAdvance)
      advance_step(solve, out, all, due_in(now), near, found, AllHere{});
    else
      near_step(solve, out, due_in(now), solve.near_queue[now.steps & 1], plan.size, near, found,
                AllHere{});
    hand_in(found, tallies + ((now.steps + 1) & 3));
  }
  if (first_block && threadIdx.x == 0) {
    const Progress& now = plan.now;
    control->edges = now.looked_at;
    control->steps = steps_of(now);
    control->splits = now.splits;
    control->local_steps = now.pulls;
    control->rescans = plan.rescans;
    control->last_delta = now.delta;
    control->last_threshold = static_cast<double>(now.high);
  }
}
