// Direction-optimising breadth-first search in one cooperative launch.
//
// Beamer, Asanovic and Patterson 2012: a level pushes along the frontier's edges, or, if those are
// many, every unvisited vertex pulls. Departures: the whole search is one launch with a barrier
// over the grid between levels; where frontiers stay small the blocks run ahead of each other to
// the end (ahead.cuh); dense frontiers of directed graphs without a transpose are swept in the
// vertices' order (sweep.cuh); pulling reads the bits of visited vertices and no bitmap of the
// frontier (pull.cuh); in an undirected graph vertices without edges count as visited from the
// start, and the search ends as soon as no vertex is left.
//
// Arrays: offsets[n + 1], edges[m], in_offsets[n + 1], in_edges[m] (null without, equal for
// undirected graphs), distance[n] (int), queue[n], visited[2][(n + 31) / 32], chunks[m / kChunk + m
// / kHeavy + 1], control (zeroed), records[most_records] or null. Launch: cooperative, whole warps,
// dynamic shared memory for a stage per warp and for the two lists of a block that runs ahead.
// Races, harmless: a vertex's bit is read before the atomic that claims it and may be old; then the
// atomic decides. Decisions use counters that are not written in the step that reads them.
//
// requires: cuda/primitives/split_barrier.cuh
// requires: algorithms/breadth_first/push.cuh
// requires: algorithms/breadth_first/pull.cuh
// requires: algorithms/breadth_first/sweep.cuh
// requires: algorithms/breadth_first/ahead_search.cuh

#ifndef RUNS_AHEAD
#define RUNS_AHEAD 1
#endif

