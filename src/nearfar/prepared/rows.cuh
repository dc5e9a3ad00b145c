// From [label][source] to [source][column]: tiles that both sides read and write in long runs.
//
// Macros: WIDE columns and TALL sources of a tile, multiples of 32; NEAR tiles of sources run next to each other, so
// that they read what is next to each other.
// Arrays: values[..][pitch]; place[some], the row of `values` of each column; out[count][width].
// Launch: 256 threads, a block per tile, (tiles of columns * NEAR, tiles of sources / NEAR) blocks.
// Dynamic shared memory: TALL * (WIDE + 1) values. Races: none.
// requires: prepared/values.cuh

constexpr int kWarps = 8, kPitch = WIDE + 1;

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    to_rows(const value_t* values, long long pitch, const int* place, int some, long long width,
            int count, out_t* out) {
  extern __shared__ __align__(16) value_t tile[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int first = blockIdx.x / NEAR * WIDE;
  const int row = (blockIdx.y * NEAR + blockIdx.x % NEAR) * TALL;
  if (row >= count) return;
#pragma unroll 4
  for (int c = warp; c < WIDE; c += kWarps) {
    if (first + c >= some) continue;
    const value_t* from = values + place[first + c] * pitch + row;
#pragma unroll
    for (int i = 0; i < TALL; i += 32)
      if (row + i + lane < count) tile[(i + lane) * kPitch + c] = __ldcs(from + i + lane);
  }
  __syncthreads();
#pragma unroll 4
  for (int r = warp; r < TALL; r += kWarps) {
    if (row + r >= count) continue;
    out_t* to = out + (row + r) * width + first;
#pragma unroll
    for (int i = 0; i < WIDE; i += 32)
      if (first + i + lane < some) __stcs(to + i + lane, as_distance<out_t>(tile[r * kPitch + i + lane]));
  }
}
