// The loop of a breadth-first search that runs ahead, and its step over the whole device; see ahead.cuh.
//
// requires: algorithms/breadth_first/ahead.cuh
// requires: cuda/graph/beyond_row.cuh
// requires: cuda/primitives/deal.cuh
// requires: cuda/primitives/walk_rows.cuh
#pragma once

// Action of a device-wide step on edges (walk_rows.cuh): queues the targets that improve. `reach`
// is the distance over the edge.
struct RelaxAhead {
  const Search& s;
  const AheadOut& out;
  AheadCounts& counts;

  __device__ __forceinline__ void operator()(const bool (&valid)[1], const offset_t (&at)[1],
                                             const int (&reach)[1]) const {
    const int d = reach[0];
    vertex_t t = 0;
    bool improved = false;
    if (valid[0]) {
      t = load_edge(s.edges, at[0]).target;
      improved = d < load_relaxed(s.distance + t) && d < atomicMin(s.distance + t, d);
      ++counts.seen;
    }
    if (improved && d > counts.deepest) counts.deepest = d;
    enqueue(out, improved, t, d);
  }
};

// Relaxes the queue's entries, or (queue null) all reached vertices. Rows beyond kHeavy are left to
// heavy_step.
__device__ __noinline__ void relax_step(const Search& s, const AheadOut& out,
                                        const AheadEntry* queue, long long size, int limit,
                                        AheadCounts* counts) {
  const RelaxAhead relax{s, out, *counts};
  const long long warps = grid_warps<long long>(), warp = grid_warp<long long>();
  const long long share = warp_share(size, warps);
  for (long long base = warp * share; base < size; base += warps * share) {
    const long long i = base + lane_id();
    AheadEntry entry{0, 0};
    offset_t begin = 0, degree = 0;
    if (i < size && lane_id() < share) {
      entry.vertex = queue ? __ldcg(&queue[i].vertex) : static_cast<vertex_t>(i);
      entry.distance = load_relaxed(s.distance + entry.vertex);
      if (entry.distance < limit && (!queue || entry.distance == __ldcg(&queue[i].distance))) {
        begin = __ldg(s.offsets + entry.vertex);
        degree = __ldg(s.offsets + entry.vertex + 1) - begin;
      }
    }
    if (degree > kHeavy) {
      out.heavy[atomicAdd(out.heavy_counter, 1u)] = entry;
      degree = 0;
    }
    walk_by_length<kMiddle, 1, 1>(relax, begin, degree, entry.distance + 1);
  }
}

__device__ __noinline__ void heavy_step(const Search& s, const AheadOut& out, uint32 count,
                                        AheadCounts* counts) {
  const RelaxAhead relax{s, out, *counts};
  for (uint32 h = 0; h < count; ++h) {
    const vertex_t v = __ldcg(&s.heavy[h].vertex);
    const int d = __ldcg(&s.heavy[h].distance) + 1;
    const offset_t begin = __ldg(s.offsets + v), degree = __ldg(s.offsets + v + 1) - begin;
    for (offset_t first = 32 * grid_warp<offset_t>(); first < degree;
         first += 32 * grid_warps<offset_t>()) {
      const offset_t left = degree - first;
      walk_long<1>(relax, begin + first, left < 32 ? static_cast<int>(left) : 32, d);
    }
  }
}

constexpr int kTargetRounds = 4;
#ifndef SHORTCUT_DEPTH
#define SHORTCUT_DEPTH 2
#endif

struct SearchDistance {
  const int* of;
  __device__ __forceinline__ int at(vertex_t v) const { return load_relaxed(of + v); }
};

__device__ __forceinline__ int distance_found(const Search& s, vertex_t v) {
  const SearchDistance distance{s.distance};
  using Rows = EdgeRows<kRowEdges, RowEdge>;
  if (!s.heads) return distance.at(v);
  return Beyond<SHORTCUT_DEPTH, Rows, SearchDistance>{Rows{s.heads}, distance}.at(v);
}

// Computes distances of the vertices removed at `time`: their neighbours were removed later or
// never, and have theirs.
__device__ __noinline__ void fill_beyond(const Search& s, int time, int limit, AheadCounts* counts) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < s.n;
       v += stride) {
    const int4* const row = reinterpret_cast<const int4*>(s.heads + v * kRowEdges);
    RowEdge edge[kRowEdges];
#pragma unroll
    for (int i = 0; i < kRowEdges; i += 2) *reinterpret_cast<int4*>(edge + i) = __ldg(row + i / 2);
    if (edge[kRowEdges - 1].target != kRemovedRow || edge[kRowEdges - 1].weight != time) continue;
    int least = load_relaxed(s.distance + v);
    int from[kFewEdges];
#pragma unroll
    for (int i = 0; i < kFewEdges; ++i)
      from[i] = edge[i].target >= 0 ? load_relaxed(s.distance + edge[i].target) : 0x7fffffff;
#pragma unroll
    for (int i = 0; i < kFewEdges; ++i) {
      const int d = add_saturating(from[i], edge[i].weight);
      least = d < least ? d : least;
    }
    if (least > limit || least == 0x7fffffff) continue;
    s.distance[v] = least;
    if (least > counts->deepest) counts->deepest = least;
  }
}

