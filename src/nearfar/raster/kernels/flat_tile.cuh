// A tile of two dimensions, 32 x 32 cells with its halo, relaxed by one warp in shared memory.
//
// Lane i holds column i while rows are lowered one after another, and row i while columns are. A
// ballot returns the lanes of a line that fell: the line is then pending for the next lines in both
// directions, and the columns (rows) of those lanes for the adjacent ones. Groups of lines without
// pending neighbours are skipped, so that a front which enters at one side, or a passage of a few
// cells, costs only the cells that it lowers. The tile is at its fixed point when nothing is
// pending. Within a group distances pass from line to line in registers. The halo is lowered like
// other cells but never stored: if a halo cell fell, its own tile can be lowered.
// Races: none within the tile, which one warp owns; `__syncwarp` orders a line's stores before the
// next loads.
// requires: raster/kernels/steps.cuh
// requires: cuda/primitives/copy_async.cuh
#pragma once

#if DIMS == 2

constexpr int kSide = 32;
constexpr int kCells = (kSide + 2 * HALO) * kRow + 2 * HALO;
constexpr int kFirst = HALO * kRow + HALO;
constexpr uint32 kEdge = HALO == 1 ? 1u : 3u;  // the first lines
constexpr uint32 kEdges = kEdge | kEdge << (kSide - HALO);
static_assert(SIDE == kSide - 2 * HALO && DEPTH == 1, "a warp holds the tile with its halo");

// Lines with cells that fell since they last lowered the lines after them, before them, and across.
struct Waiting {
  uint32 down, up, right, left;
  uint32 rows, columns;  // lines that fell at all
};

// Lines that are lowered together, even if only some of them are pending.
constexpr int kGroup = sizeof(weight_t) == 8 || RULE == 2 ? 4 : 8;  // limit of the registers

// Lowers the lines of a group one after another; returns the lines with a cell that fell, and adds
// its lanes.
template <int Axis, int Sign>
__device__ __forceinline__ uint32 lower_group(const Cells& t, const Factors& f, int group, int lane, uint32& lanes) {
  constexpr int across = 3 - Axis;
  constexpr int next_line = Axis == 1 ? kRow : 1, next_lane = Axis == 1 ? 1 : kRow;
  const int first = group * kGroup + (Sign > 0 ? 0 : kGroup - 1);
  const int at = kFirst + first * next_line + lane * next_lane;
  weight_t d[HALO + kGroup], w[kGroup][STEPS];
#pragma unroll
  for (int j = -HALO; j < kGroup; ++j) d[HALO + j] = t.d[at + Sign * j * next_line];
#pragma unroll
  for (int j = 0; j < kGroup; ++j)
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      if (kOffset[k][Axis] * Sign >= 0) continue;
      const int to = at + Sign * j * next_line, other = lane + kOffset[k][across];
      w[j][k] = cost_of_step(t, f, to + kOffset[k][1] * kRow + kOffset[k][2], to, k);
      if (RULE == 1 && (other < 0 || other >= kSide)) w[j][k] = unreached();
    }
  uint32 lines = 0;
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    const weight_t before = d[HALO + j];
    weight_t best = before;
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      if (kOffset[k][Axis] * Sign >= 0) continue;
      const weight_t line = d[HALO + j + kOffset[k][Axis] * Sign];
      const int by = kOffset[k][across];
      const weight_t from = by == 0 ? line : __shfl_sync(kAll, line, lane + by);
      best = lesser(add_saturating(from, w[j][k]), best);
    }
    d[HALO + j] = best;
    if (best < before) t.d[at + Sign * j * next_line] = best;
    const uint32 fell = __ballot_sync(kAll, best < before);
    lines |= (fell != 0 ? 1u : 0u) << (first + Sign * j);
    lanes |= fell;
  }
  __syncwarp();
  return lines;
}

template <int Axis, int Sign>
__device__ __forceinline__ void sweep(const Cells& t, const Factors& f, int lane, uint32& here, uint32& back,
                                      uint32& one, uint32& other, uint32& lines, uint32& lanes) {
  const auto after = [](uint32 from) {
    uint32 to = Sign > 0 ? from << 1 : from >> 1;
    if (HALO == 2) to |= Sign > 0 ? from << 2 : from >> 2;
    return to;
  };
  uint32 next = after(here), fell_lines = 0, fell_lanes = 0;
  here = 0;
  while (next != 0) {
    const int group = (Sign > 0 ? __ffs(next) - 1 : 31 - __clz(next)) / kGroup;
    const uint32 done = ((1u << kGroup) - 1) << group * kGroup;
    const uint32 fell = lower_group<Axis, Sign>(t, f, group, lane, fell_lanes);
    next = (next | after(fell)) & ~done;
    fell_lines |= fell;
  }
  back |= fell_lines;
  lines |= fell_lines;
  one |= fell_lanes;
  other |= fell_lanes;
  lanes |= fell_lanes;
}

