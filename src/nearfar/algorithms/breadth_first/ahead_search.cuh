// The loop of a breadth-first search that runs ahead, and its step over the whole device; see ahead.cuh.
//
// requires: algorithms/breadth_first/ahead.cuh
#pragma once

// The edges begin .. end of a vertex at distance d - 1, `step` threads at a time from `j` on.
__device__ __forceinline__ uint32 relax_row(const Search& s, const AheadOut& out, offset_t begin,
                                            offset_t end, offset_t j, offset_t step, int d,
                                            int* deepest) {
  uint32 seen = 0;
  for (offset_t base = begin + j - lane_id(); base < end; base += step) {
    const offset_t at = base + lane_id();
    vertex_t t = 0;
    bool improved = false;
    if (at < end) {
      t = load_edge(s.edges, at).target;
      improved = d < load_relaxed(s.distance + t) && d < atomicMin(s.distance + t, d);
      ++seen;
    }
    if (improved && d > *deepest) *deepest = d;
    enqueue(out, improved, t, d);
  }
  return seen;
}

// The lanes' vertices at distance d (`take`). The whole warp calls it.
__device__ __forceinline__ uint32 relax_vertices(const Search& s, const AheadOut& out, bool take,
                                                 vertex_t v, int d, int* deepest) {
  offset_t begin = 0, size = 0;
  if (take) {
    begin = __ldg(s.offsets + v);
    size = __ldg(s.offsets + v + 1) - begin;
  }
  if (size > kHeavy) {
    out.heavy[atomicAdd(out.heavy_counter, 1u)] = AheadEntry{v, d};
    size = 0;
  }
  uint32 seen = 0;
  uint32 longer = __ballot_sync(kAllLanes, size > kMiddle);
  while (longer) {
    const int lane = __ffs(longer) - 1;
    longer &= longer - 1;
    const offset_t first = __shfl_sync(kAllLanes, begin, lane);
    const offset_t last = first + __shfl_sync(kAllLanes, size, lane);
    seen += relax_row(s, out, first, last, lane_id(), 32, __shfl_sync(kAllLanes, d, lane) + 1,
                      deepest);
    if (lane_id() == lane) size = 0;
  }
  const int upto = warp_inclusive_sum(static_cast<int>(size));
  const int total = __shfl_sync(kAllLanes, upto, 31);
  const int before = upto - static_cast<int>(size);
  const offset_t shift = begin - before;
  for (int first = 0; first < total; first += 32) {
    const int i = first + lane_id();
    const int owner = lane_of(i, before);
    const offset_t at = __shfl_sync(kAllLanes, shift, owner) + i;
    const int reach = __shfl_sync(kAllLanes, d, owner) + 1;
    vertex_t t = 0;
    bool improved = false;
    if (i < total) {
      t = load_edge(s.edges, at).target;
      improved = reach < load_relaxed(s.distance + t) && reach < atomicMin(s.distance + t, reach);
      ++seen;
    }
    if (improved && reach > *deepest) *deepest = reach;
    enqueue(out, improved, t, reach);
  }
  return seen;
}

// The queue's entries, or (queue null) all vertices that are reached.
__device__ __noinline__ void relax_step(const Search& s, const AheadOut& out,
                                        const AheadEntry* queue, long long size, int limit,
                                        uint64* edges_seen, int* deepest) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long warps = stride / 32;
  const long long warp = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const long long even = (size + warps - 1) / warps;  // a thin frontier is spread over all warps
  const long long share = even < 1 ? 1 : even > 32 ? 32 : even;
  for (long long base = warp * share; base < size; base += warps * share) {
    const long long i = base + lane_id();
    AheadEntry entry{0, 0};
    bool take = false;
    if (i < size && lane_id() < share) {
      entry.vertex = queue ? __ldcg(&queue[i].vertex) : static_cast<vertex_t>(i);
      entry.distance = load_relaxed(s.distance + entry.vertex);
      take = entry.distance < limit && (!queue || entry.distance == __ldcg(&queue[i].distance));
    }
    *edges_seen += relax_vertices(s, out, take, entry.vertex, entry.distance, deepest);
  }
}

__device__ __noinline__ void heavy_step(const Search& s, const AheadOut& out, uint32 count,
                                        uint64* edges_seen, int* deepest) {
  const offset_t stride = static_cast<offset_t>(gridDim.x) * blockDim.x;
  const offset_t thread = static_cast<offset_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (uint32 h = 0; h < count; ++h) {
    const vertex_t v = __ldcg(&s.heavy[h].vertex);
    const int d = __ldcg(&s.heavy[h].distance) + 1;
    *edges_seen += relax_row(s, out, __ldg(s.offsets + v), __ldg(s.offsets + v + 1), thread, stride,
                             d, deepest);
  }
}

