// Transposes [label][source] to [source][column] by tiles that are read and written in long runs.
//
// kNear tiles of sources run concurrently and read adjacent memory: of 28 forms from 32 x 32 to 128
// x 128, with 1 to 8 adjacent tiles, this one moves most bytes per second.
//
// Arrays: values[..][pitch]; place[some], the row of `values` of each column; out[count][width];
// step, of values.cuh.
// Launch: 256 threads, one block per tile, (tiles of columns * kNear, tiles of sources / kNear)
// blocks.
// Races: none.
// requires: prepared/cuda/values.cuh

constexpr int kWarps = 8, kTile = 64, kNear = 2;

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    to_rows(const value_t* values, long long pitch, const int* place, int some, long long width,
            int count, out_t* out, double step) {
  __shared__ value_t tile[kTile][kTile + 1];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int first = blockIdx.x / kNear * kTile;
  const int row = (blockIdx.y * kNear + blockIdx.x % kNear) * kTile;
  if (row >= count) return;
#pragma unroll 4
  for (int c = warp; c < kTile; c += kWarps) {
    if (first + c >= some) continue;
    const value_t* from = values + place[first + c] * pitch + row;
#pragma unroll
    for (int i = 0; i < kTile; i += 32)
      if (row + i + lane < count) tile[i + lane][c] = __ldcs(from + i + lane);
  }
  __syncthreads();
#pragma unroll 4
  for (int r = warp; r < kTile; r += kWarps) {
    if (row + r >= count) continue;
    out_t* to = out + (row + r) * width + first;
#pragma unroll
    for (int i = 0; i < kTile; i += 32)
      if (first + i + lane < some) __stcs(to + i + lane, as_distance<out_t>(tile[r][i + lane], step));
  }
}
