// The pushing step of the breadth-first search: all warps take the frontier's rows.
//
// Three degree classes, as rows differ by orders of magnitude: up to kMiddle edges they share a
// warp's lanes by a scan of their degrees, longer ones have a warp, and beyond kLong they are cut
// into chunks that all warps take after a barrier. A vertex is claimed by setting its bit; the bit
// is read first, and may be read old from L1: then the atomic answers.
//
// requires: algorithms/breadth_first/search_state.cuh
// requires: cuda/deal.cuh
// requires: cuda/walk_rows.cuh
#pragma once

// The edges' targets, and whether their bits are not set as far as this multiprocessor knows.
template <int N>
__device__ __forceinline__ void look_up(const Search& s, const uint32* visited,
                                        const bool (&valid)[N], const offset_t (&at)[N],
                                        vertex_t (&target)[N], bool (&fresh)[N]) {
#pragma unroll
  for (int u = 0; u < N; ++u)
    target[u] =
        valid[u] ? load_once(reinterpret_cast<const vertex_t*>(s.edges + at[u])) : vertex_t(0);
#pragma unroll
  for (int u = 0; u < N; ++u) {
    const int* const word = reinterpret_cast<const int*>(visited + (target[u] >> 5));
    fresh[u] = valid[u] && !(static_cast<uint32>(load_stale(word)) & bit_of(target[u]));
  }
}

// No value comes with a row: all of a level have the same distance.
struct Nothing {};

__device__ __forceinline__ Nothing of_lane(Nothing, int) { return Nothing{}; }

// What pushing does with edges: the first to set a target's bit writes its distance and queues it.
struct Claim {
  const Search& s;
  const Found& out;
  Stage& stage;
  uint32* visited;
  int level;

  template <int N>
  __device__ __forceinline__ void operator()(const bool (&valid)[N], const offset_t (&at)[N],
                                             const Nothing (&)[N]) const {
    vertex_t target[N];
    bool fresh[N];
    uint32 before[N];
    look_up(s, visited, valid, at, target, fresh);
#pragma unroll
    for (int u = 0; u < N; ++u)
      before[u] = fresh[u] ? atomicOr(visited + (target[u] >> 5), bit_of(target[u])) : ~0u;
#pragma unroll
    for (int u = 0; u < N; ++u) {
      fresh[u] = !(before[u] & bit_of(target[u]));
      if (fresh[u]) s.distance[target[u]] = level;
      push(s, stage, out, fresh[u], target[u]);
    }
  }
};

