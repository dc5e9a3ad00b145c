// The pushing step of the breadth-first search: all warps take the frontier's rows.
//
// Three degree classes, as rows differ by orders of magnitude: rows of up to kMiddle edges share a
// warp's lanes by a scan of their degrees, longer ones have a warp each, and beyond kLong they are
// cut into chunks that all warps take after a barrier. A vertex is claimed by setting its bit; the
// bit is read first, possibly an old value from L1, and then the atomic decides.
//
// requires: algorithms/breadth_first/search_state.cuh
// requires: cuda/primitives/deal.cuh
// requires: cuda/primitives/walk_rows.cuh
#pragma once

// Loads the edges' targets, and whether their bits appear unset to this multiprocessor.
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

// A row needs no value: all vertices of a level have the same distance.
struct Nothing {};

__device__ __forceinline__ Nothing of_lane(Nothing, int) { return Nothing{}; }

// Action of pushing on edges: the first to set a target's bit writes its distance and queues it.
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
                                                     offset_t begin, offset_t size,
                                                     vertex_t vertex = 0) {
  uint32 heavy = __ballot_sync(kAllLanes, size > kLong);
  while (heavy) {
    const int lane = __ffs(heavy) - 1;
    heavy &= heavy - 1;
    const offset_t row = __shfl_sync(kAllLanes, begin, lane);
    const offset_t length = __shfl_sync(kAllLanes, size, lane);
    const vertex_t v = __shfl_sync(kAllLanes, vertex, lane);
    const uint32 count = static_cast<uint32>((length + kChunk - 1) / kChunk);
    uint32 base = 0;
    if (lane_id() == 0) base = atomicAdd(counter, count);
    base = __shfl_sync(kAllLanes, base, 0);
    for (uint32 c = lane_id(); c < count; c += 32) {
      const offset_t start = static_cast<offset_t>(c) * kChunk;
      const offset_t left = length - start;
      s.chunks[base + c] = {row + start, static_cast<int>(left < kChunk ? left : kChunk), v};
    }
    if (lane_id() == lane) size = 0;
  }
  return size;
}

// Processes the lanes' rows (size 0 for none), each by its class.
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

// Pushes a frontier with fewer vertices than warps: each row is split among as many warps as it has
// edges for.
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

// Pushes the frontier's rows with `warps` warps, one of them the caller.
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

__device__ __noinline__ void push_step(const Search& s, const Found& out, vertex_t* slots,
                                       uint32* visited, int level, const vertex_t* frontier,
                                       count_t size, uint32* chunk_counter, uint64* edges_seen) {
  Stage stage{slots, 0};
  push_rows(s, Claim{s, out, stage, visited, level}, frontier, size, grid_warps<count_t>(),
            grid_warp<count_t>(), chunk_counter, edges_seen);
  flush(s, stage, out);
}

__device__ __noinline__ void chunk_step(const Search& s, const Found& out, vertex_t* slots,
                                        uint32* visited, int level, uint32 count) {
  Stage stage{slots, 0};
  walk_chunks(s, Claim{s, out, stage, visited, level}, count);
  flush(s, stage, out);
}
