// Near-Far with the whole solve in one cooperative launch: the engine behind `auto` on a GPU.
//
// Davidson et al. (2014), section IV.D, gives the near set and the far pile. Departures: no host in the
// loop, queue entries carry the distance they were pushed with (an entry whose distance is no longer the
// vertex's is stale and dropped, so no flags and no compaction pass), delta follows the size of the near
// set, and a thin frontier is not advanced one step per barrier but by each block for several
// rounds on its own, in shared memory.
//
// A step is one of
//   split   the near set is empty: the far pile, or with FAR_BY_SCAN all vertices, is divided by a new
//           threshold;
//   grid    the near set is large: all warps take entries, rows share lanes by a scan of their degrees
//           (one_launch_rows.cuh), long rows are cut into chunks that all warps take after a
//           barrier;
//   local   the near set is small: each block takes a share into shared memory and advances it up to
//           local_rounds times with block barriers only (one_launch_local.cuh); what is left goes
//           back;
//   rescan  a queue overflowed: every vertex that may be pending is found again from the distances.
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
// requires: cuda/grid_barrier.cuh
// requires: algorithms/near_far/one_launch_rows.cuh
// requires: algorithms/near_far/one_launch_local.cuh

#ifndef SCAN_TOGETHER
#define SCAN_TOGETHER 4
#endif

__device__ __forceinline__ count_t first_of_warp(int each) {
  const count_t thread = static_cast<count_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  return (thread & ~count_t(31)) * each;
}