// Initialises distances and bits. Returns this thread's number of vertices that nothing can reach.
__device__ __forceinline__ uint32 start(const Search& s, long long source) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long upto = (s.n + 31) & ~31ll;
  uint32 hopeless = 0;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < upto;
       v += stride) {
    bool visited = v >= s.n || v == source;
    if (v < s.n) {
      s.distance[v] = v == source ? 0 : 0x7fffffff;
      if (s.undirected && !visited && __ldg(s.offsets + v) == __ldg(s.offsets + v + 1)) {
        visited = true;
        ++hopeless;
      }
    }
    const uint32 word = __ballot_sync(kAllLanes, visited);
    if (lane_id() == 0) s.visited[0][v >> 5] = word;
  }
  return hopeless;
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    breadth_first(Search given, long long source, long long limit, double alpha, double beta,
                  const vertex_t* targets, long long n_targets, long long thin_limit,
                  long long patience, long long max_steps, Record* records, long long most_records) {
  extern __shared__ __align__(16) unsigned char shared[];
  // One copy per block of the values that all threads read: parameters passed by reference would be
  // on every thread's stack.
  __shared__ Search s;
  __shared__ Found out;
  __shared__ Tally tally;
  __shared__ Seen seen;
  if (threadIdx.x == 0) {
    s = given;
    tally = Tally{};
  }
  __syncthreads();
  vertex_t* const slots = reinterpret_cast<vertex_t*>(shared) + (threadIdx.x >> 5) * kStage;
  Control* const control = s.control;
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  SplitBarrier barrier(&control->arrivals);
  const uint32 hopeless = warp_sum(start(s, source));
  if (lane_id() == 0 && hopeless)
    atomicAdd(reinterpret_cast<uint64*>(&control->hopeless), uint64(hopeless));
  if (first_thread) {
    s.queue[0] = static_cast<vertex_t>(source);
    control->found[0] = 1;
    const uint64 degree = degree_of(s, static_cast<vertex_t>(source));
    control->ahead[0] = degree;
    control->long_rows[0] = degree > kThinDegree;
  }
  meet_and_look(barrier, control, 0, 0, &seen);

  const long long reachable = s.n - load_relaxed(&control->hopeless);
  uint64 unexplored = static_cast<uint64>(s.m), edges_seen = 0;
  long long end = 0, reached = 0, steps = 0, calm = 0;
  int level = 1;
  uint32 k = 0, now = 0;
  bool pulling = false, swept = false;
  for (; true; ++k) {
    const count_t size = seen.found;
    const uint64 ahead = seen.ahead;
    const vertex_t* const frontier = s.queue + end;
    end += size;
    reached += size;
    if (size == 0 || reached >= reachable || level > limit) break;
    if (++steps > max_steps) {
      if (first_thread) control->status = kStuck;
      break;
    }
    if (n_targets) {  // of earlier levels: faster blocks may already write this one
      bool settled = true;
      for (long long t = threadIdx.x; t < n_targets; t += blockDim.x)
        settled &= load_relaxed(s.distance + targets[t]) < level;
      if (__syncthreads_and(settled)) break;
    }
    if (first_thread) {
      control->found[(k + 2) & 3] = 0;
      control->ahead[(k + 2) & 3] = 0;
      control->long_rows[(k + 2) & 3] = 0;
      control->chunks[(k + 2) & 3] = 0;
    }
    unexplored -= unexplored < ahead ? unexplored : ahead;
    const bool is_thin = size <= thin_limit && ahead <= uint64(thin_limit) * 8 &&
                         !seen.long_rows;
    const bool would_pull = !is_thin && (pulling ? double(size) * beta >= double(reachable)
                                                 : double(ahead) * alpha > double(unexplored));
    pulling = would_pull && s.in_offsets;
    if (threadIdx.x == 0)  // whether a transpose pays
      tally.missed += would_pull && !pulling && ahead > uint64(s.m) / kDense;
#if RUNS_AHEAD
    calm = is_thin ? calm + 1 : 0;
    if (calm > patience) {
      if (!s.balls) {
        if (first_thread) control->status = kWantsBalls;
        break;
      }
      const int most = limit < 0x7fffffff ? static_cast<int>(limit) : 0x7fffffff;
      steps = ahead_search(s, frontier, size, level, most, targets, n_targets, steps - 1, max_steps,
                           records, most_records, shared, barrier, &edges_seen);
      break;
    }
#endif
    const bool sweeping = s.before && !is_thin && size > s.n / kDense;
    if (records && first_thread && steps <= most_records)
      records[steps - 1] = {sweeping ? kSweep : pulling ? kPull : kPush, size, ahead,
                            clock_nanoseconds()};
    if (threadIdx.x == 0)
      out = Found{s.queue + end, &control->found[(k + 1) & 3], &control->ahead[(k + 1) & 3],
                  &control->long_rows[(k + 1) & 3]};
    __syncthreads();
    if (sweeping) {
      if (!swept) {
        mark_frontier(s, level);
        meet(barrier);
      }
      sweep_step(s, &control->chunks[k & 3], &edges_seen);
      meet_and_look(barrier, control, k + 1, k, &seen);
      if (seen.chunks) {
        sweep_chunks(s, seen.chunks);
        meet(barrier);
      }
      collect_step(s, out, slots, level);
      if (threadIdx.x == 0) ++tally.sweeps;
      meet_and_look(barrier, control, k + 1, k, &seen);
    } else if (pulling) {
      pull_step(s, out, slots, s.visited[now], s.visited[now ^ 1], level, &control->chunks[k & 3],
                &edges_seen);
      if (threadIdx.x == 0) ++tally.pulls;
      meet_and_look(barrier, control, k + 1, k, &seen);
      if (seen.chunks) {
        pull_chunks(s, out, slots, s.visited[now], s.visited[now ^ 1], level, seen.chunks,
                    &edges_seen);
        meet_and_look(barrier, control, k + 1, k, &seen);
      }
      now ^= 1;
    } else {
      push_step(s, out, slots, s.visited[now], level, frontier, size, &control->chunks[k & 3],
                &edges_seen);
      if (threadIdx.x == 0) ++tally.pushes;
      meet_and_look(barrier, control, k + 1, k, &seen);
      if (seen.chunks) {
        chunk_step(s, out, slots, s.visited[now], level, seen.chunks);
        meet_and_look(barrier, control, k + 1, k, &seen);
      }
    }
    swept = sweeping;
    ++level;
  }
  edges_seen = warp_sum(edges_seen);
  if (lane_id() == 0) atomicAdd(&control->edges, edges_seen);
  if (first_thread) {
    control->steps = steps;
    control->levels = level - 1;
    control->tally = tally;
  }
}
