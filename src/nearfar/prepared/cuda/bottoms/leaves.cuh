// Leaves: subtrees at the bottom of the elimination tree with few vertices and a small boundary
// (tiles.cpp).
//
// With the distances from the boundary of a leaf to all of its vertices (leaf_closures.cuh), a
// distance from a source is a minimum over a few labels, independent of the other vertices. A
// bundle is a set of vertices of one leaf, which share the reads of the boundary's distances
// (upper.cuh). A warp takes a bundle, and each lane COLUMNS sources, whose distances to the full
// boundary it keeps in registers, so that they are read from the cache once; per vertex it reads
// only weights. Paths within a leaf are not included: own_leaf.cuh adds them, because each source
// has one leaf.
//
// Macros: those of values.cuh; COLUMNS sources of 16 bytes together.
// requires: prepared/cuda/values.cuh
// requires: prepared/cuda/columns.cuh
#pragma once

constexpr int kRows = 4, kSteps = 4;  // rows of a step; steps of the largest boundary: of tiles.cpp
constexpr int kCopies = 15;           // replaces steps: up to kRows vertices in no leaf
constexpr int kNobody = 255;          // replaces a vertex of the tile
constexpr int kWarps = 8;             // per block
constexpr int kPerUnit = 16 / sizeof(value_t), kUnits = kRows / kPerUnit;
static_assert(sizeof(Columns) == 16 && kRows % kPerUnit == 0, "weights and distances come in units of 16 bytes");

union Ways {
  int4 unit[kUnits];
  value_t way[kRows];
  __device__ Ways() {}
};

// Addresses of a lane.
struct Boundary {
  const int4* row;  // starts of rows of `values`, in bytes, 32 bits, so that an address is one addition
  const char* mine;  // the columns of this lane in the first row

  __device__ __forceinline__ void fetch(int step, Columns* there) const {
    const int4 at = row[step];
    const int from[kRows] = {at.x, at.y, at.z, at.w};
#pragma unroll
    for (int k = 0; k < kRows; ++k) there[k] = get(reinterpret_cast<const Columns*>(mine + static_cast<uint32>(from[k])));
  }
};

// Passes the distances of a bundle to take(place, distances), one by one.
template <int Steps, class F>
__device__ __forceinline__ void over_boundary(const Boundary& boundary, const int4* weights, const unsigned char* places,
                                              int vertices, F take) {
  Columns there[Steps * kRows + 1];
#pragma unroll
  for (int s = 0; s < Steps; ++s) boundary.fetch(s, there + s * kRows);
  Ways next[Steps + 1];
  int place = 0;
  auto look = [&](int v) {  // a vertex ahead
    place = places[v];
#pragma unroll
    for (int i = 0; i < Steps * kUnits; ++i) next[i / kUnits].unit[i % kUnits] = weights[v * (Steps * kUnits) + i];
  };
  look(0);
  for (int v = 0; v < vertices; ++v) {
    Ways ways[Steps + 1];
#pragma unroll
    for (int i = 0; i < Steps * kUnits; ++i) ways[i / kUnits].unit[i % kUnits] = next[i / kUnits].unit[i % kUnits];
    const int now = place;
    look(min(v + 1, vertices - 1));
    Columns best = all_far();
#pragma unroll
    for (int s = 0; s < Steps; ++s)
#pragma unroll
      for (int k = 0; k < kRows; ++k) best = over(there[s * kRows + k], ways[s].way[k], best);
    take(now, best);
  }
}

// bundle: {steps or kCopies, and 16 times the vertices; first of rows, weights and places of the
// tile}. All of these are in shared memory, so that only distances are waited for.
template <class F>
__device__ __forceinline__ void distances_of_bundle(const int4& bundle, const int4* rows, const int4* weights,
                                                    const int4* places, const Columns* mine, F take) {
  const Boundary boundary{rows + bundle.y, reinterpret_cast<const char*>(mine)};
  const int4* const ways = weights + bundle.z * kUnits;
  const unsigned char* const place = reinterpret_cast<const unsigned char*>(reinterpret_cast<const int*>(places) + bundle.w);
  const int vertices = bundle.x >> 4;
  switch (bundle.x & 15) {
    case 0: return over_boundary<0>(boundary, ways, place, vertices, take);
    case 1: return over_boundary<1>(boundary, ways, place, vertices, take);
    case 2: return over_boundary<2>(boundary, ways, place, vertices, take);
    case 3: return over_boundary<3>(boundary, ways, place, vertices, take);
    case kSteps: return over_boundary<kSteps>(boundary, ways, place, vertices, take);
  }
  Columns there[kRows];
  boundary.fetch(0, there);
#pragma unroll
  for (int k = 0; k < kRows; ++k)
    if (k < vertices) take(place[k], there[k]);
}
