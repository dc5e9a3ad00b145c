// Rows of distances, written in one go: a block per tile of consecutive vertices and group of sources.
//
// Answers are wanted as [source][vertex], while arcs are followed for many sources at once. Rows that are transposed
// afterwards move three times the bytes, and rows written cell by cell move parts of sectors. Here the tile comes first:
// tiles.cpp has cut it into quads, kEach vertices whose distances are minima over the same few labels, distances that
// upper.cuh has found, plus what leaf_closures has found. A warp takes a quad, a lane COLUMNS sources; what it finds goes
// to shared memory, from which the block writes runs of kTile distances.
//
// Ways that begin in a leaf and stay there are not among these; own_leaf takes them: each source has one leaf.
//
// Macros: those of values.cuh; COLUMNS sources of 16 bytes together.
// requires: prepared/values.cuh
// requires: prepared/columns.cuh

constexpr int kTile = 128, kEach = 4, kRows = 4;  // vertices of a tile; kEach and kRows of tiles.cpp
constexpr int kWarps = 8, kNobody = 255;
constexpr int kPerUnit = 16 / sizeof(value_t), kUnits = kEach / kPerUnit;
static_assert(sizeof(Columns) == 16 && kEach % kPerUnit == 0, "weights and distances come in units of 16 bytes");

union Ways {
  int4 unit[kUnits];
  value_t way[kEach];
  __device__ Ways() {}
};

// Arrays: quads[..] {first of boundary_row, rows, weights in units of kRows rows, places in the tile};
// tile_first[tiles + 1]; boundary_row, rows of `values`; weights; values[..][pitch]; out[count][n]. pitch is a multiple of
// 32 * COLUMNS. Dynamic shared memory: kTile * 32 units of 16 bytes.
// Launch: 32 * kWarps threads, tiles * groups blocks, those of a group next to each other. Races: none.
extern "C" __global__ void __launch_bounds__(32 * kWarps, 3)
    rows_of_tiles(const int4* quads, const int* tile_first, int tiles, const int* boundary_row,
                  const int4* weights, const value_t* values, long long pitch, int n, int count, out_t* out) {
  extern __shared__ __align__(16) int4 memory[];
  Columns* const found = reinterpret_cast<Columns*>(memory);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int tile = blockIdx.x % tiles;
  const long long group = blockIdx.x / tiles, stride = pitch / COLUMNS;
  const Columns* const mine = reinterpret_cast<const Columns*>(values) + group * 32 + lane;
  const int end = tile_first[tile + 1];
  for (int q = tile_first[tile] + warp; q < end; q += kWarps) {
    const int4 quad = quads[q];
    const int4* const row = reinterpret_cast<const int4*>(boundary_row + quad.x);
    const int4* const way = weights + static_cast<long long>(quad.z) * (kRows * kUnits);
    Columns best[kEach];
#pragma unroll
    for (int t = 0; t < kEach; ++t) best[t] = all_far();
    const int steps = quad.y / kRows;
#pragma unroll 2
    for (int x = 0; x < steps; ++x) {
      const int4 at = row[x];
      const int from[kRows] = {at.x, at.y, at.z, at.w};
      Columns there[kRows];
#pragma unroll
      for (int k = 0; k < kRows; ++k) there[k] = get(mine + from[k] * stride);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        Ways ways;
#pragma unroll
        for (int u = 0; u < kUnits; ++u) ways.unit[u] = way[(x * kRows + k) * kUnits + u];
#pragma unroll
        for (int t = 0; t < kEach; ++t) best[t] = over(there[k], ways.way[t], best[t]);
      }
    }
    // Where a column of the tile is read, neighbouring vertices lie in different banks.
#pragma unroll
    for (int t = 0; t < kEach; ++t) {
      const int place = static_cast<int>(static_cast<uint32>(quad.w) >> (8 * t) & 255u);
      if (place != kNobody) put(found + place * 32 + (lane ^ (place & 31)), best[t]);
    }
  }
  __syncthreads();
  const int first = tile * kTile;
  for (int u = warp; u < 32; u += kWarps) {
    const long long source = (group * 32 + u) * COLUMNS;
#pragma unroll
    for (int c = 0; c < kTile; c += 32) {
      const int place = c + lane;
      if (first + place >= n) continue;
      const Columns x = get(found + place * 32 + (u ^ lane));
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i)
        if (source + i < count) __stcs(out + (source + i) * n + first + place, as_distance<out_t>(x.x[i]));
    }
  }
}

