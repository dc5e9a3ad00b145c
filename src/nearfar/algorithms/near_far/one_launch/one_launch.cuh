// Near-Far with the whole solve in one cooperative launch: the engine behind `auto` on a GPU.
//
// Davidson et al. (2014), section IV.D, gives the near set and the far pile. Departures: no host in the
// loop; queue entries carry the distance they were pushed with (an entry whose distance is no longer the
// vertex's is stale and dropped, so no flags and no compaction pass); delta follows the size of the near
// set; and each block advances a thin frontier by several rounds in shared memory instead of one step per
// grid barrier.
//
// A step is one of
//   split   the near set is empty: the far pile, or with FAR_BY_SCAN all vertices, is divided by a new
//           threshold;
//   grid    the near set is large: all warps take entries, rows share lanes by a scan of their degrees
//           (one_launch_rows.cuh), long rows are cut into chunks that all warps take after a
//           barrier;
//   local   the near set is small and does not grow fast: each block takes a share into shared memory and advances it up to
//           local_rounds times with block barriers only (one_launch_local.cuh); the remaining entries
//           return to the queue;
//   rescan  a queue overflowed, or the threshold returned: every vertex that may be pending is found again
//           from the distances.
// All blocks read the same counters after a barrier and take the same step. A counter is written in one
// step, read in the next and reset in the one after, so four of each rotate.
//
// Arrays: offsets[n + 1], edges[m], slots of n distances
// (one_launch_distances.cuh), near_queue and far_pile[2][capacity] (capacity >= n, so that a rescan
// always fits; with FAR_BY_SCAN there is no far pile), heavy[heavy_capacity], control; with packed
// distances answer[n], written at the end.
// Launch: cooperative, one block per multiprocessor, whole warps, dynamic shared memory for two
// local lists and the local far list of local_capacity entries each, and for two stages per warp.
// Races, all harmless: distances fall by atomic minimum in any order and are read with relaxed loads; a
// reader that misses a fall does work that the later reader of the queued entry repeats.
// requires: cuda/primitives/split_barrier.cuh
// requires: algorithms/near_far/one_launch/one_launch_rows.cuh
// requires: algorithms/near_far/one_launch/one_launch_local.cuh

__device__ __forceinline__ count_t first_of_warp(int each) {
  const count_t thread = static_cast<count_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  return (thread & ~count_t(31)) * each;
}

// Divides the entries of the far pile by out.threshold.
__device__ __forceinline__ void split_pile(const Solve& solve, const Targets& out, const Entry* pile,
                                        count_t size, Entry* shared) {
  WarpStages stages(shared);
  const count_t lanes = static_cast<count_t>(gridDim.x) * blockDim.x;
  for (count_t base = first_of_warp(1); base < size; base += lanes) {
    const count_t i = base + lane_id();
    Entry entry{};
    if (i < size) entry = load_entry(pile + i);
    const bool fresh = i < size && solve.distance.at(entry.vertex) == entry.distance;
    stages.offer(out, fresh, entry.vertex, entry.distance);
  }
  stages.finish(out);
}

// Divides all pending vertices, whose distance is not below `from`.
__device__ __forceinline__ void split_vertices(const Solve& solve, const Targets& out, weight_t from,
                                            Entry* shared) {
  constexpr int kTogether = 4;  // loads that a lane has in flight
  WarpStages stages(shared);
  const count_t slots = static_cast<count_t>(Distances::count(solve.n));
  const count_t lanes = static_cast<count_t>(gridDim.x) * blockDim.x * kTogether;
  for (count_t base = first_of_warp(kTogether); base < slots; base += lanes) {
    slot_t slot[kTogether];
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
      const count_t i = base + u * 32 + lane_id();
      slot[u] = i < slots ? load_relaxed(solve.distance.slots + i) : Distances::none();
    }
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
      // Most are settled or not yet reached.
      if (!__any_sync(kAllLanes, Distances::waits(slot[u], from))) continue;
      const count_t first = (base + u * 32 + lane_id()) * kInSlot;
#pragma unroll
      for (int part = 0; part < kInSlot; ++part) {
        const vertex_t v = static_cast<vertex_t>(first + part);
        const weight_t d = Distances::value(slot[u], v);
        stages.offer(out, d < unreached() && !(d < from), v, d);
      }
    }
  }
  stages.finish(out);
}

