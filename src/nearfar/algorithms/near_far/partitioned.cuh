// One source on several devices: each owns a range of vertices and relaxes their edges by the steps
// of one_launch_ranges.cuh; owners fetch the distances that other devices find for their vertices.
//
// Every device keeps a distance for every vertex of the graph. For its own vertices that is the
// tentative distance; for the others', the least that it has found or read itself, so that it
// reports none twice. A step has three launches per device:
//
//   step      the action of the phase (struct Progress): the near queue, edges that came due at settled
//             vertices, or one of the final phases. A lower distance of another device's vertex is
//             kept here and marks its line: 32 vertices, one byte.
//   pieces    rows of more than kHeavy edges, which the step cut up.
//   fetch     after all devices have relaxed: read the lines of own vertices that others marked from
//             their memory, keep the least, and put improved vertices into the next near queue.
//
// So each line is transferred at most once per step and device, read by its owner in full lines; no
// atomic crosses the link. A step begins when all devices have fetched: each adds up the tallies of
// all and computes the same next phase, so the host only launches. Before the remaining vertices
// pull, every device reads the others' distances (a separate phase): edges lead to vertices of all
// devices.
//
// Arrays per device, n vertices in the graph, [first, last) its own, first a multiple of 32: those
// of struct Solve with distance[n] and `offsets` less `first` records, so that own vertices are
// found under their own numbers; dirty[2][ceil(n / 32)] bytes, tallies[4], progress[2], totals[2].
// Launch: whole warps, any grid; step, pieces and fetch with a stage per warp in dynamic shared
// memory. Host loop in partitioned.py.
// Races, harmless: a fetched line may have, for the reader's vertices, distances that the reader
// has not reported; all are lengths of paths. A mark is written by many and read after all have
// ended. Rotating arrays (dirty, tallies, counters) are reset in a step after the last one in which
// they were read on any device.
//
// requires: algorithms/near_far/one_launch/one_launch_due.cuh
// requires: algorithms/near_far/one_launch/one_launch_phases.cuh

struct Part {
  Solve solve;
  long long first, last;
  unsigned char* dirty;
  Tally* tallies;
  Progress* progress;
  uint64* totals;  // lines fetched, queues that overflowed
};

// Memory of all devices, this one's among them.
struct Others {
  long long first[17];  // of each device's vertices; n after the last
  const weight_t* distance[16];
  const unsigned char* dirty[16];
  const Tally* tallies[16];
  const Control* control[16];
};

// A vertex of another device: the mark notifies its owner.
struct Outside {
  const Part* part;
  unsigned char* dirty;
  __device__ __forceinline__ bool takes(vertex_t v) const {
    if (v >= part->first && v < part->last) return false;
    dirty[v / 32] = 1;
    return true;
  }
};

__device__ __forceinline__ long long lines_of(long long n) { return (n + 31) / 32; }

__device__ __forceinline__ unsigned char* marks(const Part& part, long long step) {
  return part.dirty + (step & 1) * lines_of(part.solve.n);
}

__device__ __forceinline__ Stage own_stage(unsigned char* shared) {
  return Stage{reinterpret_cast<Entry*>(shared) + (threadIdx.x >> 5) * kStage, 0};
}

// Returns the sums of a step's results.
__device__ __forceinline__ Tally* next_tally(const Part& part, long long step) {
  return part.tallies + ((step + 1) & 3);
}

// Returns the progress after a step; called by the first warp of a block.
__device__ __forceinline__ Progress next_of(const Part& part, const Others& others, int devices,
                                            long long step) {
  Tally found{0, 0, 0, unreached()};
  uint64 near = 0;
  if (lane_id() < devices) {
    const Tally* const tally = others.tallies[lane_id()] + (step & 3);
    near = load_relaxed(&others.control[lane_id()]->near_count[step & 3]);
    found.reached = load_relaxed(&tally->reached);
    found.degrees = load_relaxed(&tally->degrees);
    found.edges = load_relaxed(&tally->edges);
    found.pending = load_relaxed(&tally->pending);
  }
  near = warp_sum(near);
  found.reached = warp_sum(found.reached);
  found.degrees = warp_sum(found.degrees);
  found.edges = warp_sum(found.edges);
  found.pending = warp_min(found.pending);
  return after(part.progress[(step + 1) & 1], near, found, kLearn);
}