// Weights of quads: distances from the boundary of each leaf to its vertices over ways that stay there.
//
// A lane takes a row of the boundary, and the warp goes through the labels of the leaf from its root down: that is a
// depth-first walk, so that the distances to all ancestors lie in an array by depth.
//
// Arrays: jobs[..] {root, first row, first of the boundary, its size}; boundary, labels; first[n + 1], head_depth and
// weight of the arcs down; depth, low and where by label; weights, written. Dynamic shared memory: 32 values per level of a leaf. Launch: 32 threads, a block per job. Races: none.
extern "C" __global__ void __launch_bounds__(32)
    leaf_closures(const int4* jobs, const int* boundary, const int* first, const int* head_depth,
                  const value_t* weight, const int* depth, const int* low, const int* where, value_t* weights) {
  extern __shared__ __align__(16) int4 memory[];
  const int4 job = jobs[blockIdx.x];
  const int root = job.x, lane = threadIdx.x, row = job.y + lane, top = depth[root];
  value_t* const here = reinterpret_cast<value_t*>(memory) + lane;
  const bool mine = row < job.w;
  const int from = mine ? depth[boundary[job.z + row]] : -1;
  for (int v = root; v >= low[root]; --v) {
    value_t a = far_value();
    const int end = first[v + 1];
    for (int base = first[v]; base < end; base += 32) {
      const int at = base + lane < end ? base + lane : base;
      const int my_depth = head_depth[at];
      const value_t my_weight = weight[at];
      const int some = min(32, end - base);
      for (int k = 0; k < some; ++k) {
        const int to = __shfl_sync(0xffffffffu, my_depth, k);
        const value_t way = __shfl_sync(0xffffffffu, my_weight, k);
        const value_t there = to >= top ? here[(to - top) * 32] : to == from ? value_t(0) : far_value();
        a = add_min(there, way, a);
      }
    }
    here[(depth[v] - top) * 32] = a;
    if (mine) weights[where[v] + kEach * row] = a;
  }
}

template <class T>
__device__ __forceinline__ T least_of_warp(T a) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, a, by);
    a = other < a ? other : a;
  }
  return a;
}
__device__ __forceinline__ uint32 least_of_warp(uint32 a) { return __reduce_min_sync(0xffffffffu, a); }

// Ways from a source that stay in its leaf: a warp per source lowers distances of the row.
//
// The walk goes down labels, one after the other. Of 32 labels a lane each has what the tree says, fetched 32 labels
// before, and their arcs are fetched kFetched labels before they are followed.
//
// Arrays: leaf[n], the root of each label's leaf or -1; labels[count] of the sources; space[height][pitch], the climbs;
// first, head_depth and weight of the arcs down; depth, low and vertex by label; out[count][n].
// Dynamic shared memory: `levels` values per warp. Launch: 32 * kWarps threads, a warp per source. Races: none.
constexpr int kFetched = 8;

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    own_leaf(const int* leaf, const int* labels, int count, const value_t* space, long long pitch, const int* first,
             const int* head_depth, const value_t* weight, const int* depth, const int* low, const int* vertex,
             int levels, int n, out_t* out) {
  extern __shared__ __align__(16) int4 memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int k = blockIdx.x * kWarps + warp;
  if (k >= count) return;
  const int source = labels[k], root = leaf[source];
  if (root < 0) return;
  value_t* const here = reinterpret_cast<value_t*>(memory) + warp * levels;
  out_t* const row = out + static_cast<long long>(k) * n;
  const int top = depth[root], last = low[root];
  struct Label {
    int begin, end, deep, vertex;
    value_t climbed;
  };
  auto look = [&](int v) {
    Label found{0, 0, 0, -1, far_value()};
    if (v >= last) {
      found.begin = first[v];
      found.end = first[v + 1];
      found.deep = depth[v];
      found.vertex = vertex[v];
      if (low[v] <= source && source <= v) found.climbed = space[found.deep * pitch + k];
    }
    return found;
  };
  Label next = look(root - lane);
  for (int base = root; base >= last; base -= 32) {
    const Label mine = next;
    next = look(base - 32 - lane);
    int to[kFetched];
    value_t way[kFetched];
    value_t result = far_value();
    auto fetch = [&](int i, int at) {
      const int j = __shfl_sync(0xffffffffu, mine.begin, i) + lane;
      const bool has = j < __shfl_sync(0xffffffffu, mine.end, i);
      to[at] = has ? head_depth[j] - top : -1;
      way[at] = has ? weight[j] : far_value();
    };
#pragma unroll
    for (int i = 0; i < kFetched; ++i) fetch(i, i);
    const int some = min(32, base - last + 1);  // labels beyond them have no arcs
    for (int i = 0; i < some; i += kFetched) {
#pragma unroll
      for (int u = 0; u < kFetched; ++u) {
        value_t a = __shfl_sync(0xffffffffu, mine.climbed, i + u);
        if (to[u] >= 0) a = add_min(here[to[u]], way[u], a);
        const int begin = __shfl_sync(0xffffffffu, mine.begin, i + u);
        const int end = __shfl_sync(0xffffffffu, mine.end, i + u);
        for (int j = begin + 32 + lane; j < end; j += 32)
          if (head_depth[j] >= top) a = add_min(here[head_depth[j] - top], weight[j], a);
        fetch(min(i + u + kFetched, 31), u);
        a = least_of_warp(a);
        if (lane == i + u && mine.vertex >= 0) {
          here[mine.deep - top] = a;
          result = a;
        }
        __syncwarp();
      }
    }
    if (mine.vertex >= 0) {
      const out_t distance = as_distance<out_t>(result);
      if (distance < row[mine.vertex]) row[mine.vertex] = distance;
    }
  }
}
