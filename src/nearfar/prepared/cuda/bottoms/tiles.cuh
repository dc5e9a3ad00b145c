// Rows of distances, written once: one block per tile of consecutive vertices and group of sources.
//
// Answers are rows [source][vertex], while arcs are followed for many sources at once. Transposing
// rows afterwards moves three times the bytes, and rows written cell by cell move parts of sectors.
// So output tiles come first: tiles.cpp has cut each into bundles (leaves.cuh), which warps take
// one after the other, the longest first. A warp writes its results to shared memory, from which
// the block writes runs of kTile distances, 16 bytes per lane.
//
// Memory is written in sectors, and rows begin at any byte: each row of a tile begins at its first
// full sector, for which the tile holds MARGIN vertices of the previous tile. The columns of
// `values` are in an order in which the rows of a unit begin at the same offset (column_order.cuh).
//
// Macros: TILE, vertices of a tile; MARGIN, kSector or 0. With 0 rows are written without
// alignment.
// Arrays: bundles[..]; rows, starts of the rows that bundles read, in bytes; weights; places,
// bytes; tile_first[tiles + 1], the starts of each tile's part of these, in units of a bundle, of
// kRows, of kRows and of 16 bytes; values[..][pitch]; out[count][n]; step, of values.cuh. pitch is
// a multiple of 32 * COLUMNS. Dynamic shared memory: kTile * 32 units of 16 bytes, then bundles,
// rows, places and weights of the largest tile.
// Launch: 32 * kWarps threads, tiles * groups blocks, those of a group next to each other. Races:
// none.
// requires: prepared/cuda/bottoms/leaves.cuh
// requires: prepared/cuda/column_order.cuh
// requires: cuda/primitives/copy_async.cuh
// requires: cuda/primitives/early_launch.cuh

constexpr int kTile = TILE;
constexpr int kStep = kTile - MARGIN;
constexpr int kSector = 32 / sizeof(out_t);
constexpr int kWide = 16 / sizeof(out_t);  // vertices that a lane writes at once
static_assert(kWarps == kApart, "the units of a warp lie a whole number of kApart * COLUMNS sources apart");
static_assert(MARGIN == 0 || (MARGIN >= kSector && kStep % kSector == 0), "tiles of a row follow each other");

// Returns the position in a tile of a unit of sources of a vertex: lanes with neighbouring units,
// and lanes whose vertices are kWide apart, use different banks.
__device__ __forceinline__ int at(int place, int unit) { return place * 32 + (unit ^ (place / kWide & 31)); }

// Writes rows of the sources of a unit, kStep vertices of each from a place on.
__device__ __forceinline__ void write_whole(const Columns* found, int place, int unit, out_t* to, long long apart,
                                            double step) {
#pragma unroll
  for (int c = 0; c < kStep; c += 32 * kWide) {
    const int mine = c + (threadIdx.x & 31) * kWide;
    if (mine >= kStep) continue;
    union {
      int4 word[COLUMNS];
      out_t x[COLUMNS][kWide];
    } some;
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      const Columns from = get(found + at(place + mine + j, unit));
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i) some.x[i][j] = as_distance<out_t>(from.x[i], step);
    }
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) __stcs(reinterpret_cast<int4*>(to + i * apart + mine), some.word[i]);
  }
}
// The same if some of these vertices or sources do not exist, or rows are not aligned to 16 bytes.
__device__ __forceinline__ void write_some(const Columns* found, int place, int unit, out_t* to, long long apart,
                                           int vertex, int n, int rows, double step) {
  for (int c = threadIdx.x & 31; c < kStep; c += 32) {
    if (vertex + c < 0 || vertex + c >= n) continue;
    const Columns from = get(found + at(place + c, unit));
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i)
      if (i < rows) to[i * apart + c] = as_distance<out_t>(from.x[i], step);
  }
}

extern "C" __global__ void __launch_bounds__(32 * kWarps, 2)
    tiles(const int4* bundles, const int4* tile_first, int n_tiles, const int4* rows, const int4* weights,
          const int4* places, const value_t* values, int n, int count, out_t* out, double step) {
  extern __shared__ __align__(16) int4 memory[];
  __shared__ int taken;
  Columns* const found = reinterpret_cast<Columns*>(memory);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int tile = blockIdx.x % n_tiles;
  const long long group = blockIdx.x / n_tiles;
  const Columns* const mine = reinterpret_cast<const Columns*>(values) + group * 32 + lane;
  const int4 begin = tile_first[tile], end = tile_first[tile + 1];
  if (threadIdx.x == 0) taken = kWarps;
  int4* copied = memory + kTile * 32;
  auto copy = [&](const int4* from, long long first, int some) {
#pragma unroll 1
    for (int i = threadIdx.x; i < some; i += 32 * kWarps) copy_async_16(copied + i, from + first + i);
    const int4* const there = copied;
    copied += some;
    return there;
  };
  const int count_of_bundles = end.x - begin.x;
  const int4* const my_bundles = copy(bundles, begin.x, count_of_bundles);
  const int4* const my_rows = copy(rows, begin.y, end.y - begin.y);
  const int4* const my_places = copy(places, begin.w, end.w - begin.w);
  const int4* const my_weights = copy(weights, static_cast<long long>(begin.z) * kUnits, (end.z - begin.z) * kUnits);
  await_launch_before();  // of `values`; the rest is known before
  let_next_begin();
  copy_async_wait();
  __syncthreads();
  for (int next = warp; next < count_of_bundles;) {
    const int4 bundle = my_bundles[next];
    if (lane == 0) next = atomicAdd(&taken, 1);
    distances_of_bundle(bundle, my_rows, my_weights, my_places, mine,
                        [&](int place, const Columns& best) { put(found + at(place, lane), best); });
    next = __shfl_sync(0xffffffffu, next, 0);
  }
  __syncthreads();
  // The units of a warp are sources whose rows have equal alignment.
  long long source = source_of_column((group * 32 + warp) * COLUMNS, COLUMNS);
  const long long apart = static_cast<long long>(kApart) * n;
  out_t* row = out + source * n + tile * kStep;
  const int ahead = static_cast<int>(reinterpret_cast<uint64>(row) / sizeof(out_t) % kSector);
  const int before = MARGIN ? ahead : 0, first = tile * kStep - before, place = MARGIN - before;
  const bool whole = first >= 0 && first + kStep <= n && (MARGIN || ahead % kWide == 0);
  row -= before;
#pragma unroll 1
  for (int u = 0; u < 32; u += kWarps) {
    if (whole && source + (COLUMNS - 1) * kApart < count)
      write_whole(found, place, u + warp, row, apart, step);
    else
      write_some(found, place, u + warp, row, apart, first, n,
                 static_cast<int>(min(static_cast<long long>(COLUMNS), (count - source + kApart - 1) / kApart)), step);
    source += COLUMNS * kApart;
    row += COLUMNS * apart;
  }
}