__device__ __forceinline__ void relax_tile(const Cells& t, const Factors& f, int lane, uint32 faces, Waiting& w) {
  const bool source = faces & kSource;
  w.down = source ? kAll : faces & 4 ? kEdge : 0;
  w.up = source ? kAll : faces & 8 ? kEdge << (kSide - HALO) : 0;
  w.right = source ? kAll : faces & 16 ? kEdge : 0;
  w.left = source ? kAll : faces & 32 ? kEdge << (kSide - HALO) : 0;
  w.rows = w.columns = 0;
  while (w.down | w.up | w.right | w.left) {
    sweep<1, 1>(t, f, lane, w.down, w.up, w.right, w.left, w.rows, w.columns);
    sweep<1, -1>(t, f, lane, w.up, w.down, w.right, w.left, w.rows, w.columns);
    sweep<2, 1>(t, f, lane, w.right, w.left, w.down, w.up, w.columns, w.rows);
    sweep<2, -1>(t, f, lane, w.left, w.right, w.down, w.up, w.columns, w.rows);
  }
}

// Solves a tile by a warp. A lane returns the least distance passed to neighbouring tile `lane` of
// 27.
__device__ __forceinline__ weight_t solve_tile(const Cells& t, const Factors& f, const Grid& g, int tile, uint32 faces,
                                               const weight_t* cost, const weight_t* elevation, weight_t* distance) {
  const int lane = threadIdx.x & 31;
  const long long top = static_cast<long long>(tile / g.x) * SIDE - HALO;
  const long long x = static_cast<long long>(tile % g.x) * SIDE - HALO + lane;
  const bool column = x >= 0 && x < g.columns;
  constexpr int batch = sizeof(weight_t) == 8 ? 16 : 32;
#pragma unroll 1
  for (int r = 0; r < kSide; r += batch) {
    weight_t d[batch];
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      const long long y = top + r + j;
      const bool inside = column && y >= 0 && y < g.rows;
      const int at = kFirst + (r + j) * kRow + lane;
      d[j] = unreached();
      if (inside) {
        copy_async_value(t.c + at, cost + y * g.columns + x);
        d[j] = load_relaxed(distance + y * g.columns + x);
      } else {
        t.c[at] = unreached();
      }
#if RULE == 2
      t.h[at] = inside ? elevation[y * g.columns + x] : weight_t(0);
#endif
    }
#pragma unroll
    for (int j = 0; j < batch; ++j) t.d[kFirst + (r + j) * kRow + lane] = d[j];
  }
  copy_async_wait();
  __syncwarp();
  weight_t halo[4][HALO];
#pragma unroll
  for (int h = 0; h < HALO; ++h) {
    halo[0][h] = t.d[kFirst + h * kRow + lane];
    halo[1][h] = t.d[kFirst + (kSide - 1 - h) * kRow + lane];
    halo[2][h] = t.d[kFirst + lane * kRow + h];
    halo[3][h] = t.d[kFirst + lane * kRow + kSide - 1 - h];
  }
  Waiting w;
  relax_tile(t, f, lane, faces, w);

  const bool owned = lane >= HALO && lane < kSide - HALO;
#pragma unroll
  for (int r = HALO; r < kSide - HALO; ++r) {
    if ((w.rows >> r & 1) && owned && column && top + r < g.rows)
      store_relaxed_weight(distance + (top + r) * g.columns + x, t.d[kFirst + r * kRow + lane]);
  }
  weight_t given = unreached();
  const auto fell = [&](int at, int side) {  // this lane's cell of the halo, if it fell
    weight_t least = unreached();
#pragma unroll
    for (int h = 0; h < HALO; ++h) {
      const int line = side & 1 ? kSide - 1 - h : h;
      const weight_t now = t.d[kFirst + (side < 2 ? line * kRow + at : at * kRow + line)];
      if (now < halo[side][h] && now < least) least = now;
    }
    return least;
  };
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    if (w.rows & (side ? kEdge << (kSide - HALO) : kEdge)) {
      const weight_t value = fell(lane, side);
      const int row = side ? 15 : 9;  // number of the first of the three tiles above or below
      const weight_t before = least_of_warp(lane < HALO ? value : unreached());
      const weight_t beside = least_of_warp(owned ? value : unreached());
      const weight_t after = least_of_warp(lane >= kSide - HALO ? value : unreached());
      if (lane == row) given = before;
      if (lane == row + 1) given = beside;
      if (lane == row + 2) given = after;
    }
    if (w.columns & (side ? kEdge << (kSide - HALO) : kEdge)) {
      const weight_t beside = least_of_warp(owned ? fell(lane, 2 + side) : unreached());
      if (lane == (side ? 14 : 12)) given = beside;
    }
  }
  return given;
}

#endif
