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
// tile_first[tiles + 1]; boundary_row, where rows of `values` begin, in bytes; weights; values[..][pitch]; out[count][n]. pitch is a
// multiple of 32 * COLUMNS. Dynamic shared memory: kTile * 32 units of 16 bytes.
// Launch: 32 * kWarps threads, tiles * groups blocks, those of a group next to each other. Races: none.
// requires: prepared/leaves.cuh
// requires: prepared/column_order.cuh

constexpr int kTile = 128, kNobody = 255;  // vertices of a tile; in place of one
constexpr int kStep = kTile - MARGIN;
constexpr int kSector = 32 / sizeof(out_t);
static_assert(MARGIN == 0 || (MARGIN >= kSector && kStep % kSector == 0), "tiles of a row follow each other");

// Rows of the sources of a unit, kStep vertices of each: Whole, all of them are there.
template <bool Whole>
__device__ __forceinline__ void write_unit(const Columns* from, out_t* to, long long apart, int vertex, int n, int rows) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int c = 0; c < kStep; c += 32) {
    if (c + 32 > kStep && c + lane >= kStep) continue;
    if (!Whole && (vertex + c < 0 || vertex + c >= n)) continue;
    const Columns x = get(from + c * 32);
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i)
      if (Whole || i < rows) __stcs(to + i * apart + c, as_distance<out_t>(x.x[i]));
  }
}

extern "C" __global__ void __launch_bounds__(32 * kWarps, 3)
    tiles(const int4* quads, const int* tile_first, int n_tiles, const int* boundary_row,
                  const int4* weights, const value_t* values, int n, int count, out_t* out) {
  extern __shared__ __align__(16) int4 memory[];
  Columns* const found = reinterpret_cast<Columns*>(memory);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int tile = blockIdx.x % n_tiles;
  const long long group = blockIdx.x / n_tiles;
  const Columns* const mine = reinterpret_cast<const Columns*>(values) + group * 32 + lane;
  const int end = tile_first[tile + 1];
  for (int q = tile_first[tile] + warp; q < end; q += kWarps) {
    const int4 quad = quads[q];
    const Least best = least_of_quad(quad, boundary_row, weights, mine);
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
    const int rows = static_cast<int>(min(static_cast<long long>(COLUMNS), (count - source + kApart - 1) / kApart));
    out_t* const row = out + source * n + tile * kStep;
    int before = 0;
    if (MARGIN) before = static_cast<int>(reinterpret_cast<uint64>(row) / sizeof(out_t) % kSector);
    const int first = tile * kStep - before, place = lane + MARGIN - before;
    const Columns* const from = found + place * 32 + (u ^ (place & 31));
    if (rows == COLUMNS && first >= 0 && first + kStep <= n)
      write_unit<true>(from, row - before + lane, static_cast<long long>(kApart) * n, first + lane, n, rows);
    else
      write_unit<false>(from, row - before + lane, static_cast<long long>(kApart) * n, first + lane, n, rows);
  }
}