// Reads the distances of other devices' vertices.
__device__ __forceinline__ void learn(const Part& part, const Others& others, int devices, int own) {
  constexpr int kTogether = 4;  // loads that a lane has in flight
  const long long lanes = grid_threads() * kTogether;
  for (int p = 0; p < devices; ++p) {
    if (p == own) continue;
    const long long last = others.first[p + 1];
    for (long long base = others.first[p] + first_thread_of_warp() * kTogether; base < last;
         base += lanes) {
      weight_t theirs[kTogether];
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        const long long v = base + u * 32 + lane_id();
        if (v < last) theirs[u] = load_relaxed(others.distance[p] + v);
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        const long long v = base + u * 32 + lane_id();
        if (v < last) part.solve.distance.slots[v] = theirs[u];
      }
    }
  }
}

extern "C" __global__ void partitioned_begin(Part part, long long source, Progress progress) {
  const Solve& solve = part.solve;
  const long long thread = thread_of_grid(), stride = grid_threads();
  for (long long v = thread; v < solve.n; v += stride)
    solve.distance.slots[v] =
        v == source && v >= part.first && v < part.last ? weight_t(0) : unreached();
  for (long long i = thread; i < 2 * lines_of(solve.n); i += stride) part.dirty[i] = 0;
  if (thread != 0) return;
  part.totals[0] = part.totals[1] = 0;
  for (int i = 0; i < 4; ++i) {
    part.tallies[i] = Tally{0, 0, 0, unreached()};
    solve.control->near_count[i] = solve.control->heavy_count[i] = 0;
  }
  part.progress[1] = progress;  // that of the step before the first one
  if (source < part.first || source >= part.last) return;
  solve.control->near_count[0] = 1;
  store_entry(solve.near_queue[0], static_cast<vertex_t>(source), weight_t(0));
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    partitioned_step(Part given, long long step, Others others, int devices, int own) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ Part part;  // see one_launch.cuh
  __shared__ Targets out;
  __shared__ Progress now;
  if (threadIdx.x == 0) part = given;
  if (threadIdx.x < 32) {
    const Progress next = next_of(given, others, devices, step);
    if (threadIdx.x == 0) {
      now = next;
      out = next_queue(given.solve, step, next.high);
    }
  }
  __syncthreads();
  const Solve& solve = part.solve;
  Control* const control = solve.control;
  if (thread_of_grid() == 0) {
    control->near_count[(step + 2) & 3] = 0;
    control->heavy_count[(step + 2) & 3] = 0;
    part.tallies[(step + 2) & 3] = Tally{0, 0, 0, unreached()};
    part.progress[step & 1] = now;
  }
  if (now.phase == kEnd) return;
  const count_t size = load_relaxed(&control->near_count[step & 3]);
  const Span span{part.first, part.last};
  const Outside outside{&part, marks(part, step)};
  Stage near = own_stage(shared_bytes);
  Found found;
  if (now.phase == kLearn) {
    learn(part, others, devices, own);
  } else if (now.phase == kPullOpen) {
    pull_step(solve, out, span, now.low, near, found);
  } else if (now.phase == kAdvance) {
    advance_step(solve, out, span, due_in(now), near, found, outside);
  } else if (now.phase == kFindAgain || size > solve.capacity) {
    if (now.phase == kTake && thread_of_grid() == 0) ++part.totals[1];
    scan_step(solve, out, span, Range{now.low, now.high}, near, found);
  } else {
    near_step(solve, out, due_in(now), solve.near_queue[step & 1], size, near, found, outside);
  }
  hand_in(found, next_tally(part, step));
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    partitioned_pieces(Part given, long long step) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ Part part;
  __shared__ Targets out;
  __shared__ Progress now;
  const count_t chunks = load_relaxed(&given.solve.control->heavy_count[step & 3]);
  if (chunks == 0) return;
  if (threadIdx.x == 0) {
    part = given;
    now = given.progress[step & 1];
    out = next_queue(given.solve, step, now.high);
  }
  __syncthreads();
  const Solve& solve = part.solve;
  const Outside outside{&part, marks(part, step)};
  Stage near = own_stage(shared_bytes);
  Found found;
  pieces_step(solve, out, due_in(now), chunks < solve.heavy_capacity ? chunks : solve.heavy_capacity,
              near, found, outside);
  hand_in(found, next_tally(part, step));
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    partitioned_fetch(Part part, long long step, Others others, int devices, int own) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ Targets out;
  if (part.progress[step & 1].phase == kEnd) return;
  if (threadIdx.x == 0) out = next_queue(part.solve, step, part.progress[step & 1].high);
  __syncthreads();
  const weight_t high = out.threshold;
  unsigned char* const next_marks = marks(part, step + 1);
  for (long long i = thread_of_grid(); i < lines_of(part.solve.n); i += grid_threads())
    next_marks[i] = 0;
  Stage near = own_stage(shared_bytes);
  Found found;
  uint64 lines = 0;
  const long long first = part.first / 32, last = lines_of(part.last);
  for (int p = 0; p < devices; ++p) {
    if (p == own) continue;
    const unsigned char* const theirs = others.dirty[p] + (step & 1) * lines_of(part.solve.n);
    // Each lane reads a mark, then the warp reads the marked lines.
    for (long long base = first + first_thread_of_warp(); base < last; base += grid_threads()) {
      const long long mine = base + lane_id();
      uint32 marked = __ballot_sync(kAllLanes, mine < last && theirs[mine] != 0);
      lines += lane_id() == 0 ? __popc(marked) : 0;
      for (; marked != 0; marked &= marked - 1) {
        const long long v = (base + __ffs(marked) - 1) * 32 + lane_id();
        const bool there = v < part.last;
        const weight_t d = there ? load_relaxed(others.distance[p] + v) : unreached();
        const weight_t had = there ? part.solve.distance.at(static_cast<vertex_t>(v)) : unreached();
        const bool nearer = d < had;
        if (nearer) {
          part.solve.distance.slots[v] = d;
          found.reached += !(had < unreached());
          if (!(d < high)) found.waits(d);
        }
        push(near, out.near, nearer && d < high, static_cast<vertex_t>(v), d);
      }
    }
  }
  flush(near, out.near);
  hand_in(found, next_tally(part, step));
  lines = warp_sum(lines);
  if (lane_id() == 0 && lines != 0) atomicAdd(part.totals, lines);
}

// Tests that distances are shortest if weights are positive: no edge lowers one, and every reached
// vertex except the source has a tight edge. The device has every vertex's distance; writes
// tight[n] (bytes, 0) and wrong[1] (0).
extern "C" __global__ void partitioned_prove(Part part, unsigned char* tight, uint64* wrong) {
  const Solve& solve = part.solve;
  const long long warps = grid_threads() / 32;
  uint64 found = 0;
  for (long long v = part.first + thread_of_grid() / 32; v < part.last; v += warps) {
    const weight_t d = solve.distance.at(static_cast<vertex_t>(v));
    if (d == unreached()) continue;
    const offset_t end = solve.offsets[v + 1];
    for (offset_t e = solve.offsets[v] + lane_id(); e < end; e += 32) {
      const Edge edge = load_edge(solve.edges, e);
      const weight_t sum = add_saturating(d, edge_weight(edge));
      const weight_t there = solve.distance.at(edge.target);
      found += sum < there;
      if (sum == there) tight[edge.target] = 1;
    }
  }
  found = warp_sum(found);
  if (lane_id() == 0 && found != 0) atomicAdd(wrong, found);
}
