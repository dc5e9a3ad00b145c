// A round of a local step over rows found by their bounds, for one_launch_local.cuh.
//
// An entry carries its row bounds, so its edges are read at once, together with the test that it is not
// stale; the atomic is issued without reading the distance first; and the row bounds of its target are
// read meanwhile. The block's warps take the entries in equal shares, and the lanes of a warp the edges:
// found by a scan of the rows' lengths, unless the rows are few and short.
// requires: algorithms/near_far/one_launch/one_launch_lists.cuh
#pragma once

#if !ROW_HEAD
__device__ __forceinline__ LocalEntry open_entry(const Solve& solve, const Entry& entry) {
  LocalEntry local;
  local.vertex = entry.vertex;
  local.distance = entry.distance;
  local.begin = __ldg(solve.offsets + entry.vertex);
  local.degree = __ldg(solve.offsets + entry.vertex + 1) - local.begin;
  return local;
}

// Values that every edge needs, in registers: nothing is read again in the chain of a round.
struct Chain {
  const offset_t* offsets;
  const Edge* edges;
  Distances distance;
  weight_t threshold;
  int width;  // lanes for a row of the mean degree
  __device__ __forceinline__ Chain(const Solve& solve, const Targets& out)
      : offsets(solve.offsets),
        edges(solve.edges),
        distance(solve.distance),
        threshold(out.threshold),
        width(static_cast<int>(solve.row_lanes)) {}
};

// Returns the number of rows that the block's lanes take together.
__device__ __forceinline__ uint32 rows_at_once(const Chain& chain) {
  return blockDim.x / static_cast<uint32>(chain.width);
}

constexpr int kLocalInFlight = DISTANCE_BITS ? 1 : 2;  // edges per lane; registers spill with more
constexpr int kLocalHeavy = 128;  // edges of a row that a block takes at most
constexpr uint32 kFewRows = 8;  // of a warp, which need no scan if each fits its share of the lanes

// Action of a round on edges in flight (walk_rows.cuh); `slot`: the place of the row's entry in the list.
struct RelaxNear {
  const Chain& chain;
  const Solve& solve;
  const Targets& out;
  const LocalLists& lists;
  const LocalEntry* now;
  uint32& edges;

  template <int N>
  __device__ __forceinline__ void operator()(const bool (&valid)[N], const offset_t (&at)[N],
                                             const uint32 (&slot)[N]) const {
    Edge edge[N];
    LocalEntry found[N] = {};
    weight_t before[N];
    bool fresh[N];
#pragma unroll
    for (int u = 0; u < N; ++u) {
      fresh[u] = valid[u];
      if (valid[u]) {
        edge[u] = load_edge(chain.edges, at[u]);
        found[u].vertex = now[slot[u]].vertex;
        found[u].distance = now[slot[u]].distance;
        fresh[u] = chain.distance.at(found[u].vertex) == found[u].distance;
      }
    }
#pragma unroll
    for (int u = 0; u < N; ++u) {
      before[u] = weight_t(0);
      if (!fresh[u]) continue;
      found[u].vertex = edge[u].target;
      found[u].distance = add_saturating(found[u].distance, edge_weight(edge[u]));
      found[u].begin = load_early(chain.offsets + found[u].vertex);
      found[u].degree = load_early(chain.offsets + found[u].vertex + 1);
      if (Distances::fits(found[u].distance))
        before[u] = chain.distance.lower(found[u].vertex, found[u].distance);
      else
        solve.control->status = kTooNarrow;
    }
#pragma unroll
    for (int u = 0; u < N; ++u) {
      edges += fresh[u];
      found[u].degree -= found[u].begin;
      const bool improved = fresh[u] && found[u].distance < before[u];
      const bool is_near = found[u].distance < chain.threshold;
      push_local(out, lists, improved && is_near, improved && !is_near, found[u]);
    }
  }
};

// Relaxes entries from `base` to `end`, at most kFewRows, each with an equal part of the warp's lanes. Returns
// false, without an effect, if a row is too long for that.
__device__ __forceinline__ bool relax_few(const RelaxNear& relax, const LocalEntry* now, uint32 base,
                                          uint32 share, uint32 end) {
  const int width = 32 >> (32 - __clz(share - 1));  // lanes for a row
  const uint32 slot = base + lane_id() / width;
  offset_t begin = 0, degree = 0;
  if (slot < end) {
    begin = now[slot].begin;
    degree = now[slot].degree;
  }
  if (__any_sync(kAllLanes, degree > width * kLocalInFlight)) return false;
  walk_dealt<kLocalInFlight>(relax, begin, static_cast<int>(degree), width, slot);
  return true;
}

// Relaxes `count` entries; vertices that improve go to the lists.
__device__ __forceinline__ uint32 relax_local(const Chain& chain, const Solve& solve,
                                              const Targets& out, const LocalLists& lists,
                                              const LocalEntry* now, uint32 count) {
  const uint32 warps = blockDim.x >> 5, each = (count + warps - 1) / warps;
  const uint32 share = each < 32 ? each : 32;
  uint32 edges = 0;
  const RelaxNear relax{chain, solve, out, lists, now, edges};
  for (uint32 base = (threadIdx.x >> 5) * share; base < count; base += warps * share) {
    const uint32 slot = base + lane_id(), end = base + share < count ? base + share : count;
    if (share <= kFewRows && relax_few(relax, now, base, share, end)) continue;
    offset_t begin = 0, degree = 0;
    if (slot < end) {
      begin = now[slot].begin;
      degree = now[slot].degree;
    }
    if (__any_sync(kAllLanes, degree > kLocalHeavy)) {
      weight_t d = weight_t(0);
      if (degree > kLocalHeavy) {
        d = now[slot].distance;
        if (chain.distance.at(now[slot].vertex) != d) degree = 0;
      }
      degree = set_heavy_aside<kLocalHeavy>(solve, out, begin, degree, d);
      if (lane_id() == 0) lists.filled->ends = 1;
    }
    walk_rows<kLocalInFlight>(relax, begin, static_cast<int>(degree), slot);
  }
  return edges;
}
#endif
