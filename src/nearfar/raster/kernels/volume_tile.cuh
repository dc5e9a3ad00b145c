// A tile of three dimensions, relaxed by a block in shared memory.
//
// A thread carries a line of a sweep; lines are not synchronised with each other. A block sweeps
// the tile in every axis direction until a round lowers nothing.
// Races: a thread may overwrite in shared memory a lesser distance that another line just stored.
// The next round finds it again, because its predecessor is unchanged, and only a round without a
// store ends the tile.
// requires: raster/kernels/steps.cuh
#pragma once

#if DIMS == 3

constexpr int kPlane = kRow * kRow + 1;  // odd: lines along rows have no bank conflicts
constexpr int kCells = kPlane * (DEPTH + 2 * HALO);
constexpr int kFirst = HALO * (kPlane + kRow + 1);

// Sweeps one line along an axis; returns whether it lowered anything.
template <int Axis, int Sign>
__device__ __forceinline__ bool sweep_line(const Cells& t, const Factors& f, int lane) {
  constexpr int extent = Axis == 0 ? DEPTH : SIDE;
  constexpr int stride = Axis == 0 ? kPlane : Axis == 1 ? kRow : 1;
  int to = kFirst;
  if (Axis == 0) to += lane / SIDE * kRow + lane % SIDE;
  if (Axis == 1) to += lane / SIDE * kPlane + lane % SIDE;
  if (Axis == 2) to += lane / SIDE * kPlane + lane % SIDE * kRow;
  if (Sign < 0) to += (extent - 1) * stride;
  volatile weight_t* const d = t.d;
  bool lowered = false;
  weight_t behind = d[to - Sign * stride];
#pragma unroll 2
  for (int i = 0; i < extent; ++i, to += Sign * stride) {
    const weight_t before = d[to];
    weight_t best = before;
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      if (kOffset[k][Axis] * Sign >= 0) continue;
      const int by = kOffset[k][0] * kPlane + kOffset[k][1] * kRow + kOffset[k][2];
      const weight_t from = by == -Sign * stride ? behind : d[to + by];
      best = lesser(add_saturating(from, cost_of_step(t, f, to + by, to, k)), best);
    }
    if (best < before) {
      d[to] = best;
      lowered = true;
    }
    behind = best;
  }
  return lowered;
}

__device__ __forceinline__ void relax_tile(const Cells& t, const Factors& f) {
  bool lowered;
  do {
    lowered = false;
    for (int lane = threadIdx.x; lane < SIDE * SIDE; lane += blockDim.x) {
      lowered |= sweep_line<0, 1>(t, f, lane);
      lowered |= sweep_line<0, -1>(t, f, lane);
    }
    for (int lane = threadIdx.x; lane < SIDE * DEPTH; lane += blockDim.x) {
      lowered |= sweep_line<1, 1>(t, f, lane);
      lowered |= sweep_line<1, -1>(t, f, lane);
      lowered |= sweep_line<2, 1>(t, f, lane);
      lowered |= sweep_line<2, -1>(t, f, lane);
    }
  } while (__syncthreads_or(lowered));
}

// Calls use(position in the tile's arrays, cell of the raster or -1 outside, number of its tile of 27).
template <class Use>
__device__ __forceinline__ void for_each_cell(const Grid& g, int tile, Use use) {
  const long long first_z = static_cast<long long>(tile / (g.x * g.y)) * DEPTH - HALO;
  const long long first_y = static_cast<long long>(tile / g.x % g.y) * SIDE - HALO;
  const long long first_x = static_cast<long long>(tile % g.x) * SIDE - HALO;
  for (int i = threadIdx.x; i < kRow * kRow * (DEPTH + 2 * HALO); i += blockDim.x) {
    const int z = i / (kRow * kRow), y = i / kRow % kRow, x = i % kRow;
    const long long gz = first_z + z, gy = first_y + y, gx = first_x + x;
    const bool inside = gz >= 0 && gz < g.planes && gy >= 0 && gy < g.rows && gx >= 0 && gx < g.columns;
    const int side = (z < HALO ? 0 : z < DEPTH + HALO ? 9 : 18) + (y < HALO ? 0 : y < SIDE + HALO ? 3 : 6) +
                     (x < HALO ? 0 : x < SIDE + HALO ? 1 : 2);
    use(z * kPlane + y * kRow + x, inside ? (gz * g.rows + gy) * g.columns + gx : -1, side);
  }
}

// Returns the tile number (0 to 26) of a position in the tile's arrays.
__device__ __forceinline__ int side_of(int i) {
  const int z = i / kPlane, y = i % kPlane / kRow, x = i % kPlane % kRow;
  return (z < HALO ? 0 : z < DEPTH + HALO ? 9 : 18) + (y < HALO ? 0 : y < SIDE + HALO ? 3 : 6) +
         (x < HALO ? 0 : x < SIDE + HALO ? 1 : 2);
}

// Solves a tile by a block. A thread returns the least distance passed to neighbouring tile
// `threadIdx.x` of 27.
__device__ __forceinline__ weight_t solve_tile(const Cells& t, const Factors& f, const Grid& g, int tile, uint32,
                                               const weight_t* cost, const weight_t* elevation, weight_t* distance) {
  __shared__ weight_t given[27];
  for_each_cell(g, tile, [&](int i, long long cell, int) {
    t.d[i] = cell < 0 ? unreached() : load_relaxed(distance + cell);
    t.c[i] = cell < 0 ? unreached() : cost[cell];
#if RULE == 2
    t.h[i] = cell < 0 ? weight_t(0) : elevation[cell];
#endif
  });
  if (threadIdx.x < 27) given[threadIdx.x] = unreached();
  __syncthreads();
  relax_tile(t, f);
  for_each_cell(g, tile, [&](int i, long long cell, int side) {
    if (side != 13 || cell < 0 || !(t.d[i] < load_relaxed(distance + cell))) return;
    store_relaxed_weight(distance + cell, t.d[i]);
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      const int to = i - (kOffset[k][0] * kPlane + kOffset[k][1] * kRow + kOffset[k][2]);
      const int other = side_of(to);
      if (other == 13) continue;
      const weight_t next = add_saturating(t.d[i], cost_of_step(t, f, i, to, k));
      if (next < t.d[to]) atomic_minimum(given + other, next);
    }
  });
  __syncthreads();
  return threadIdx.x < 27 ? given[threadIdx.x] : unreached();
}

#endif