// Next step of a block. Its first thread decides after a barrier, from counters that no longer
// change, so all blocks decide alike. It is in shared memory to leave registers to the loops.
struct Plan {
  StepKind kind;
  bool over, divided;     // divided: the step before was a split
  bool whole;             // whether a split reads all vertices
  uint32 pile;            // counts piles: a split makes a new one
  count_t size;           // of the near set
  count_t before;         // its size in the last grid step; 0 after a local one
  count_t after_split;    // its size after the last split
  count_t far_size;       // of the pile that a split divides
  count_t chunks;         // of long rows, in the second half of a step; else 0
  weight_t from, threshold;
  double delta;
  double width, width_before;  // deltas of the last split and of the one before
  double kept, pace;           // the delta that has paid, and its width per cycle
  uint64 started, split_at;    // cycles of the first block's clock
  uint64 longest;              // cycles after which a local step ends
  bool trying;                 // whether ranges of another delta are to be judged
  bool fell_back;
  bool narrower, narrowed;     // whether a narrower one is tried next, and has been tried
  uint32 waits, patience;      // splits until one is tried; doubled when it does not pay
  long long steps, splits, local_steps, rescans;
  long long block_rounds;
};

// Growth of the near set in a grid step, above which a block's share would soon outgrow the block.
constexpr count_t kGrowing = 4;

// Gain in width per time that another delta has to show.
constexpr double kPays = 1.1;

// Growth of the near set per width from one split to the next, above which a frontier is not steady.
constexpr double kSteady = 1.5;

constexpr double kNarrowest = 1.0 / 64;  // least delta on trial, over the first
constexpr uint32 kMostPatience = 8;

struct Limits {
  double base_delta, free_delta;
  double largest_delta;  // bound on the deltas on trial; 0: none is
  weight_t limit;
  long long local_limit, target_near, max_steps;
  // After so many cycles, the solve falls back to another delta and another number of local rounds.
  uint64 most_cycles;
  double fallback_delta;
  long long fallback_rounds;
};

// Counters that the first thread of a block reads after a barrier, all at the same time.
struct Counts {
  count_t near, far, chunks;
  weight_t least;  // distance in the far pile
  long long status;
  uint64 began;
};

__device__ __forceinline__ Counts read_counts(const Control* control, const Plan& plan) {
  return Counts{load_relaxed(&control->near_count[(plan.steps + 1) & 3]),
                load_relaxed(&control->far_count[plan.pile & 3]),
                load_relaxed(&control->heavy_count[plan.steps & 3]),
                load_relaxed(&control->far_min[plan.pile & 3]), load_relaxed(&control->status),
                load_relaxed(&control->began[plan.steps & 3])};
}

// Judges the width of the range that has ended, if it was on trial, by its pace: width per time.
// Where the frontier is not steady, paces of successive ranges cannot be compared.
__device__ __forceinline__ void judge_width(const Limits& limits, Plan& plan, double pace, bool steady) {
  const double ended = plan.width_before;
  if (ended == plan.kept) {
    plan.pace = pace;
    return;
  }
  if (!plan.trying || ended == 0) return;
  const bool wider = ended > plan.kept, freely = wider && ended <= limits.free_delta;
  const bool pays = pace > (freely ? 1.0 : kPays) * plan.pace || (freely && !steady);
  plan.trying = pays;
  plan.narrower = wider != pays;  // go on in this direction, or turn round
  if (pays) {
    plan.kept = ended;
    plan.pace = pace;
    plan.patience = 1;
    plan.waits = 0;
  } else {
    plan.waits = plan.patience = plan.patience < kMostPatience ? 2 * plan.patience : kMostPatience;
  }
}

// Returns the delta of the next split: the one that is kept, or another on trial.
__device__ __forceinline__ double next_trial(const Limits& limits, Plan& plan, bool thin, bool steady) {
  if (plan.waits) {
    --plan.waits;
    return plan.kept;
  }
  if (thin && plan.width < limits.free_delta && plan.width >= plan.kept)
    return plan.width * 2 < limits.free_delta ? plan.width * 2 : limits.free_delta;
  if (plan.width != plan.kept) return plan.width;  // to be judged when this range ends
  if (plan.narrower || !(thin || plan.narrowed)) {
    constexpr double kLeast = static_cast<weight_t>(0.5) == weight_t(0) ? 1.0 : 0.0;
    const double half = plan.kept / 2;
    plan.narrower = false;
    plan.narrowed = true;
    return steady && half >= kLeast && half >= kNarrowest * limits.base_delta ? half : plan.kept;
  }
  return plan.kept * 2 < limits.largest_delta ? plan.kept * 2 : limits.largest_delta;
}

