// Edges processed when their sums are due: the steps of one_launch_ranges.cuh and, for several
// devices, of partitioned.cuh.
//
// Rows sorted by weight are read only as far as their sums are due. Unsorted rows (SORTED_ROWS 0)
// are read whole, and their due edges are collected in shared memory: reading edges in sequence is
// cheap, reading the distances of their targets is expensive.
//
// Arrays, launch and races: those of one_launch_ranges.cuh.
// requires: algorithms/near_far/one_launch/one_launch_rows.cuh
// requires: algorithms/near_far/one_launch/one_launch_pull.cuh
#pragma once

#ifndef SORTED_ROWS
#define SORTED_ROWS 1
#endif
#ifndef SEARCH_DEGREE
#define SEARCH_DEGREE 16
#endif
constexpr int kSearch = SEARCH_DEGREE;  // rows up to this length are read whole
constexpr int kProbes = 7;

// Targets that belong to another device, and the action on them; on one device none.
struct AllHere {
  __device__ __forceinline__ bool takes(vertex_t) const { return false; }
};

// Edges whose sums are in the range; the least sum beyond it waits for a later step.
template <class Elsewhere>
struct DueBetween {
  const Targets& out;
  Stage& near;
  Found& found;
  Range range;
  Elsewhere elsewhere;
  __device__ __forceinline__ bool counts(bool, weight_t sum) const {
    if (!(sum < range.high)) found.waits(sum);
    const bool due = sum < range.high && !(sum < range.low);
    found.edges += due;
    return due;
  }
  __device__ __forceinline__ void lowered(bool improved, vertex_t v, weight_t sum,
                                          weight_t was) const {
    improved = improved && !elsewhere.takes(v);
    found.reached += improved && !(was < unreached());
    if (improved && !(sum < out.threshold)) found.waits(sum);
    push(near, out.near, improved && sum < out.threshold, v, sum);
  }
};

struct Bracket {
  int low, high;
};

// Positions of a sorted row between which the sums of the range are, after one round of probes at
// 3, 7, 15...: the due ones, and at most as many more on either side.
__device__ __forceinline__ Bracket find_due(const Edge* row, int size, weight_t d, Range range) {
  weight_t sum[kProbes];
#pragma unroll
  for (int i = 0; i < kProbes; ++i) {
    const int at = (4 << i) - 1;
    sum[i] = unreached();
    if (at < size) sum[i] = add_saturating(d, edge_weight(load_edge(row, at)));
  }
  int low = 0, high = 0;
#pragma unroll
  for (int i = 0; i < kProbes; ++i) {
    low += sum[i] < range.low;
    high += sum[i] < range.high;
  }
  const int end = high < kProbes ? 4 << high : size;
  return Bracket{low ? 2 << low : 0, end < size ? end : size};
}

#if SORTED_ROWS
template <class Elsewhere>
struct TakeDue : Relax<DueBetween<Elsewhere>> {
  __device__ __forceinline__ TakeDue(const Solve& solve, const DueBetween<Elsewhere>& due)
      : Relax<DueBetween<Elsewhere>>{solve, due} {}
  __device__ __forceinline__ void finish() const {}
};
#else
// Does the second half of Relax, separately because one function for both made plain solves 7 %
// slower.
template <int N, class Due>
__device__ __forceinline__ void lower_targets(const Solve& solve, const Due& due,
                                              const bool (&take)[N], const vertex_t (&target)[N],
                                              const weight_t (&sum)[N]) {
  Seen seen[N];
  slot_t before[N];
  bool improved[N];
#pragma unroll
  for (int u = 0; u < N; ++u)
    if (take[u]) seen[u] = solve.distance.seen(target[u]);
#pragma unroll
  for (int u = 0; u < N; ++u) {
    improved[u] = take[u] && sum[u] < seen[u].value;
    if (improved[u] && !Distances::fits(sum[u])) {
      solve.control->status = kTooNarrow;
      improved[u] = false;
    }
    if (improved[u]) before[u] = solve.distance.try_lower(target[u], seen[u], sum[u]);
  }
#pragma unroll
  for (int u = 0; u < N; ++u) {
    weight_t was = unreached();
    if (improved[u]) {
      was = solve.distance.lowered(target[u], seen[u], before[u], sum[u]);
      improved[u] = sum[u] < was;
    }
    due.lowered(improved[u], improved[u] ? target[u] : vertex_t(0), sum[u], was);
  }
}

constexpr int kSift = 128;  // edges that are collected and then relaxed together
constexpr int kSiftRoom =
    kSift + 32 * (kLongInFlight > kRowsInFlight ? kLongInFlight : kRowsInFlight);

template <class Elsewhere>
struct TakeDue {
  const Solve& solve;
  const DueBetween<Elsewhere> due;
  mutable Stage sifted;

  // The memory for collected edges follows the stages of all warps.
  __device__ __forceinline__ TakeDue(const Solve& solve, const DueBetween<Elsewhere>& due)
      : solve(solve), due(due), sifted{nullptr, 0} {
    const int warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    sifted.slots = due.near.slots + (warps - warp) * kStage + warp * kSiftRoom;
  }