struct Ahead {
  long long steps, rescans;
};

// From a frontier of vertices at distance level - 1 to the end. Every thread of the grid calls it.
__device__ __noinline__ Ahead ahead_search(const Search& s, const vertex_t* frontier, count_t size,
                                           int level, int limit, const vertex_t* targets,
                                           long long n_targets, long long steps,
                                           long long max_steps, Record* records,
                                           long long most_records, void* shared,
                                           uint64* edges_seen) {
  Control* const control = s.control;
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += stride)
    if (i < s.ahead_capacity) s.ahead_queue[0][i] = AheadEntry{__ldcg(frontier + i), level - 1};
  if (first_thread) {
    control->entries[0] = size;
    control->least[0] = level - 1;
    control->least[1] = 0x7fffffff;
  }
  grid_barrier(&control->arrivals);
  const count_t capacity = static_cast<count_t>(s.ahead_capacity);
  Ahead done{0, 0};
  int deepest = level - 1;
  bool lost = false;
  for (uint32 k = 0;; ++k) {
    size = load_relaxed(&control->entries[k & 3]);
    const int least = load_relaxed(&control->least[k & 3]);
    if (size == 0) break;
    ++done.steps;
    if (++steps > max_steps) {
      if (first_thread) control->status = kStuck;
      break;
    }
    if (n_targets) {  // whatever is written from now on is greater than `least`
      bool settled = true;
      for (long long t = threadIdx.x; t < n_targets; t += blockDim.x)
        settled &= load_relaxed(s.distance + targets[t]) <= least;
      if (__syncthreads_and(settled)) break;
    }
    if (first_thread) {
      control->entries[(k + 2) & 3] = 0;
      control->ahead_long[(k + 2) & 3] = 0;
      control->heavy[(k + 2) & 3] = 0;
      control->least[(k + 2) & 3] = 0x7fffffff;
    }
    const AheadOut out{s.ahead_queue[(k + 1) & 1],       &control->entries[(k + 1) & 3],
                       &control->least[(k + 1) & 3],     &control->ahead_long[(k + 1) & 3],
                       s.heavy, &control->heavy[k & 3], capacity};
    lost = size > capacity;
    const bool local = !lost && size <= static_cast<count_t>(s.ahead_limit) &&
                       !load_relaxed(&control->ahead_long[k & 3]);
    if (records && first_thread && steps <= most_records)
      records[steps - 1] = {lost ? kRescan : local ? kAhead : kRelax, size, 0, clock_nanoseconds()};
    const AheadEntry* const queue = s.ahead_queue[k & 1];
    if (local) {
      const int rounds = n_targets && s.ahead_rounds > 63 ? 63 : static_cast<int>(s.ahead_rounds);
      ahead_step(s, out, queue, size, limit, rounds, shared, edges_seen, &deepest);
    } else {
      relax_step(s, out, lost ? nullptr : queue, lost ? s.n : size, limit, edges_seen, &deepest);
      done.rescans += lost;
    }
    grid_barrier(&control->arrivals);
    const uint32 heavy = load_relaxed(&control->heavy[k & 3]);
    if (heavy) {
      heavy_step(s, out, heavy, edges_seen, &deepest);
      grid_barrier(&control->arrivals);
    }
  }
  deepest = -warp_min(-deepest);
  if (lane_id() == 0) atomicMax(&control->deepest, static_cast<long long>(deepest));
  return done;
}

// rows[n][ROW_WIDTH] of a graph. Launch: any. Races: none.
extern "C" __global__ void fill_rows(const offset_t* offsets, const Edge* edges, long long n,
                                     vertex_t* rows) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long slot = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       slot < n * ROW_WIDTH; slot += stride) {
    const long long v = slot / ROW_WIDTH;
    const offset_t i = static_cast<offset_t>(slot % ROW_WIDTH);
    const offset_t begin = __ldg(offsets + v), degree = __ldg(offsets + v + 1) - begin;
    vertex_t target = kNoTarget;
    if (degree > ROW_WIDTH && i == ROW_WIDTH - 1)
      target = kLonger;
    else if (i < degree)
      target = load_edge(edges, begin + i).target;
    rows[slot] = target;
  }
}
