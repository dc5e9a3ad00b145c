// A walk over rows of edges by one warp, with several edges per lane in flight.
//
// A walk passes positions in the edge array, N per lane at a time, as take(valid, at, from): arrays of N,
// with the value passed with the position's row, such as the distance of its vertex. `take` loads, so it
// decides which reads overlap. spread_rows.cuh passes edges one by one instead. All functions are called by
// whole warps.
// requires: cuda/primitives/warp.cuh
#pragma once

// Walks one row with all lanes.
template <int N, class Value, class Take>
__device__ __forceinline__ void walk_long(const Take& take, offset_t begin, int size, Value value) {
  for (int first = 0; first < size; first += 32 * N) {
    bool valid[N];
    offset_t at[N];
    Value from[N];
#pragma unroll
    for (int u = 0; u < N; ++u) {
      const int j = first + u * 32 + lane_id();
      valid[u] = j < size;
      at[u] = begin + j;
      from[u] = value;
    }
    take(valid, at, from);
  }
}

// Walks up to 32 rows, one per lane (size 0 for none), with their edges spread over the lanes.
template <int N, class Value, class Take>
__device__ __forceinline__ void walk_rows(const Take& take, offset_t begin, int size, Value value) {
  const int upto = warp_inclusive_sum(size);
  const int total = __shfl_sync(kAllLanes, upto, 31);
  const int before = upto - size;
  const offset_t shift = begin - before;
  for (int first = 0; first < total; first += 32 * N) {
    bool valid[N];
    offset_t at[N];
    Value from[N];
#pragma unroll
    for (int u = 0; u < N; ++u) {
      const int t = first + u * 32 + lane_id();
      valid[u] = t < total;
      at[u] = 0;
      from[u] = Value{};
      if (first + u * 32 < total) {
        const int owner = lane_of(t, before);
        at[u] = __shfl_sync(kAllLanes, shift, owner) + t;
        from[u] = of_lane(value, owner);
      }
    }
    take(valid, at, from);
  }
}

// Walks one row per `width` lanes, the same in all of these, of at most N * width edges.
template <int N, class Value, class Take>
__device__ __forceinline__ void walk_dealt(const Take& take, offset_t begin, int size, int width,
                                           Value value) {
  bool valid[N];
  offset_t at[N];
  Value from[N];
#pragma unroll
  for (int u = 0; u < N; ++u) {
    const int j = u * width + (lane_id() & (width - 1));
    valid[u] = j < size;
    at[u] = begin + j;
    from[u] = value;
  }
  take(valid, at, from);
}

// The same, but walks rows longer than Middle one after the other, with Long edges per lane in
// flight.
template <int Middle, int Long, int Short, class Size, class Value, class Take>
__device__ __forceinline__ void walk_by_length(const Take& take, offset_t begin, Size size,
                                               Value value) {
  uint32 longer = __ballot_sync(kAllLanes, size > Middle);
  while (longer) {
    const int lane = __ffs(longer) - 1;
    longer &= longer - 1;
    walk_long<Long>(take, __shfl_sync(kAllLanes, begin, lane),
                    static_cast<int>(__shfl_sync(kAllLanes, size, lane)), of_lane(value, lane));
    if (lane_id() == lane) size = 0;
  }
  if (__any_sync(kAllLanes, size > 0))
    walk_rows<Short>(take, begin, static_cast<int>(size), value);
}