// Cuts the lanes' rows beyond kLong into chunks. Returns the row size left to the caller.
__device__ __forceinline__ offset_t set_chunks_aside(const Search& s, uint32* counter,
                                                     offset_t begin, offset_t size) {
  uint32 heavy = __ballot_sync(kAllLanes, size > kLong);
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

// The lanes' rows (size 0 for none), each class in its way.
template <class Take>
__device__ __forceinline__ void walk(const Search& s, const Take& take, uint32* chunk_counter,
                                     offset_t begin, offset_t size) {
  size = set_chunks_aside(s, chunk_counter, begin, size);
  walk_by_length<kMiddle, kInFlight, kInFlight>(take, begin, size, Nothing{});
}

template <class Take>
__device__ __forceinline__ void walk_chunks(const Search& s, const Take& take, uint32 count) {
  for (uint32 c = grid_warp<uint32>(); c < count; c += grid_warps<uint32>())
    walk_long<kInFlight>(take, __ldcg(&s.chunks[c].begin), __ldcg(&s.chunks[c].size), Nothing{});
}

// A frontier of fewer vertices than there are warps: each row is split among as many as it has edges for.
__device__ __forceinline__ void push_split(const Search& s, const Claim& claim,
                                           const vertex_t* frontier, count_t size, count_t warps,
                                           count_t warp, uint64* edges_seen) {
  const count_t parts = warps / size;
  const count_t i = warp / parts;
  if (i >= size) return;
  const vertex_t v = __ldcg(frontier + i);
  const offset_t begin = __ldg(s.offsets + v), degree = __ldg(s.offsets + v + 1) - begin;
  const offset_t even = (degree + static_cast<offset_t>(parts) - 1) / static_cast<offset_t>(parts);
  const offset_t share = (even + 31) & ~offset_t(31);
  const offset_t first = share * static_cast<offset_t>(warp % parts);
  const offset_t last = first + share < degree ? first + share : degree;
  for (offset_t j = first; j < last; j += kChunk) {
    const int piece = static_cast<int>(last - j < kChunk ? last - j : kChunk);
    walk_long<kInFlight>(claim, begin + j, piece, Nothing{});
    if (lane_id() == 0) *edges_seen += static_cast<uint64>(piece);
  }
}

// The frontier's rows, taken by so many warps; the caller is one of them.
__device__ __forceinline__ void push_rows(const Search& s, const Claim& claim,
                                          const vertex_t* frontier, count_t size, count_t warps,
                                          count_t warp, uint32* chunk_counter, uint64* edges_seen) {
  if (size <= warps / 2) return push_split(s, claim, frontier, size, warps, warp, edges_seen);
  const count_t share = warp_share(size, warps);
  for (count_t base = warp * share; base < size; base += warps * share) {
    const count_t i = base + lane_id();
    offset_t begin = 0, degree = 0;
    if (i < size && lane_id() < share) {
      const vertex_t v = __ldcg(frontier + i);
      begin = __ldg(s.offsets + v);
      degree = __ldg(s.offsets + v + 1) - begin;
    }
    *edges_seen += static_cast<uint64>(degree);
    walk(s, claim, chunk_counter, begin, degree);
  }
}

// A level, taken by so many warps; the caller is one of them.
__device__ __noinline__ void push_step(const Search& s, const Found& out, vertex_t* slots,
                                       uint32* visited, int level, const vertex_t* frontier,
                                       count_t size, count_t warps, count_t warp,
                                       uint32* chunk_counter, uint64* edges_seen) {
  Stage stage{slots, 0};
  push_rows(s, Claim{s, out, stage, visited, level}, frontier, size, warps, warp, chunk_counter,
            edges_seen);
  flush(s, stage, out);
}

__device__ __noinline__ void chunk_step(const Search& s, const Found& out, vertex_t* slots,
                                        uint32* visited, int level, uint32 count) {
  Stage stage{slots, 0};
  walk_chunks(s, Claim{s, out, stage, visited, level}, count);
  flush(s, stage, out);
}

#ifndef ALONE_EDGES
#define ALONE_EDGES 1024
#endif

// Whether one block takes a level faster than all, which would have to meet.
__device__ __forceinline__ bool is_small(count_t size, uint64 edges, uint32 long_rows) {
  return ALONE_EDGES && size <= ALONE_EDGES && edges <= ALONE_EDGES && !long_rows;
}

// Small levels from a frontier at the end of `queue` on, taken by one block: its own barrier stands between them. Leaves
// the last frontier's counters where the grid looks for them.
__device__ __noinline__ void small_levels(const Search& s, vertex_t* slots, uint32* visited, int level, long long limit,
                                          vertex_t* queue, count_t size, uint32 k, uint64* edges_seen) {
  __shared__ Found out;
  __shared__ count_t found[3];
  __shared__ uint64 ahead[3];
  __shared__ uint32 long_rows[3];
  Control* const control = s.control;
  Passed passed{0, 0, 0};
  if (threadIdx.x == 0) found[0] = 0, ahead[0] = 0, long_rows[0] = 0;
  uint32 turn = 0;
  while (true) {
    const uint32 next = turn == 2 ? 0 : turn + 1;
    if (threadIdx.x == 0) {
      out = Found{queue, &found[turn], &ahead[turn], &long_rows[turn]};
      found[next] = 0, ahead[next] = 0, long_rows[next] = 0;
    }
    __syncthreads();
    push_step(s, out, slots, visited, level, queue - size, size, blockDim.x >> 5, threadIdx.x >> 5,
              nullptr, edges_seen);
    __syncthreads();
    size = found[turn];
    ++level;
    ++passed.levels;
    if (!size || level > limit || !is_small(size, ahead[turn], long_rows[turn])) break;
    queue += size;
    passed.vertices += size;
    passed.edges += static_cast<long long>(ahead[turn]);
    turn = next;
  }
  if (threadIdx.x == 0) {
    control->found[(k + 1) & 3] = size;
    control->ahead[(k + 1) & 3] = ahead[turn];
    control->long_rows[(k + 1) & 3] = long_rows[turn];
    control->passed[k & 3] = passed;
  }
}
