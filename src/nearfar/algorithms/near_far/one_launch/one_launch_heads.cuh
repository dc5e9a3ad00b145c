// A round of a local step over rows carried by their entries, for one_launch_local.cuh.
//
// solve.heads has the rows of up to ROW_HEAD edges at positions computed from the vertex (row_heads.cuh).
// The row of a target is read together with the atomic on its distance, so a new entry has its edges
// and the next round waits for memory once. ROW_HEAD lanes take a row; where the block has more rows than
// lanes for them, kAtOnce rows are in flight at a time.
// An entry is tested for staleness while its edges are relaxed: targets lowered from a stale entry are not
// pushed, since the entry that replaced it lowers the same targets further. The edge back to the vertex's
// predecessor cannot improve anything and is left out.
// Longer rows are found by their bounds, when they are taken.
// With SHORTCUTS rows skip vertices that are taken out (row_shortcuts.cuh); write_answer adds those at the end.
// requires: algorithms/near_far/one_launch/one_launch_lists.cuh
// requires: cuda/graph/beyond_row.cuh
#pragma once

#if ROW_HEAD
// Different distances have different sums with an edge, unless these are rounded: then a stale entry may lower
// a target exactly as the entry that replaced it would, and the target is pushed.
constexpr bool kSumsDiffer = weight_t(1) / 2 == weight_t(0);
constexpr int kLocalHeavy = 64;  // edges of a row that a block takes at most, with ROW_HEAD lanes
constexpr int kAtOnce = ROW_HEAD > 4 ? 1 : 2;

// Values that every edge needs, in registers; the others stay in the kernel's shared memory.
struct Chain {
  const HeadRow* heads;
  Distances distance;
  weight_t threshold;
  __device__ __forceinline__ Chain(const Solve& solve, const Targets& out)
      : heads(solve.heads), distance(solve.distance), threshold(out.threshold) {}
};

// Returns the number of rows that the block's lanes take together.
__device__ __forceinline__ uint32 rows_at_once(const Chain&) {
  return blockDim.x / ROW_HEAD;
}

__device__ __forceinline__ LocalRow load_row(const HeadRow* heads, vertex_t v) {
  const int4* const from = reinterpret_cast<const int4*>(heads + v);
  LocalRow row;
#pragma unroll
  for (int i = 0; i < kRowPieces; ++i) row.piece[i] = load_early(from + i);
  return row;
}

__device__ __forceinline__ LocalEntry open_entry(const Solve& solve, const Entry& entry) {
  return LocalEntry{entry.vertex, entry.distance, kNoVertex, load_row(solve.heads, entry.vertex)};
}

// An edge of a row, and the distance over it.
struct Reached {
  vertex_t target;  // or a marker
  weight_t sum;
};

__device__ __forceinline__ Reached reach(const LocalRow& row, int place, weight_t distance) {
#if CHAINS
  const HeadRow& head = reinterpret_cast<const HeadRow&>(row);
  return {head.target[place], add_chain(distance, head, place)};
#else
  const Edge& edge = reinterpret_cast<const HeadRow&>(row).edge[place];
  return {edge.target, add_saturating(distance, edge_weight(edge))};
#endif
}

// N edges of a lane that are relaxed at the same time.
template <int N>
struct Edges {
  bool valid[N];
  vertex_t target[N];
  weight_t sum[N];
  vertex_t from[N];      // the entry,
  weight_t distance[N];  // and the distance that it was pushed with
};

template <int N>
__device__ __forceinline__ uint32 relax_edges(const Chain& chain, const Solve& solve,
                                              const Targets& out, const LocalLists& lists,
                                              const Edges<N>& edges) {
  LocalEntry found[N];
  weight_t now[N], before[N];
  uint32 looked = 0;
#pragma unroll
  for (int u = 0; u < N; ++u) {
    now[u] = edges.distance[u];
    if (edges.valid[u]) {
      if (kSumsDiffer) now[u] = chain.distance.at(edges.from[u]);
      found[u].row = load_row(chain.heads, edges.target[u]);
      ++looked;
    }
  }
#pragma unroll
  for (int u = 0; u < N; ++u) {
    before[u] = weight_t(0);
    if (edges.valid[u]) {
      if (Distances::fits(edges.sum[u]))
        before[u] = chain.distance.lower(edges.target[u], edges.sum[u]);
      else
        solve.control->status = kTooNarrow;
    }
  }
#pragma unroll
  for (int u = 0; u < N; ++u) {
    found[u].vertex = edges.target[u];
    found[u].distance = edges.sum[u];
    found[u].from = edges.from[u];
    const bool improved =
        edges.valid[u] && edges.sum[u] < before[u] && now[u] == edges.distance[u];
    const bool is_near = edges.sum[u] < chain.threshold;
    push_local(out, lists, improved && is_near, improved && !is_near, found[u]);
  }
  return looked;
}