// Divides the entries of the far pile by out.threshold.
__device__ __noinline__ void split_pile(const Solve& solve, const Targets& out, const Entry* pile,
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

// Divides all vertices that are pending: those whose distance is not below `from`.
__device__ __noinline__ void split_vertices(const Solve& solve, const Targets& out, weight_t from,
                                            Entry* shared) {
  constexpr int kTogether = SCAN_TOGETHER;  // loads that a lane has in flight
  WarpStages stages(shared);
  const count_t n = static_cast<count_t>(solve.n);
  const count_t slots = static_cast<count_t>(Distances::count(solve.n));
  const count_t lanes = static_cast<count_t>(gridDim.x) * blockDim.x * kTogether;
  for (count_t base = first_of_warp(kTogether); base < slots; base += lanes) {
    slot_t slot[kTogether];
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
      const count_t i = base + u * 32 + lane_id();
      if (i < slots) slot[u] = load_relaxed(solve.distance.slots + i);
    }
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
      const count_t i = base + u * 32 + lane_id();
#pragma unroll
      for (int part = 0; part < kInSlot; ++part) {
        const count_t v = i * kInSlot + part;
        const weight_t d =
            v < n ? Distances::value(slot[u], static_cast<vertex_t>(v)) : unreached();
        stages.offer(out, d < unreached() && !(d < from), static_cast<vertex_t>(v), d);
      }
    }
  }
  stages.finish(out);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    near_far_one_launch(Solve given, long long source, double base_delta, double largest_delta,
                        weight_t limit, const vertex_t* targets, long long n_targets,
                        long long local_limit, long long target_near, long long max_steps,
                        Record* records, long long most_records) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  // One copy per block of what all threads read: parameters passed on by reference would lie on
  // every thread's stack, which together do not fit L1.
  __shared__ Solve solve;
  __shared__ Targets out;
  if (threadIdx.x == 0) solve = given;
  __syncthreads();
  Entry* const shared = reinterpret_cast<Entry*>(shared_bytes);
  Control* const control = solve.control;
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long i = thread; i < Distances::count(solve.n); i += stride)
    solve.distance.slots[i] = Distances::first(i, source);
  if (first_thread) {
    for (int i = 0; i < 4; ++i) control->far_min[i] = unreached();
    control->near_count[0] = 1;
    store_entry(solve.near_queue[0], static_cast<vertex_t>(source), weight_t(0));
  }
  grid_barrier(&control->arrivals);

  const count_t capacity = static_cast<count_t>(solve.capacity);
  const count_t far_capacity = FAR_BY_SCAN ? 0 : capacity;
  uint32 k = 0, f = 0;
  long long steps = 0, splits = 0, local_steps = 0, rescans = 0;
  double delta = base_delta;
  weight_t from = weight_t(0), threshold = threshold_above(weight_t(0), delta);
  bool divided = false;
  uint64 edges_seen = 0;
  while (true) {
    const count_t size = load_relaxed(&control->near_count[k & 3]);
    if (++steps > max_steps) {
      if (first_thread) control->status = kStuck;
      break;
    }
    if (first_thread) {
      control->near_count[(k + 2) & 3] = 0;
      control->heavy_count[(k + 2) & 3] = 0;
    }
    const Sink near_sink{solve.near_queue[(k + 1) & 1], &control->near_count[(k + 1) & 3], nullptr,
                         capacity};
    const bool lost_near = size > capacity;
    if (records && first_thread && steps <= most_records) {
      const uint32 kind = lost_near ? kRescan : size == 0 ? kSplit : size <= local_limit ? kLocal : kGrid;
      records[steps - 1] = {kind, size, load_relaxed(&control->far_count[f & 3]), clock_nanoseconds()};
    }
    if (size == 0 || lost_near) {
#if DISTANCE_BITS
      // Nothing is relaxed in this step, so every block reads the same: the host starts over.
      if (load_relaxed(&control->status)) break;
#endif
      // The near set is empty (or was cut off): nothing pushes to the far pile in this step, so its
      // counter and minimum stand still and every block reads the same.
      const count_t far_size = load_relaxed(&control->far_count[f & 3]);
      const bool lost_far = far_size > far_capacity;
      if (size == 0) {
        const weight_t least = load_relaxed(&control->far_min[f & 3]);
        if (far_size == 0 || least > limit) break;
        if (n_targets) {
          bool settled = true;
          for (long long t = threadIdx.x; t < n_targets; t += blockDim.x)
            settled &= solve.distance.at(targets[t]) < threshold;
          if (__syncthreads_and(settled)) break;
        }
        from = threshold;
        threshold = threshold_above(least < threshold ? threshold : least, delta);
        ++splits;
      }
      if (first_thread) {
        control->far_count[(f + 2) & 3] = 0;
        control->far_min[(f + 2) & 3] = unreached();
      }
      if (threadIdx.x == 0) {
        const Sink far_sink{solve.far_pile[(f + 1) & 1], &control->far_count[(f + 1) & 3],
                            &control->far_min[(f + 1) & 3], far_capacity};
        out = Targets{near_sink, far_sink, nullptr, threshold};
      }
      __syncthreads();
      if (lost_near || lost_far) {
        split_vertices(solve, out, from, shared);
        rescans += lost_near || !FAR_BY_SCAN;
      } else {
        split_pile(solve, out, solve.far_pile[f & 1], far_size, shared);
      }
      ++f;
      ++k;
      divided = true;
      grid_barrier(&control->arrivals);
      continue;
    }
    if (divided) {
      // Follow the near set's size: a thin one leaves the GPU waiting, a fat one repeats work.
      if (size < target_near / 2)
        delta = delta * 2 < largest_delta ? delta * 2 : largest_delta;
      else if (size > 2 * target_near)
        delta = delta * 0.75 > base_delta ? delta * 0.75 : base_delta;
      divided = false;
    }
    if (threadIdx.x == 0) {
      const Sink far_sink{solve.far_pile[f & 1], &control->far_count[f & 3],
                          &control->far_min[f & 3], far_capacity};
      out = Targets{near_sink, far_sink, &control->heavy_count[k & 3], threshold};
    }
    __syncthreads();
    if (size <= local_limit) {
      local_step(solve, out, solve.near_queue[k & 1], size, shared, &edges_seen);
      ++local_steps;
    } else {
      grid_step(solve, out, solve.near_queue[k & 1], size, shared, &edges_seen);
    }
    grid_barrier(&control->arrivals);
    const count_t chunks = load_relaxed(&control->heavy_count[k & 3]);
    if (chunks) {
      heavy_step(solve, out, chunks < solve.heavy_capacity ? chunks : solve.heavy_capacity, shared);
      grid_barrier(&control->arrivals);
    }
    ++k;
  }
#if DISTANCE_BITS
  for (long long v = thread; v < solve.n; v += stride)
    solve.answer[v] = solve.distance.at(static_cast<vertex_t>(v));
#endif
  report(control, edges_seen, steps, splits, local_steps, rescans, delta, threshold);
}
