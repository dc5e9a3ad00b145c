// The distance of a vertex that rows go past, from those of the ends of its own edges: see
// row_shortcuts.cuh.
//
// requires: cuda/primitives/distance.cuh
// requires: cuda/graph/row_marks.cuh
#pragma once

// The vertices that its edges lead to were taken out later, or not at all, so that theirs follow in
// turn: all of them that are nearer are known. Depth times at most have vertices been taken out.
// Whoever reads a distance that changes meanwhile finds the new one by itself.
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
