// From [label][source] to [source][column]: tiles that both sides read and write in whole memory sectors.
//
// Arrays: values[..][pitch]; place[some], the row of `values` of each column; column[some], where in a row of the
// answer each belongs, or null for 0, 1, ...; out[count][width]. Launch: 256 threads, a block per tile, (tiles of columns, tiles of sources).
// Races: none.
// requires: prepared/values.cuh

constexpr int kTile = 64, kWarps = 8;

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    to_rows(const value_t* values, long long pitch, const int* place, const int* column, int some,
            long long width, int count, out_t* out) {
  __shared__ value_t tile[kTile][kTile + 1];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int first = blockIdx.x * kTile;
  const int row = blockIdx.y * kTile;
#pragma unroll
  for (int i = 0; i < kTile / kWarps; ++i) {
    const int c = warp + i * kWarps;
    if (first + c >= some) continue;
    const value_t* from = values + place[first + c] * pitch + row;
#pragma unroll
    for (int half = 0; half < kTile; half += 32)
      if (row + half + lane < count) tile[half + lane][c] = __ldcs(from + half + lane);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kTile / kWarps; ++i) {
    const int r = warp + i * kWarps;
    if (row + r >= count) continue;
    out_t* to = out + (row + r) * width;
#pragma unroll
    for (int half = 0; half < kTile; half += 32) {
      const int c = first + half + lane;
      if (c < some) __stcs(to + (column ? column[c] : c), as_distance<out_t>(tile[r][half + lane]));
    }
  }
}