// Adapts delta after a split at that time, in whose near set plan.size entries are.
//
// Delta follows the near set's size: a small one leaves the GPU idle, a large one repeats work. A
// set that reaches its target at the next split, if it goes on growing as before, needs no larger
// one. While the set is thin, delta grows up to free_delta. With largest_delta, deltas are on trial:
// one that grows freely must not lose, and a doubled or halved one must gain.
__device__ __forceinline__ void adapt_delta(const Limits& limits, Plan& plan, uint64 split_at) {
  const uint64 size = plan.size, before = plan.after_split, cycles = split_at - plan.split_at;
  const uint64 target = static_cast<uint64>(limits.target_near);
  const bool steady = plan.size * plan.width_before < kSteady * plan.after_split * plan.width;
  const bool thin = size < target / 2 && size * size <= before * target;
  plan.after_split = plan.size;
  plan.split_at = split_at;
  if (limits.largest_delta > 0)
    judge_width(limits, plan, plan.width_before / static_cast<double>(cycles), steady);
  if (plan.size > 2 * limits.target_near) {
    const double less = plan.delta * 0.75 > limits.base_delta ? plan.delta * 0.75 : limits.base_delta;
    plan.kept = plan.delta = less < plan.kept ? less : plan.kept;
    plan.trying = false;
  } else if (limits.largest_delta > 0) {
    plan.delta = next_trial(limits, plan, thin, steady);
    plan.trying |= plan.delta != plan.kept;
  } else if (thin && plan.delta < limits.free_delta && !plan.fell_back) {
    plan.kept = plan.delta = plan.delta * 2 < limits.free_delta ? plan.delta * 2 : limits.free_delta;
  }
}

// Goes on with another delta and other rounds, since a solve with the present ones takes too long. The
// threshold returns to where that delta would have put it.
__device__ __forceinline__ void fall_back(Solve& solve, const Limits& limits, Plan& plan) {
  plan.fell_back = true;
  plan.kept = plan.delta = limits.fallback_delta;
  solve.local_rounds = limits.fallback_rounds;
  const weight_t lower = threshold_above(plan.from, plan.delta);
  if (plan.kind == kSplit || !(lower < plan.threshold)) return;
  plan.threshold = lower;
  plan.kind = kRescan;
}

__device__ __forceinline__ void plan_next(Solve& solve, const Limits& limits, Plan& plan) {
  const Counts found = read_counts(solve.control, plan);
  const bool first_half = plan.chunks == 0;  // of a step, in which long rows are cut up
  plan.chunks = !first_half                          ? 0
                : found.chunks < solve.heavy_capacity ? found.chunks
                                                      : static_cast<count_t>(solve.heavy_capacity);
  if (plan.chunks) return;
  const count_t capacity = static_cast<count_t>(solve.capacity);
  ++plan.steps;
  plan.size = found.near;
  plan.kind = found.near > capacity             ? kRescan
              : found.near == 0                 ? kSplit
              : solve.local_rounds == 0 || found.near > limits.local_limit ||
                      (plan.before && found.near > kGrowing * plan.before)
                  ? kGrid
                  : kLocal;
  if (plan.steps == 1) plan.started = found.began;
  const uint64 taken = found.began - plan.started;
  if (!plan.fell_back && taken > limits.most_cycles) fall_back(solve, limits, plan);
  plan.longest = plan.fell_back ? ~uint64(0) : limits.most_cycles - taken;
  const bool divides = plan.kind == kRescan || plan.kind == kSplit;
  if (divides) {
    // A packed distance did not fit: the host starts over. (A step that plans a split relaxes nothing, so
    // all blocks read the same.) Nothing was pushed to the far pile since the last barrier either.
    plan.over = DISTANCE_BITS && found.status;
    plan.far_size = found.far;
    plan.whole = plan.kind == kRescan || found.far > (FAR_BY_SCAN ? 0 : capacity);
    plan.rescans += plan.kind == kRescan || (plan.whole && !FAR_BY_SCAN);
    ++plan.pile;
  } else if (plan.divided) {
    adapt_delta(limits, plan, found.began);
  }
  if (plan.kind == kSplit) {
    plan.over |= found.far == 0 || found.least > limits.limit;
    if (plan.over) return;
    plan.from = plan.threshold;
    plan.threshold =
        threshold_above(found.least < plan.threshold ? plan.threshold : found.least, plan.delta);
    plan.width_before = plan.width;
    plan.width = plan.delta;
    ++plan.splits;
  }
  plan.divided = divides;
  if (!divides) plan.before = plan.kind == kGrid ? plan.size : 0;
  plan.local_steps += plan.kind == kLocal;
}