// Relaxes the rows beyond ROW_HEAD edges of the warp's groups of lanes (`taken`: whether a group
// has one).
__device__ __noinline__ uint32 relax_long_rows(const Solve& solve, const Targets& out,
                                               LocalLists lists, bool taken, vertex_t vertex,
                                               weight_t distance) {
  const Chain chain(solve, out);
  const int leader = lane_id() & ~(ROW_HEAD - 1);
  offset_t begin = 0, degree = 0;
  if (taken && chain.distance.at(vertex) == distance) {
    begin = __ldg(solve.offsets + vertex);
    degree = __ldg(solve.offsets + vertex + 1) - begin;
  }
  if (__any_sync(kAllLanes, degree > kLocalHeavy)) {
    const offset_t own = lane_id() == leader ? degree : 0;
    const offset_t left = set_heavy_aside<kLocalHeavy>(solve, out, begin, own, distance);
    degree = __shfl_sync(kAllLanes, left, leader);
    if (lane_id() == 0) lists.filled->ends = 1;
  }
  uint32 looked = 0;
  for (offset_t j = lane_id() - leader; __any_sync(kAllLanes, j < degree); j += ROW_HEAD) {
    Edge edge{};
    if (j < degree) edge = load_edge(solve.edges, begin + j);
    const Edges<1> edges{{j < degree},
                         {edge.target},
                         {add_saturating(distance, edge_weight(edge))},
                         {vertex},
                         {distance}};
    looked += relax_edges<1>(chain, solve, out, lists, edges);
  }
  return looked;
}

template <int N>
__device__ __forceinline__ uint32 relax_rows(const Chain& chain, const Solve& solve,
                                             const Targets& out, const LocalLists& lists,
                                             const LocalEntry* list, uint32 count) {
  constexpr uint32 kRows = 32 / ROW_HEAD;  // that a warp takes at once
  const uint32 stride = (blockDim.x >> 5) * kRows;
  uint32 looked = 0;
  for (uint32 base = (threadIdx.x >> 5) * kRows; base < count; base += stride * N) {
    Edges<N> edges;
    bool longer[N];
#pragma unroll
    for (int u = 0; u < N; ++u) {
      const uint32 slot = base + u * stride + lane_id() / ROW_HEAD;
      const bool there = slot < count;
      const LocalEntry* const entry = list + (there ? slot : 0);
      const vertex_t from = entry->from;
      edges.from[u] = entry->vertex;
      edges.distance[u] = entry->distance;
      const Reached edge = reach(entry->row, lane_id() % ROW_HEAD, entry->distance);
      longer[u] = there & (edge.target == kLongRow);
      edges.valid[u] = there & (edge.target >= 0) & (edge.target != from);
      edges.target[u] = edge.target;
      edges.sum[u] = edge.sum;
    }
    looked += relax_edges<N>(chain, solve, out, lists, edges);
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (__any_sync(kAllLanes, longer[u]))
        looked += relax_long_rows(solve, out, lists, longer[u], edges.from[u], edges.distance[u]);
  }
  return looked;
}

// Relaxes `count` entries; vertices that improve go to the lists.
__device__ __forceinline__ uint32 relax_local(const Chain& chain, const Solve& solve,
                                              const Targets& out, const LocalLists& lists,
                                              const LocalEntry* list, uint32 count) {
  return count > rows_at_once(chain)
             ? relax_rows<kAtOnce>(chain, solve, out, lists, list, count)
             : relax_rows<1>(chain, solve, out, lists, list, count);
}
#endif
