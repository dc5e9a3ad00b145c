// Rows of distances, written in one go: a block per tile of consecutive vertices and group of sources.
//
// Answers are wanted as [source][vertex], while arcs are followed for many sources at once. Rows that are transposed
// afterwards move three times the bytes, and rows written cell by cell move parts of sectors. Here the tile comes first:
// tiles.cpp has cut it into quads (leaves.cuh). What a warp finds goes to shared memory, from which the block writes runs
// of kTile distances. Vertices that are in no leaf are quads that look at themselves.
//
// Arrays: quads[..] {first of boundary_row, rows, weights in units of kRows rows, places in the tile};
// tile_first[tiles + 1]; boundary_row, rows of `values`; weights; values[..][pitch]; out[count][n]. pitch is a multiple of
// 32 * COLUMNS. Dynamic shared memory: kTile * 32 units of 16 bytes.
// Launch: 32 * kWarps threads, tiles * groups blocks, those of a group next to each other. Races: none.
// requires: prepared/leaves.cuh

constexpr int kTile = 128, kNobody = 255;  // vertices of a tile; in place of one

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
  Quads mine_quads{quads, boundary_row, weights, mine, stride, tile_first[tile] + warp, end, kWarps};
  mine_quads.begin();
  while (mine_quads.at < end) {
    const int places = mine_quads.now.w;
    const Least best = mine_quads.least();
    // Where a column of the tile is read, neighbouring vertices lie in different banks.
#pragma unroll
    for (int t = 0; t < kEach; ++t) {
      const int place = static_cast<int>(static_cast<uint32>(places) >> (8 * t) & 255u);
      if (place != kNobody) put(found + place * 32 + (lane ^ (place & 31)), best.x[t]);
    }
  }
  __syncthreads();
  // Rows begin anywhere in a line of memory: what a warp stores is shifted to whole lines.
  const int first = tile * kTile;
  for (int u = warp; u < 32; u += kWarps) {
    Columns x[kTile / 32];
#pragma unroll
    for (int c = 0; c < kTile / 32; ++c) x[c] = get(found + (c * 32 + lane) * 32 + (u ^ lane));
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const long long source = (group * 32 + u) * COLUMNS + i;
      if (source >= count) continue;
      out_t* const row = out + source * n + first;
      const int shift = static_cast<int>(reinterpret_cast<uint64>(row) / sizeof(out_t) % 32);
      value_t before = far_value();
#pragma unroll
      for (int c = 0; c <= kTile / 32; ++c) {
        const value_t here =
            c < kTile / 32 ? __shfl_sync(0xffffffffu, x[c % (kTile / 32)].x[i], (lane - shift) & 31) : before;
        const int place = c * 32 + lane - shift;
        if (place >= 0 && place < kTile && first + place < n)
          __stcs(row + place, as_distance<out_t>(lane >= shift ? here : before));
        before = here;
      }
    }
  }
}
