// A round of a local step over rows found by their bounds, for one_launch_local.cuh.
//
// An entry carries its row bounds, so its edges are read at once, row_lanes lanes per row, together
// with the test that it is not stale; the atomic is issued without reading the distance first; and the
// row bounds of its target are read meanwhile.
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
  int width;  // lanes per row
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

// Relaxes `count` entries; vertices that improve go to the lists.
__device__ __forceinline__ uint32 relax_local(const Chain& chain, const Solve& solve,
                                              const Targets& out, const LocalLists& lists,
                                              const LocalEntry* now, uint32 count) {
  const uint32 rows = 32 / chain.width, warps = blockDim.x >> 5;
  const int leader = lane_id() & ~(chain.width - 1);
  uint32 edges = 0;
  for (uint32 base = (threadIdx.x >> 5) * rows; base < count; base += warps * rows) {
    const uint32 slot = base + lane_id() / chain.width;
    LocalEntry entry{};
    if (slot < count) entry = now[slot];
    if (__any_sync(kAllLanes, entry.degree > kLocalHeavy)) {
      const bool fresh = chain.distance.at(entry.vertex) == entry.distance;
      const bool leads = lane_id() == leader && fresh;
      const offset_t left =
          set_heavy_aside<kLocalHeavy>(solve, out, entry.begin, leads ? entry.degree : 0, entry.distance);
      entry.degree = __shfl_sync(kAllLanes, left, leader);
      if (lane_id() == 0) atomicOr(&lists.filled->far, kHandBack);
    }
    offset_t j = lane_id() - leader;
    bool fresh = j < entry.degree;
    for (bool first = true; __any_sync(kAllLanes, fresh && j < entry.degree);
         j += chain.width, first = false) {
      bool valid = fresh && j < entry.degree;
      bool improved = false;
      LocalEntry found{};
      if (valid) {
        const Edge edge = load_edge(chain.edges, entry.begin + j);
        if (first) {
          fresh = chain.distance.at(entry.vertex) == entry.distance;
          valid = fresh;
        }
        found.vertex = edge.target;
        found.distance = add_saturating(entry.distance, edge_weight(edge));
      }
      if (valid) {
        found.begin = load_early(chain.offsets + found.vertex);
        const offset_t end = load_early(chain.offsets + found.vertex + 1);
        if (Distances::fits(found.distance))
          improved = found.distance < chain.distance.lower(found.vertex, found.distance);
        else
          solve.control->status = kTooNarrow;
        found.degree = end - found.begin;
      }
      edges += valid;
      const bool is_near = found.distance < chain.threshold;
      push_local(out, lists, improved && is_near, improved && !is_near, found);
    }
  }
  return edges;
}
#endif
