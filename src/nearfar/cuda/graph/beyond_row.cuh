// Distances of vertices that rows skip, from those of their neighbours: see row_shortcuts.cuh.
//
// requires: cuda/graph/head_edges.cuh
#pragma once

// Its neighbours were removed later or never, so their distances are computed recursively, to a
// depth of the number of removal rounds. A reader of a distance that another thread lowers
// meanwhile computes the new one itself.
template <int Depth, int Width, class Row, class Distance>
__device__ __noinline__ weight_t beyond_row(const Row* heads, const Distance& distance, vertex_t v) {
  weight_t least = distance.at(v);
  if constexpr (Depth > 0) {
    const Row* const row = heads + static_cast<long long>(v) * Width;
    if (__ldg(&row[Width - 1].target) != kRemovedRow) return least;
    for (int i = 0; i < Width - 1; ++i) {
      const vertex_t u = __ldg(&row[i].target);
      if (u < 0) break;
      const weight_t sum =
          add_saturating(beyond_row<Depth - 1, Width>(heads, distance, u), row[i].weight);
      least = sum < least ? sum : least;
    }
  }
  return least;
}

#if TWO_WEIGHTS
// The same if vertices were removed once, over their own edges.
template <class Distance>
__device__ __noinline__ weight_t beyond_row(const HeadRow* heads, const Distance& distance, vertex_t v) {
  weight_t least = distance.at(v);
  const HeadRow* const row = heads + v;
  if (__ldg(&row->target[ROW_HEAD - 1]) != kRemovedRow) return least;
  for (int i = 0; i < ROW_HEAD - 1; ++i) {
    const vertex_t u = __ldg(&row->target[i]);
    if (u < 0) break;
    const weight_t sum = distance.at(u) + row->weight[i];
    least = sum < least ? sum : least;
  }
  return least;
}
#endif