__device__ __forceinline__ Targets next_queues(const Solve& solve, const Plan& plan) {
  Control* const control = solve.control;
  const count_t capacity = static_cast<count_t>(solve.capacity);
  const Sink near{solve.near_queue[(plan.steps + 1) & 1], &control->near_count[(plan.steps + 1) & 3],
                  nullptr, capacity};
  const Sink far{solve.far_pile[plan.pile & 1], &control->far_count[plan.pile & 3],
                 &control->far_min[plan.pile & 3], FAR_BY_SCAN ? 0 : capacity};
  return Targets{near, far, &control->heavy_count[plan.steps & 3], plan.threshold};
}

// Resets the counters of a later step.
__device__ __forceinline__ void reset_counters(Control* control, const Plan& plan) {
  control->near_count[(plan.steps + 2) & 3] = 0;
  control->heavy_count[(plan.steps + 2) & 3] = 0;
  control->ended[(plan.steps + 2) & 3] = 0;
  if (plan.divided) {
    control->far_count[(plan.pile + 1) & 3] = 0;
    control->far_min[(plan.pile + 1) & 3] = unreached();
  }
}

#if CHAINS
using SkippingRows = ChainRows;
__device__ __forceinline__ SkippingRows skipping_rows(const Solve& solve) { return {solve.heads}; }
#elif SHORTCUTS
using SkippingRows = EdgeRows<ROW_HEAD, Edge>;
__device__ __forceinline__ SkippingRows skipping_rows(const Solve& solve) { return {solve.heads->edge}; }
#endif

// Returns the distance of a settled vertex.
__device__ __forceinline__ weight_t distance_found(const Solve& solve, vertex_t v) {
#if SHORTCUTS
  const SkippingRows rows = skipping_rows(solve);
  return Beyond<SHORTCUTS, SkippingRows, Distances>{rows, solve.distance}.at(v);
#else
  return solve.distance.at(v);
#endif
}

// Returns true if the thread's share of the targets is nearer than `from`. Not inlined, because it
// runs after the last step.
__device__ __noinline__ bool all_settled(const Solve& solve, const vertex_t* targets, long long n_targets,
                                         weight_t from) {
  bool settled = true;
  for (long long t = threadIdx.x; t < n_targets; t += blockDim.x)
    settled &= distance_found(solve, targets[t]) < from;
  return settled;
}

// Writes final distances that the solve has not, or in another form.
#if DISTANCE_BITS && !SHORTCUTS
struct alignas(kInSlot * sizeof(weight_t) < 16 ? kInSlot * sizeof(weight_t) : 16) Unpacked {
  weight_t distance[kInSlot];
};

