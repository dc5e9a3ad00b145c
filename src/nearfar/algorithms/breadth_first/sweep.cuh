// The sweeping step of the breadth-first search: a dense frontier without the edges into its
// vertices.
//
// If most vertices are in the frontier and pulling is not possible, a queue costs more than it
// saves: its rows are scattered, and so are the distances that pushing writes. In this step the
// frontier is a bitmap; the vertices are taken in their order, so rows are read in sequence, and
// claiming an edge's target only sets its bit. Afterwards collect_step finds the new bits, writes
// their distances in sequence, makes them the next frontier and queues them in case the next step
// pushes.
//
// Bitmaps: s.visited[0] all visited, s.visited[1] the frontier, s.before the frontier and the
// vertices visited before it. Races, harmless: a bit is read before the atomic that sets it and may
// be old.
//
// requires: algorithms/breadth_first/push.cuh
#pragma once

// Fills the bitmap of a frontier that is in the queue: the vertices at distance level - 1.
__device__ __noinline__ void mark_frontier(const Search& s, int level) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long upto = (s.n + 31) & ~31ll;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < upto;
       v += stride) {
    const bool in = v < s.n && load_relaxed(s.distance + v) == level - 1;
    const uint32 word = __ballot_sync(kAllLanes, in);
    if (lane_id() == 0) {
      s.visited[1][v >> 5] = word;
      s.before[v >> 5] = load_relaxed(s.visited[0] + (v >> 5));
    }
  }
}

// Action of a sweep on edges: sets their targets' bits, possibly repeatedly.
struct Mark {
  const Search& s;

  template <int N>
  __device__ __forceinline__ void operator()(const bool (&valid)[N], const offset_t (&at)[N],
                                             const Nothing (&)[N]) const {
    vertex_t target[N];
    bool fresh[N];
    look_up(s, s.visited[0], valid, at, target, fresh);
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (fresh[u]) atomicOr(s.visited[0] + (target[u] >> 5), bit_of(target[u]));
  }
};

__device__ __noinline__ void sweep_step(const Search& s, uint32* chunk_counter,
                                        uint64* edges_seen) {
  const long long words = (s.n + 31) / 32;
  const long long warps = grid_warps<long long>();
  for (long long w = grid_warp<long long>(); w < words; w += warps) {
    const uint32 word = __ldcg(s.visited[1] + w);
    if (word == 0) continue;
    offset_t begin = 0, degree = 0;
    if (word >> lane_id() & 1) {
      const long long v = w * 32 + lane_id();
      begin = __ldg(s.offsets + v);
      degree = __ldg(s.offsets + v + 1) - begin;
    }
    *edges_seen += static_cast<uint64>(degree);
    walk(s, Mark{s}, chunk_counter, begin, degree);
  }
}

__device__ __noinline__ void sweep_chunks(const Search& s, uint32 count) {
  walk_chunks(s, Mark{s}, count);
}

// Writes the distances of new bits and makes them the frontier, as a bitmap and a queue.
__device__ __noinline__ void collect_step(const Search& s, const Found& out, vertex_t* slots,
                                          int level) {
  Stage stage{slots, 0};
  const long long words = (s.n + 31) / 32;
  const long long warps = grid_warps<long long>(), warp = grid_warp<long long>();
  for (long long base = warp * 32; base < words; base += warps * 32) {
    const long long w = base + lane_id();
    uint32 fresh = 0;
    if (w < words) {
      const uint32 all = load_relaxed(s.visited[0] + w);
      fresh = all & ~__ldcg(s.before + w);
      s.visited[1][w] = fresh;
      if (fresh) s.before[w] = all;
    }
    uint32 some = __ballot_sync(kAllLanes, fresh != 0);
    while (some) {
      const int lane = __ffs(some) - 1;
      some &= some - 1;
      const uint32 word = __shfl_sync(kAllLanes, fresh, lane);
      const vertex_t v = static_cast<vertex_t>((base + lane) * 32 + lane_id());
      const bool in = word >> lane_id() & 1;
      if (in) s.distance[v] = level;
      push(s, stage, out, in, v);
    }
  }
  flush(s, stage, out);
}
