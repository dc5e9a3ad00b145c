// Rows sorted by weight, taken only as far as their sums are due: the steps of one_launch_ranges.cuh
// and, over several devices, of partitioned.cuh.
//
// Arrays, launch and races: those of one_launch_ranges.cuh.
// requires: algorithms/near_far/one_launch_rows.cuh
// requires: algorithms/near_far/one_launch_pull.cuh
#pragma once

#ifndef SEARCH_DEGREE
#define SEARCH_DEGREE 16
#endif
constexpr int kSearch = SEARCH_DEGREE;  // rows up to this length are read whole
constexpr int kProbes = 7;

// Which targets are kept by another device, and what becomes of them; on one device none.
struct AllHere {
  __device__ __forceinline__ bool takes(vertex_t) const { return false; }
};

// Edges whose sums lie in the range; the least sum beyond it waits for a later step.
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

// Positions of a sorted row between which the sums of the range lie, after one round of probes at
// 3, 7, 15...: the due ones, and at most as many again on either side.
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

// The lanes' rows (degree 0 for none), as far as their sums lie in the range. The whole warp calls
// it.
template <class Elsewhere>
__device__ __forceinline__ void take_rows(const Solve& solve, const Targets& out, Stage& near,
                                          Found& found, Range range, offset_t begin,
                                          offset_t degree, weight_t d, Elsewhere elsewhere) {
  const bool whole = !(range.high < unreached());
  degree = set_heavy_aside(solve, out, begin, degree, d);
  int size = static_cast<int>(degree);
  if (size > kSearch && size <= kChunk && !whole) {
    const Bracket due = find_due(solve.edges + begin, size, d, range);
    begin += due.low;
    size = due.high - due.low;
  }
  const Relax<DueBetween<Elsewhere>> relax{solve, {out, near, found, range, elsewhere}};
  walk_by_length<kMiddle, kLongInFlight, kRowsInFlight>(relax, begin, size, d);
}

template <class Elsewhere>
__device__ __noinline__ void near_step(const Solve& solve, const Targets& out, Range range,
                                       const Entry* queue, count_t size, Stage near, Found& found,
                                       Elsewhere elsewhere) {
  take_queue(solve, queue, size, [&](offset_t begin, offset_t degree, weight_t d) {
    found.degrees += static_cast<uint64>(degree);
    take_rows(solve, out, near, found, range, begin, degree, d, elsewhere);
  });
  flush(near, out.near);
}

// All settled vertices of the span, in their order, so that rows are read nearly in sequence.
template <class Elsewhere>
__device__ __noinline__ void advance_step(const Solve& solve, const Targets& out, Span span,
                                          Range range, Stage near, Found& found,
                                          Elsewhere elsewhere) {
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
    take_rows(solve, out, near, found, range, begin, degree, d, elsewhere);
  }
  flush(near, out.near);
}

template <class Elsewhere>
__device__ __noinline__ void pieces_step(const Solve& solve, const Targets& out, Range range,
                                         count_t chunks, Stage near, Found& found,
                                         Elsewhere elsewhere) {
  const Relax<DueBetween<Elsewhere>> relax{solve, {out, near, found, range, elsewhere}};
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