__device__ __noinline__ void write_answer(const Solve& solve) {
  for (long long i = thread_of_grid(); i < Distances::count(solve.n); i += grid_threads()) {
    const slot_t slot = load_relaxed(solve.distance.slots + i);
    const long long first = i * kInSlot;
    Unpacked found;
#pragma unroll
    for (int part = 0; part < kInSlot; ++part)
      found.distance[part] = Distances::value(slot, static_cast<vertex_t>(part));
    if (first + kInSlot <= solve.n)
      *reinterpret_cast<Unpacked*>(solve.answer + first) = found;
    else
      for (int part = 0; first + part < solve.n; ++part)
        solve.answer[first + part] = found.distance[part];
  }
}
#elif SHORTCUTS
// Vertices that were removed last are the first, since others lead to them.
__device__ __noinline__ void write_answer(const Solve& solve, SplitBarrier barrier) {
  constexpr int kTogether = 4;  // rows that a thread looks at together
  const SkippingRows rows = skipping_rows(solve);
  for (int time = SHORTCUTS; time-- > 0;) {
    for (long long first = thread_of_grid(); first < solve.n; first += kTogether * grid_threads()) {
      int removed[kTogether];
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        const long long v = first + u * grid_threads();
        removed[u] = v < solve.n ? rows.time(static_cast<vertex_t>(v)) : -1;
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        const vertex_t v = static_cast<vertex_t>(first + u * grid_threads());
        if (removed[u] == time) solve.answer[v] = over_row(rows, solve.distance, v);
      }
    }
    if (time) barrier.meet();
  }
}
#endif

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    near_far_one_launch(Solve given, long long source, double base_delta, double free_delta,
                        double largest_delta, uint64 most_cycles, double fallback_delta,
                        long long fallback_rounds, weight_t limit, const vertex_t* targets,
                        long long n_targets, long long local_limit, long long target_near,
                        long long max_steps, Record* records, long long most_records) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  // One copy per block of the values that all threads read: parameters passed by reference would be on
  // every thread's stack, and all stacks together do not fit L1.
  __shared__ Solve solve;
  __shared__ Targets out;
  __shared__ Plan plan;
  Entry* const shared = reinterpret_cast<Entry*>(shared_bytes);
  Control* const control = given.control;
  const bool first_block = blockIdx.x == 0;
  if (threadIdx.x == 0) {
    solve = given;
    plan = Plan{};
    plan.delta = base_delta;
    plan.threshold = threshold_above(weight_t(0), base_delta);
    plan.before = plan.after_split = 1;
    plan.patience = 1;
    plan.kept = base_delta;
    if (first_block) {
      for (int i = 0; i < 4; ++i) control->far_min[i] = unreached();
      control->near_count[1] = 1;
      control->began[0] = static_cast<uint64>(clock64());
      store_entry(solve.near_queue[1], static_cast<vertex_t>(source), weight_t(0));
    }
  }
  __syncthreads();
  for (long long i = thread_of_grid(); i < Distances::count(solve.n); i += grid_threads())
    solve.distance.slots[i] = Distances::first(i, source);

  SplitBarrier barrier(&control->arrivals);
  uint64 edges_seen = 0;
  while (true) {
    barrier.arrive();
    if (threadIdx.x == 0) {
      barrier.wait_alone();
      plan_next(solve,
                Limits{base_delta, free_delta, largest_delta, limit, local_limit, target_near,
                       max_steps, most_cycles, fallback_delta, fallback_rounds},
                plan);
      if (plan.steps > max_steps) {
        plan.over = true;
        control->status = kStuck;
      } else if (plan.chunks == 0) {
        out = next_queues(solve, plan);
        if (first_block) {
          reset_counters(control, plan);
          control->began[plan.steps & 3] = static_cast<uint64>(clock64());
          if (records && plan.steps <= most_records)
            records[plan.steps - 1] = {plan.kind, plan.size, plan.far_size, clock_nanoseconds()};
        }
      }
    }
    __syncthreads();
    if (plan.over) break;
    if (n_targets && plan.kind == kSplit) {
      if (__syncthreads_and(all_settled(solve, targets, n_targets, plan.from))) break;
    }
    if (plan.chunks)
      heavy_step(solve, out, plan.chunks, shared);
    else if (plan.kind == kLocal) {
      const uint32 rounds = local_step(solve, out, solve.near_queue[plan.steps & 1], plan.size,
                                       plan.longest, &control->ended[plan.steps & 3], shared,
                                       &edges_seen);
      if (threadIdx.x == 0) plan.block_rounds += rounds;
    } else if (plan.kind == kGrid)
      grid_step(solve, out, solve.near_queue[plan.steps & 1], plan.size, shared, &edges_seen);
    else if (plan.whole)
      split_vertices(solve, out, plan.from, shared);
    else
      split_pile(solve, out, solve.far_pile[(plan.pile + 1) & 1], plan.far_size, shared);
  }
#if SHORTCUTS
  write_answer(solve, barrier);
#elif DISTANCE_BITS
  write_answer(solve);
#endif
  edges_seen = warp_sum(edges_seen);
  if (lane_id() == 0) atomicAdd(&control->edges, edges_seen);
  if (threadIdx.x == 0) atomicMax(&control->block_rounds, plan.block_rounds);
  if (first_block && threadIdx.x == 0) {
    control->steps = plan.steps;
    control->splits = plan.splits;
    control->local_steps = plan.local_steps;
    control->rescans = plan.rescans;
    control->cycles = static_cast<uint64>(clock64()) - plan.started;
    control->last_delta = plan.kept;
    control->last_threshold = static_cast<double>(plan.threshold);
  }
}
