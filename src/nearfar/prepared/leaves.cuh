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

// The quads of a warp, one after the other. What says where distances lie comes before they are loaded: the head of a
// quad two quads before, and a row of the boundary per lane one quad before.
//
// quads[..] {first of boundary_row, rows, weights in units of kRows rows, ..}; boundary_row: rows of `values`; mine: the
// columns of this lane.
struct Quads {
  const int4* quads;
  const int* boundary_row;
  const int4* weights;
  const Columns* mine;
  long long stride;
  int at, end, step, my_row, next_row;
  int4 now, next;

  __device__ __forceinline__ int row_of(const int4& quad, int base) const {
    const int lane = threadIdx.x & 31;
    if (quad.y == 0) return 0;  // a root of the tree
    return boundary_row[quad.x + min(base + lane, quad.y - 1)];
  }
  __device__ __forceinline__ void begin() {
    now = next = make_int4(0, 1, 0, 0);
    my_row = next_row = 0;
    if (at >= end) return;
    now = quads[at];
    next = at + step < end ? quads[at + step] : now;
    my_row = row_of(now, 0);
  }
  // The distances of quad `at`; then `at` is the next one.
  __device__ __forceinline__ Least least() {
    next_row = row_of(next, 0);
    const int4 later = at + 2 * step < end ? quads[at + 2 * step] : next;
    const int4* const way = weights + static_cast<long long>(now.z) * (kRows * kUnits);
    Least best;
#pragma unroll
    for (int t = 0; t < kEach; ++t) best.x[t] = all_far();
    for (int base = 0; base < now.y; base += 32) {
      if (base > 0) my_row = row_of(now, base);
      const int some = min(now.y - base, 32);
#pragma unroll 2
      for (int x = 0; x < some; x += kRows) {
        Columns there[kRows];
        Ways ways[kRows];
#pragma unroll
        for (int k = 0; k < kRows; ++k)
          there[k] = get(mine + __shfl_sync(0xffffffffu, my_row, x + k) * stride);
#pragma unroll
        for (int k = 0; k < kRows; ++k)
#pragma unroll
          for (int u = 0; u < kUnits; ++u) ways[k].unit[u] = way[(base + x + k) * kUnits + u];
#pragma unroll
        for (int k = 0; k < kRows; ++k)
#pragma unroll
          for (int t = 0; t < kEach; ++t) best.x[t] = over(there[k], ways[k].way[t], best.x[t]);
      }
    }
    now = next;
    next = later;
    my_row = next_row;
    at += step;
    return best;
  }
};
