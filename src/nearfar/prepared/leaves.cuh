// Leaves: subtrees at the bottom of the elimination tree with few vertices and a small boundary (tiles.cpp).
//
// With the distances from the boundary of a leaf to all of its vertices at hand (leaf_closures), a distance from a source
// is a minimum over a few labels, whatever other vertices are wanted beside it. A quad is kEach vertices of one leaf,
// which share what is read of the boundary: distances that upper.cuh has found. A warp takes a quad, a lane COLUMNS
// sources. Ways that begin in a leaf and stay there are not among these: own_leaf.cuh takes them, since each source has
// one leaf.
//
// Macros: those of values.cuh; COLUMNS sources of 16 bytes together.
// requires: prepared/values.cuh
// requires: prepared/columns.cuh
#pragma once

constexpr int kEach = 4, kRows = 4;  // of tiles.cpp
constexpr int kWarps = 8;            // per block
constexpr int kPerUnit = 16 / sizeof(value_t), kUnits = kEach / kPerUnit;
static_assert(sizeof(Columns) == 16 && kEach % kPerUnit == 0, "weights and distances come in units of 16 bytes");

union Ways {
  int4 unit[kUnits];
  value_t way[kEach];
  __device__ Ways() {}
};

struct Least {
  Columns x[kEach];
};

// quad: {first of boundary_row, rows, weights in units of kRows rows, ..}; boundary_row: where rows of `values` begin, in
// bytes, 32 bits, so that an address is one addition; mine: the columns of this lane in the first row.
__device__ __forceinline__ Least least_of_quad(const int4& quad, const int* boundary_row, const int4* weights,
                                               const Columns* mine) {
  const int4* const row = reinterpret_cast<const int4*>(boundary_row + quad.x);
  const int4* const way = weights + static_cast<long long>(quad.z) * (kRows * kUnits);
  Least best;
#pragma unroll
  for (int t = 0; t < kEach; ++t) best.x[t] = all_far();
  const char* const first_row = reinterpret_cast<const char*>(mine);
  const int steps = quad.y / kRows;
#pragma unroll 2
  for (int x = 0; x < steps; ++x) {
    const int4 at = row[x];
    const int from[kRows] = {at.x, at.y, at.z, at.w};
    Columns there[kRows];
#pragma unroll
    for (int k = 0; k < kRows; ++k) there[k] = get(reinterpret_cast<const Columns*>(first_row + static_cast<uint32>(from[k])));
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      Ways ways;
#pragma unroll
      for (int u = 0; u < kUnits; ++u) ways.unit[u] = way[(x * kRows + k) * kUnits + u];
#pragma unroll
      for (int t = 0; t < kEach; ++t) best.x[t] = over(there[k], ways.way[t], best.x[t]);
    }
  }
  return best;
}

