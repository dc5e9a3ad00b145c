// The pushing step of the breadth-first search: all warps take the frontier's rows.
//
// Three degree classes, as rows differ by orders of magnitude: up to kMiddle edges they share a
// warp's lanes by a scan of their degrees, longer ones have a warp, and beyond kHeavy they are cut
// into chunks that all warps take after a barrier. A vertex is claimed by setting its bit; the bit
// is read first, and may be read old from L1: then the atomic answers.
//
// requires: algorithms/breadth_first/search_state.cuh
#pragma once

template <int N>
__device__ __forceinline__ void claim_batch(const Search& s, const Found& out, Stage& stage,
                                            uint32* visited, int level, const bool (&valid)[N],
                                            const offset_t (&at)[N]) {
  vertex_t target[N];
  bool fresh[N];
#pragma unroll
  for (int u = 0; u < N; ++u)
    target[u] =
        valid[u] ? load_once(reinterpret_cast<const vertex_t*>(s.edges + at[u])) : vertex_t(0);
#pragma unroll
  for (int u = 0; u < N; ++u) {
    const int* const word = reinterpret_cast<const int*>(visited + (target[u] >> 5));
    fresh[u] = valid[u] && !(static_cast<uint32>(load_stale(word)) & bit_of(target[u]));
  }
#pragma unroll
  for (int u = 0; u < N; ++u) {
    if (fresh[u]) {
      const uint32 bit = bit_of(target[u]);
      fresh[u] = !(atomicOr(visited + (target[u] >> 5), bit) & bit);
      if (fresh[u]) s.distance[target[u]] = level;
    }
    push(s, stage, out, fresh[u], target[u]);
  }
}

__device__ __forceinline__ void push_long(const Search& s, const Found& out, Stage& stage,
                                          uint32* visited, int level, offset_t begin, int size) {
  for (int first = 0; first < size; first += 32 * kInFlight) {
    bool valid[kInFlight];
    offset_t at[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int j = first + u * 32 + lane_id();
      valid[u] = j < size;
      at[u] = begin + j;
    }
    claim_batch<kInFlight>(s, out, stage, visited, level, valid, at);
  }
}

__device__ __forceinline__ void push_rows(const Search& s, const Found& out, Stage& stage,
                                          uint32* visited, int level, offset_t begin, int size) {
  const int upto = warp_inclusive_sum(size);
  const int total = __shfl_sync(kAllLanes, upto, 31);
  const int before = upto - size;
  const offset_t shift = begin - before;
  for (int first = 0; first < total; first += 32 * kInFlight) {
    bool valid[kInFlight];
    offset_t at[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int t = first + u * 32 + lane_id();
      valid[u] = t < total;
      at[u] = 0;
      if (first + u * 32 < total) at[u] = __shfl_sync(kAllLanes, shift, lane_of(t, before)) + t;
    }
    claim_batch<kInFlight>(s, out, stage, visited, level, valid, at);
  }
}

// Cuts the lanes' rows beyond kHeavy into chunks. Returns the row size left to the caller.
__device__ __forceinline__ offset_t set_chunks_aside(const Search& s, uint32* counter,
                                                     offset_t begin, offset_t size) {
  uint32 heavy = __ballot_sync(kAllLanes, size > kHeavy);
  while (heavy) {
    const int lane = __ffs(heavy) - 1;
    heavy &= heavy - 1;
    const offset_t row = __shfl_sync(kAllLanes, begin, lane);
    const offset_t length = __shfl_sync(kAllLanes, size, lane);
    const uint32 count = static_cast<uint32>((length + kChunk - 1) / kChunk);
    uint32 base = 0;
    if (lane_id() == 0) base = atomicAdd(counter, count);
    base = __shfl_sync(kAllLanes, base, 0);
    for (uint32 c = lane_id(); c < count; c += 32) {
      const offset_t start = static_cast<offset_t>(c) * kChunk;
      const offset_t left = length - start;
      s.chunks[base + c] = {row + start, static_cast<int>(left < kChunk ? left : kChunk)};
    }
    if (lane_id() == lane) size = 0;
  }
  return size;
}

__device__ __noinline__ void push_step(const Search& s, const Found& out, vertex_t* slots,
                                       uint32* visited, int level, const vertex_t* frontier,
                                       count_t size, uint32* chunk_counter, uint64* edges_seen) {
  Stage stage{slots, 0};
  const count_t warps = static_cast<count_t>(gridDim.x) * (blockDim.x >> 5);
  const count_t warp = static_cast<count_t>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
  const count_t even = (size + warps - 1) / warps;  // a thin frontier is spread over all warps
  const count_t share = even < 1 ? 1 : even > 32 ? 32 : even;
  for (count_t base = warp * share; base < size; base += warps * share) {
    const count_t i = base + lane_id();
    offset_t begin = 0, degree = 0;
    if (i < size && lane_id() < share) {
      const vertex_t v = __ldcg(frontier + i);
      begin = __ldg(s.offsets + v);
      degree = __ldg(s.offsets + v + 1) - begin;
    }
    *edges_seen += static_cast<uint64>(degree);
    degree = set_chunks_aside(s, chunk_counter, begin, degree);
    uint32 longer = __ballot_sync(kAllLanes, degree > kMiddle);
    while (longer) {
      const int lane = __ffs(longer) - 1;
      longer &= longer - 1;
      push_long(s, out, stage, visited, level, __shfl_sync(kAllLanes, begin, lane),
                static_cast<int>(__shfl_sync(kAllLanes, degree, lane)));
      if (lane_id() == lane) degree = 0;
    }
    if (__any_sync(kAllLanes, degree > 0))
      push_rows(s, out, stage, visited, level, begin, static_cast<int>(degree));
  }
  flush(s, stage, out);
}

__device__ __noinline__ void chunk_step(const Search& s, const Found& out, vertex_t* slots,
                                        uint32* visited, int level, uint32 count) {
  Stage stage{slots, 0};
  const uint32 warps = gridDim.x * (blockDim.x >> 5);
  for (uint32 c = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); c < count; c += warps) {
    const offset_t begin = __ldcg(&s.chunks[c].begin);
    push_long(s, out, stage, visited, level, begin, __ldcg(&s.chunks[c].size));
  }
  flush(s, stage, out);
}
