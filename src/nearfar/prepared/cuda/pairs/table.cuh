// Distances between sources and targets: a product of matrices with minimum and sum.
//
// A shortest path between two labels passes a common ancestor, and two labels share exactly the
// ancestors of their lowest common one (Ouyang et al. 2018, "H2H"). The climbs of all sources and
// targets are stored by depth, so a distance is the least sum over the depths down to that of the
// lowest common ancestor. Sources and targets are sorted by label, which is a postorder: of three
// labels in order the ends share what each shares with the middle. So the common depth of labels of
// two tiles follows from the ends of the tiles, and if tiles do not overlap no pair is inspected
// individually. Most tiles separate high up in the tree, and deeper distances are not read.
//
// Macros: COLUMNS adjacent sources per thread. Arrays: spine[n] as in pairs.cuh; sources[pitch] and
// targets[count], labels in ascending order, for sources padded with -1; from_start[] and to_end[]
// of each, for their tiles (tile_depths); climbs[height][pitch] and
// target_climbs[height][target_pitch]; rows[count][pitch], written.
// Launch of table: 256 threads, (pitch / kWide, tiles of targets) blocks. Races: none.
// requires: prepared/cuda/values.cuh
// requires: prepared/cuda/columns.cuh

constexpr int kAcross = 16, kDown = 16, kEach = 4, kDeep = 16;
constexpr int kWide = kAcross * COLUMNS;  // sources of a tile
constexpr int kHigh = kDown * kEach;      // targets of a tile

// Returns the depth of the lowest common ancestor, or -1. Labels of a heavy path are in a row.
__device__ __forceinline__ int common_depth(const int4* spine, int a, int b) {
  if (a < 0 || b < 0) return -1;
  int4 of_a = spine[a], of_b = spine[b];
  while (of_a.x != of_b.x) {
    if (of_a.x < of_b.x) {
      a = of_a.y;
      if (a < 0) return -1;
      of_a = spine[a];
    } else {
      b = of_b.y;
      if (b < 0) return -1;
      of_b = spine[b];
    }
  }
  return a > b ? of_a.z : of_b.z;
}

// Computes the common depth of each label with the first and the last of its tile. labels[some];
// per tile of `size`. Launch: any number of threads.
extern "C" __global__ void __launch_bounds__(256)
    tile_depths(const int4* spine, const int* labels, int some, int size, int* from_start,
                int* to_end) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= some) return;
  const int first = i / size * size;
  int last = min(first + size, some) - 1;
  while (last > first && labels[last] < 0) --last;
  from_start[i] = common_depth(spine, labels[first], labels[i]);
  to_end[i] = common_depth(spine, labels[i], labels[last]);
}

// Loads the distances of a thread's targets from an ancestor.
__device__ __forceinline__ void ways(const Columns* all, int down, value_t (&way)[kEach]) {
#pragma unroll
  for (int u = 0; u < kEach / COLUMNS; ++u) {
    const Columns some = get(all + down * (kEach / COLUMNS) + u);
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) way[u * COLUMNS + i] = some.x[i];
  }
}

extern "C" __global__ void __launch_bounds__(kAcross * kDown)
    table(const int4* spine, const int* sources, const int* from_start, const int* to_end,
          const int* targets, const int* target_from_start, const int* target_to_end, int count,
          const value_t* climbs, long long pitch, const value_t* target_climbs,
          long long target_pitch, value_t* rows) {
  __shared__ Columns near[kDeep][kAcross];
  __shared__ Columns far[kDeep][kHigh / COLUMNS];
  __shared__ int ends[2], deepest, shallowest;  // ends: the first tile, their common part
  const int across = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
  const long long column = static_cast<long long>(blockIdx.x) * kWide;
  const int row = blockIdx.y * kHigh;
  if (threadIdx.x == 0) {
    int s = kWide - 1, t = min(kHigh, count - row) - 1;
    while (s > 0 && sources[column + s] < 0) --s;
    const int s_first = sources[column], s_last = sources[column + s];
    const int t_first = targets[row], t_last = targets[row + t];
    // Number of the tile that comes first, or 0 if they overlap.
    ends[0] = s_first < 0 ? 0 : s_last < t_first ? 1 : t_last < s_first ? 2 : 0;
    ends[1] = ends[0] == 1 ? common_depth(spine, s_last, t_first)
              : ends[0] == 2 ? common_depth(spine, t_last, s_first) : 0;
    deepest = -1;
    shallowest = 0x7fffffff;
  }
  __syncthreads();
  const int order = ends[0], between = ends[1];
  int depth[kEach][COLUMNS], most = -1, least = 0x7fffffff;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int t = row + down * kEach + j;
    const bool has = t < count;
    const int target = has ? targets[t] : -1;
    const int its = !has ? -1 : order == 1 ? target_from_start[t] : order == 2 ? target_to_end[t] : 0;
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const long long s = column + across * COLUMNS + i;
      const int source = sources[s];
      int d = -1;
      if (has && source >= 0) {
        if (order == 0) {
          d = common_depth(spine, source, target);
        } else {
          const int mine = order == 1 ? to_end[s] : from_start[s];
          d = min(between, min(mine, its));
        }
        most = max(most, d);
        least = min(least, d);
      }
      depth[j][i] = d;
    }
  }
  atomicMax(&deepest, most);
  atomicMin(&shallowest, least);
  __syncthreads();
  const int last = deepest, together = shallowest;
  Columns best[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) best[j] = all_far();
  for (int x = 0; x <= last; x += kDeep) {
    for (int i = threadIdx.x; i < kDeep * kAcross; i += kAcross * kDown) {
      const int k = i / kAcross, c = i % kAcross;
      if (x + k <= last)
        near[k][c] = get(reinterpret_cast<const Columns*>(climbs + (x + k) * pitch + column) + c);
    }
    constexpr int kUnits = kHigh / COLUMNS;
    for (int i = threadIdx.x; i < kDeep * kUnits; i += kAcross * kDown) {
      const int k = i / kUnits, t = i % kUnits;
      const value_t* const from = target_climbs + (x + k) * target_pitch + row;
      if (x + k <= last) far[k][t] = get(reinterpret_cast<const Columns*>(from) + t);
    }
    __syncthreads();
    if (x + kDeep - 1 <= together) {
#pragma unroll
      for (int k = 0; k < kDeep; ++k) {
        const Columns from = get(&near[k][across]);
        value_t way[kEach];
        ways(far[k], down, way);
#pragma unroll
        for (int j = 0; j < kEach; ++j) best[j] = over(from, way[j], best[j]);
      }
    } else {
      const int until = min(kDeep, last - x + 1);
      for (int k = 0; k < until; ++k) {
        const Columns from = get(&near[k][across]);
        value_t way[kEach];
        ways(far[k], down, way);
#pragma unroll
        for (int j = 0; j < kEach; ++j)
#pragma unroll
          for (int i = 0; i < COLUMNS; ++i)
            if (x + k <= depth[j][i]) best[j].x[i] = add_min(from.x[i], way[j], best[j].x[i]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int t = row + down * kEach + j;
    if (t < count) put(reinterpret_cast<Columns*>(rows + t * pitch + column) + across, best[j]);
  }
}