// Counters after a step that ran ahead, read by one thread of each block.
struct SeenAhead {
  count_t entries;
  int least;
  uint32 long_rows, heavy;
};

__device__ __forceinline__ void meet_and_look_ahead(SplitBarrier& barrier, const Control* control,
                                                    uint32 next, uint32 present, SeenAhead* seen) {
  barrier.arrive();
  if (threadIdx.x == 0) {
    barrier.wait_alone();
    const count_t entries = load_relaxed(&control->entries[next & 3]);
    const int least = load_relaxed(&control->least[next & 3]);
    const uint32 long_rows = load_relaxed(&control->ahead_long[next & 3]);
    const uint32 heavy = load_relaxed(&control->heavy[present & 3]);
    *seen = SeenAhead{entries, least, long_rows, heavy};
  }
  __syncthreads();
}

// Searches from a frontier at distance level - 1 to the end. Returns the number of steps, earlier
// ones included. Called by every thread of the grid.
__device__ __noinline__ long long ahead_search(const Search& s, const vertex_t* frontier, count_t size,
                                           int level, int limit, const vertex_t* targets,
                                           long long n_targets, long long steps,
                                           long long max_steps, Record* records,
                                           long long most_records, void* shared,
                                           SplitBarrier barrier, uint64* edges_seen) {
  __shared__ AheadOut out;
  __shared__ SeenAhead seen;
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
  meet_and_look_ahead(barrier, control, 0, 0, &seen);
  const count_t capacity = static_cast<count_t>(s.ahead_capacity);
  const long long before = steps;
  AheadCounts counts{0, level - 1};
  bool lost = false;
  for (uint32 k = 0;; ++k) {
    size = seen.entries;
    const int least = seen.least;
    if (size == 0) break;
    if (++steps > max_steps) {
      if (first_thread) control->status = kStuck;
      break;
    }
    if (n_targets) {  // all later distances are greater than `least`
      bool settled = true;
      for (long long t = threadIdx.x; t < n_targets; t += blockDim.x)
        settled &= distance_found(s, targets[t]) <= least;
      if (__syncthreads_and(settled)) break;
    }
    if (first_thread) {
      control->entries[(k + 2) & 3] = 0;
      control->ahead_long[(k + 2) & 3] = 0;
      control->heavy[(k + 2) & 3] = 0;
      control->least[(k + 2) & 3] = 0x7fffffff;
    }
    if (threadIdx.x == 0)
      out = AheadOut{s.ahead_queue[(k + 1) & 1],   &control->entries[(k + 1) & 3],
                     &control->least[(k + 1) & 3],
                     &control->ahead_long[(k + 1) & 3],
                     s.heavy, &control->heavy[k & 3], capacity};
    __syncthreads();
    lost = size > capacity;
    const bool local = !lost && size <= static_cast<count_t>(s.ahead_limit) &&
                       !seen.long_rows;
    if (records && first_thread && steps <= most_records)
      records[steps - 1] = {lost ? kRescan : local ? kAhead : kRelax, size, 0, clock_nanoseconds()};
    const AheadEntry* const queue = s.ahead_queue[k & 1];
    if (local) {
      // Work beyond the targets is wasted.
      const int most = n_targets ? kTargetRounds : 1 << 30;
      const int rounds = s.ahead_rounds < most ? static_cast<int>(s.ahead_rounds) : most;
      ahead_step(s, out, queue, size, least, limit, rounds, shared, &counts);
    } else {
      relax_step(s, out, lost ? nullptr : queue, lost ? s.n : size, limit, &counts);
      if (first_thread) {
        control->rescans += lost;
        control->wide += size > s.n / kDense;
      }
    }
    meet_and_look_ahead(barrier, control, k + 1, k, &seen);
    if (seen.heavy) {
      heavy_step(s, out, seen.heavy, &counts);
      meet_and_look_ahead(barrier, control, k + 1, k, &seen);
    }
  }
  for (int time = SHORTCUT_DEPTH; s.heads && time-- > 0;) {
    fill_beyond(s, time, limit, &counts);
    if (time) meet(barrier);
  }
  *edges_seen += counts.seen;
  const int deepest = -warp_min(-counts.deepest);
  if (lane_id() == 0) atomicMax(&control->deepest, static_cast<long long>(deepest));
  if (first_thread) control->ahead_steps = steps - before;
  return steps;
}
