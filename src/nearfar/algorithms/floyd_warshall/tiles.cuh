// Blocked Floyd-Warshall: three kernels a step of 64 stops (Venkataraman et al. 2003; phases of Lund and Smith
// 2010).
//
// matrix: side x side values row-major, side a multiple of 128, padded with FAR. FAR is more than any path and
// FAR + FAR fits the type (integers: a quarter of the unsigned range; floats: infinity), so nothing is tested
// in the loops. Integer sums with a minimum are one instruction (DPX) where USE_DPX is 1.
// Macros: VALUE_T (int, long long, float, double), USE_DPX.
//
// close_diagonal: one block of 1024, the 64 x 64 tile in shared memory, 64 steps. close_panels: grid
// (side / 64, 2), blocks of 256: row and column of tiles times the closed tile. update_rest: grid
// (side / 128, side / 128), blocks of 256: each thread keeps 8 x 8 values in registers while 64 stops pass
// through shared memory in 4 slices of 16; 16 reads of shared memory feed 64 sums. (Values of 8 bytes: 4 x 4, and
// a grid of 64 a side.) It covers row and column of the step too: they are final, so their minimum with the same sums changes nothing, and no block has to be
// left out.
typedef VALUE_T value_t;

constexpr int kTile = 64;
constexpr int kEach = sizeof(value_t) == 8 ? 4 : 8;  // values a thread keeps, in each direction

__device__ __forceinline__ value_t add_min(value_t a, value_t b, value_t c) {
#if USE_DPX
  return __viaddmin_s32(a, b, c);
#else
  const value_t sum = a + b;
  return sum < c ? sum : c;
#endif
}

// matrix[i][j] = FAR, 0 on the diagonal.
extern "C" __global__ void __launch_bounds__(256) clear_matrix(value_t* matrix, long long side, value_t far) {
  const long long all = side * side;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += stride)
    matrix[i] = i / side == i % side ? value_t(0) : far;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    close_diagonal(value_t* matrix, long long side, long long step) {
  __shared__ value_t tile[kTile][kTile + 1];
  value_t* corner = matrix + step * kTile * side + step * kTile;
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;  // 16 rows a pass
  for (int r = y; r < kTile; r += 16) tile[r][x] = corner[r * side + x];
  __syncthreads();
  for (int k = 0; k < kTile; ++k) {
    const value_t through = tile[k][x];
    // Row k and column k do not change in step k (the diagonal is 0), so no second barrier is needed to
    // protect the reads.
    for (int r = y; r < kTile; r += 16) tile[r][x] = add_min(tile[r][k], through, tile[r][x]);
    __syncthreads();
  }
  for (int r = y; r < kTile; r += 16) corner[r * side + x] = tile[r][x];
}

extern "C" __global__ void __launch_bounds__(256, 2)
    close_panels(value_t* matrix, long long side, long long step) {
  extern __shared__ unsigned long long panel_memory[];
  value_t* closed = reinterpret_cast<value_t*>(panel_memory);  // [64][64]
  value_t* old = closed + kTile * kTile;                       // [64][64]
  const long long other = blockIdx.x;
  if (other == step) return;
  const bool row = blockIdx.y == 0;
  const value_t* corner = matrix + step * kTile * side + step * kTile;
  value_t* mine = row ? matrix + step * kTile * side + other * kTile
                      : matrix + other * kTile * side + step * kTile;
  for (int i = threadIdx.x; i < kTile * kTile; i += 256) {
    const int r = i / kTile, c = i % kTile;
    closed[i] = corner[r * side + c];
    old[i] = mine[r * side + c];
  }
  __syncthreads();
  const value_t* a = row ? closed : old;
  const value_t* b = row ? old : closed;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  value_t best[4][4];
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int c = 0; c < 4; ++c) best[r][c] = old[(y + 16 * r) * kTile + x + 16 * c];
  for (int k = 0; k < kTile; ++k) {
    value_t left[4], top[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) left[r] = a[(y + 16 * r) * kTile + k];
#pragma unroll
    for (int c = 0; c < 4; ++c) top[c] = b[k * kTile + x + 16 * c];
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int c = 0; c < 4; ++c) best[r][c] = add_min(left[r], top[c], best[r][c]);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int c = 0; c < 4; ++c) mine[(y + 16 * r) * side + x + 16 * c] = best[r][c];
}

extern "C" __global__ void __launch_bounds__(256, 2)
    update_rest(value_t* matrix, long long side, long long step) {
  constexpr int kSlice = 16, kBlock = 16 * kEach;
  alignas(16) __shared__ value_t left[kSlice][kBlock + 4];  // transposed: one stop a row
  alignas(16) __shared__ value_t top[kSlice][kBlock];
  const long long row = static_cast<long long>(blockIdx.y) * kBlock;
  const long long column = static_cast<long long>(blockIdx.x) * kBlock;
  const long long stops = step * kTile;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  value_t best[kEach][kEach];
#pragma unroll
  for (int r = 0; r < kEach; ++r)
#pragma unroll
    for (int c = 0; c < kEach; ++c)
      best[r][c] = matrix[(row + y * 4 + (r / 4) * 64 + r % 4) * side + column + x * 4 + (c / 4) * 64 + c % 4];
  for (int slice = 0; slice < kTile; slice += kSlice) {
    for (int i = threadIdx.x; i < kSlice * kBlock; i += 256) {
      left[i % kSlice][i / kSlice] = matrix[(row + i / kSlice) * side + stops + slice + i % kSlice];
      top[i / kBlock][i % kBlock] = matrix[(stops + slice + i / kBlock) * side + column + i % kBlock];
    }
    __syncthreads();
#pragma unroll 2
    for (int k = 0; k < kSlice; ++k) {
      value_t a[kEach], b[kEach];
#pragma unroll
      for (int r = 0; r < kEach; ++r) a[r] = left[k][y * 4 + (r / 4) * 64 + r % 4];
#pragma unroll
      for (int c = 0; c < kEach; ++c) b[c] = top[k][x * 4 + (c / 4) * 64 + c % 4];
#pragma unroll
      for (int r = 0; r < kEach; ++r)
#pragma unroll
        for (int c = 0; c < kEach; ++c) best[r][c] = add_min(a[r], b[c], best[r][c]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r)
#pragma unroll
    for (int c = 0; c < kEach; ++c)
      matrix[(row + y * 4 + (r / 4) * 64 + r % 4) * side + column + x * 4 + (c / 4) * 64 + c % 4] = best[r][c];
}

// Speed of add_min alone, to measure against: `turns` x 16 chains a thread. Launch: any grid, blocks of 256.
extern "C" __global__ void __launch_bounds__(256) add_min_ceiling(value_t* out, int turns, value_t weight) {
  value_t chain[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) chain[i] = static_cast<value_t>(threadIdx.x + i);
  for (int t = 0; t < turns; ++t)
#pragma unroll
    for (int i = 0; i < 16; ++i) chain[i] = add_min(chain[(i + 1) % 16], weight, chain[i]);
  value_t all = chain[0];
#pragma unroll
  for (int i = 1; i < 16; ++i) all = chain[i] < all ? chain[i] : all;
  if (all == static_cast<value_t>(-12345)) out[blockIdx.x] = all;
}
