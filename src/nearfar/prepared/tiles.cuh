// Rows of distances, written in one go: a block per tile of consecutive vertices and group of sources.
//
// Answers are wanted as [source][vertex], while arcs are followed for many sources at once. Rows that are transposed
// afterwards move three times the bytes, and rows written cell by cell move parts of sectors. Here the tile comes first:
// tiles.cpp has cut it into quads (leaves.cuh). What a warp finds goes to shared memory, from which the block writes runs
// of kTile distances. Vertices that are in no leaf are quads that look at themselves.
//
// Rows begin anywhere, memory is written in sectors: each row of a tile begins at the first whole sector, MARGIN
// vertices of the tile before being at hand. The columns of `values` are in an order in which the rows of a unit begin alike
// (column_order.cuh).
//
// Macros: MARGIN, kSector or 0. Where that is 0 rows are written as they come.
// Arrays: quads[..] {first of boundary_row, rows, weights in units of kRows rows, places in the tile};
// tile_first[tiles + 1]; boundary_row, rows of `values`; weights; values[..][pitch]; out[count][n]. pitch is a multiple of
// 32 * COLUMNS. Dynamic shared memory: kTile * 32 units of 16 bytes.
// Launch: 32 * kWarps threads, tiles * groups blocks, those of a group next to each other. Races: none.
// requires: prepared/leaves.cuh
// requires: prepared/column_order.cuh

constexpr int kTile = 128, kNobody = 255;  // vertices of a tile; in place of one
constexpr int kStep = kTile - MARGIN;
constexpr int kSector = 32 / sizeof(out_t);
static_assert(MARGIN == 0 || (MARGIN >= kSector && kStep % kSector == 0), "tiles of a row follow each other");

extern "C" __global__ void __launch_bounds__(32 * kWarps, 3)
    tiles(const int4* quads, const int* tile_first, int n_tiles, const int* boundary_row,
                  const int4* weights, const value_t* values, long long pitch, int n, int count, out_t* out) {
  extern __shared__ __align__(16) int4 memory[];
  Columns* const found = reinterpret_cast<Columns*>(memory);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int tile = blockIdx.x % n_tiles;
  const long long group = blockIdx.x / n_tiles, stride = pitch / COLUMNS;
  const Columns* const mine = reinterpret_cast<const Columns*>(values) + group * 32 + lane;
  const int end = tile_first[tile + 1];
  for (int q = tile_first[tile] + warp; q < end; q += kWarps) {
    const int4 quad = quads[q];
    const Least best = least_of_quad(quad, boundary_row, weights, mine, stride);
    // Where a column of the tile is read, neighbouring vertices lie in different banks.
#pragma unroll
    for (int t = 0; t < kEach; ++t) {
      const int place = static_cast<int>(static_cast<uint32>(quad.w) >> (8 * t) & 255u);
      if (place != kNobody) put(found + place * 32 + (lane ^ (place & 31)), best.x[t]);
    }
  }
  __syncthreads();
  for (int u = warp; u < 32; u += kWarps) {
    const long long source = source_of_column((group * 32 + u) * COLUMNS, COLUMNS);
    out_t* const row = out + source * n;
    int before = 0;
    if (MARGIN) before = static_cast<int>(reinterpret_cast<uint64>(row + tile * kStep) / sizeof(out_t) % kSector);
    const int first = tile * kStep - before;
#pragma unroll
    for (int c = 0; c < kStep; c += 32) {
      const int vertex = first + c + lane, place = c + lane + MARGIN - before;
      if (c + lane >= kStep || vertex < 0 || vertex >= n) continue;
      const Columns x = get(found + place * 32 + (u ^ (place & 31)));
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i)
        if (source + i * kApart < count)
          __stcs(row + static_cast<long long>(i * kApart) * n + vertex, as_distance<out_t>(x.x[i]));
    }
  }
}