  template <int N>
  __device__ __forceinline__ void operator()(const bool (&valid)[N], const offset_t (&at)[N],
                                             const weight_t (&from)[N]) const {
    Edge edge[N];
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (valid[u]) edge[u] = load_streamed(solve.edges, at[u]);
#pragma unroll
    for (int u = 0; u < N; ++u) {
      const weight_t sum = valid[u] ? add_saturating(from[u], edge_weight(edge[u])) : unreached();
      const bool take = due.counts(valid[u], sum);
      const uint32 takers = __ballot_sync(kAllLanes, take);
      if (take)
        store_entry(sifted.slots + sifted.filled + __popc(takers & ((1u << lane_id()) - 1)),
                    edge[u].target, sum);
      sifted.filled += __popc(takers);
    }
    if (sifted.filled >= kSift) relax(kSift);
  }

  // Relaxes collected edges until fewer than `least` are left.
  __device__ __forceinline__ void relax(int least) const {
    constexpr int kEach = kSift / 32;
    __syncwarp();
    while (sifted.filled >= least) {
      const int first = sifted.filled > kSift ? sifted.filled - kSift : 0;
      vertex_t target[kEach];
      weight_t sum[kEach];
      bool take[kEach];
#pragma unroll
      for (int u = 0; u < kEach; ++u) {
        const int i = first + u * 32 + lane_id();
        take[u] = i < sifted.filled;
        const Entry entry = take[u] ? sifted.slots[i] : Entry{};
        target[u] = entry.vertex;
        sum[u] = entry.distance;
      }
      sifted.filled = first;
      __syncwarp();  // the slots are written again
      lower_targets<kEach>(solve, due, take, target, sum);
    }
  }
  __device__ __forceinline__ void finish() const { relax(1); }
};
#endif

// Relaxes the edges of the lanes' rows (degree 0 for none) whose sums are in the range. Called by
// the full warp.
template <class Elsewhere>
__device__ __forceinline__ void take_rows(const Solve& solve, const Targets& out,
                                          const TakeDue<Elsewhere>& take, Range range,
                                          offset_t begin, offset_t degree, weight_t d) {
  const bool whole = !(range.high < unreached());
  degree = set_heavy_aside<kHeavy>(solve, out, begin, degree, d);
  int size = static_cast<int>(degree);
  if (SORTED_ROWS && size > kSearch && size <= kChunk && !whole) {
    const Bracket due = find_due(solve.edges + begin, size, d, range);
    begin += due.low;
    size = due.high - due.low;
  }
  walk_by_length<kMiddle, kLongInFlight, kRowsInFlight>(take, begin, size, d);
}

template <class Elsewhere>
__device__ __forceinline__ void near_step(const Solve& solve, const Targets& out, Range range,
                                       const Entry* queue, count_t size, Stage near, Found& found,
                                       Elsewhere elsewhere) {
  const TakeDue<Elsewhere> take(solve, {out, near, found, range, elsewhere});
  take_queue(solve, queue, size, [&](offset_t begin, offset_t degree, weight_t d) {
    found.degrees += static_cast<uint64>(degree);
    take_rows(solve, out, take, range, begin, degree, d);
  });
  take.finish();
  flush(near, out.near);
}

// Relaxes all settled vertices of the span, in order, so that rows are read nearly in sequence.
template <class Elsewhere>
__device__ __forceinline__ void advance_step(const Solve& solve, const Targets& out, Span span,
                                          Range range, Stage near, Found& found,
                                          Elsewhere elsewhere) {
  const TakeDue<Elsewhere> take(solve, {out, near, found, range, elsewhere});
  const long long lanes = grid_threads();
  for (long long base = span.first + first_thread_of_warp(); base < span.last; base += lanes) {
    const long long v = base + lane_id();
    offset_t begin = 0, degree = 0;
    const weight_t d = v < span.last ? solve.distance.at(static_cast<vertex_t>(v)) : unreached();
    if (d < range.low) {
      begin = __ldg(solve.offsets + v);
      degree = __ldg(solve.offsets + v + 1) - begin;
    }
    found.degrees += static_cast<uint64>(degree);
    take_rows(solve, out, take, range, begin, degree, d);
  }
  take.finish();
  flush(near, out.near);
}

template <class Elsewhere>
__device__ __forceinline__ void pieces_step(const Solve& solve, const Targets& out, Range range,
                                         count_t chunks, Stage near, Found& found,
                                         Elsewhere elsewhere) {
  const TakeDue<Elsewhere> take(solve, {out, near, found, range, elsewhere});
  for (count_t c = grid_warp<count_t>(); c < chunks; c += grid_warps<count_t>()) {
    const Chunk chunk = load_chunk(solve.heavy + c);
    if (chunk.size == 0) continue;
#if SORTED_ROWS
    const int stride = (chunk.size + 31) / 32;
    const int place = (lane_id() + 1) * stride - 1;
    const Edge probe =
        load_edge(solve.edges, chunk.begin + (place < chunk.size ? place : chunk.size - 1));
    const weight_t sum = add_saturating(chunk.distance, edge_weight(probe));
    const int low = __popc(__ballot_sync(kAllLanes, sum < range.low)) * stride;
    const int high = (__popc(__ballot_sync(kAllLanes, sum < range.high)) + 1) * stride;
    const int end = high < chunk.size ? high : chunk.size;
    if (low < end)
      walk_long<kLongInFlight>(take, chunk.begin + low, end - low, chunk.distance);
#else
    walk_long<kLongInFlight>(take, chunk.begin, chunk.size, chunk.distance);
#endif
  }
  take.finish();
  flush(near, out.near);
}
