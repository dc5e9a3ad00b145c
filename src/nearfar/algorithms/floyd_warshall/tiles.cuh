// Blocked Floyd-Warshall: three phases per step of 64 stops (Venkataraman et al. 2003; Lund and
// Smith 2010), the third one for two steps at a time.
//
// matrix: side x side values row-major, side a multiple of 128, padded with FAR. FAR is more than any path and
// FAR + FAR fits the type (integers: a quarter of the unsigned range; floats: infinity), so nothing is tested
// in the loops. Integer sums with a minimum are one instruction (DPX) where USE_DPX is 1; floats take two.
// Macros: VALUE_T (int, long long, float, double), USE_DPX.
//
// close_diagonal: one block of 1024, the 64 x 64 tile in shared memory, 64 steps. update_strips: grid
// (side / 64, 2), blocks of 256: a row and a column of tiles through the stops of one tile. update_rest: grid
// (side / 128, side / 128), blocks of 256: each thread keeps 8 x 8 values in registers while 128 stops pass
// through shared memory in slices of 16, the next slice on its way while one is used. 128 stops per
// pass and not 64, because the matrix is read and written once per pass. (Values of 8 bytes:
// 4 x 4 per thread, and a grid of 64 per side.) It covers the step's own rows and columns too: they
// are final, so their minimum with the same sums changes nothing, and no block has to be left out.
// requires: algorithms/floyd_warshall/square.cuh

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
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;  // 16 rows per pass
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

// Updates row and column `strip` of tiles with the stops of tile `step`, which is closed. With
// strip = step this is the second phase; with another strip, the third one for that strip only. The
// tile common to both strips is written twice with the same values. Tiles that are final are left
// out.
extern "C" __global__ void __launch_bounds__(256, 2)
    update_strips(value_t* matrix, long long side, long long strip, long long step) {
  extern __shared__ unsigned long long panel_memory[];
  value_t* a = reinterpret_cast<value_t*>(panel_memory);  // [64][64]: from the tile's row to the stops
  value_t* b = a + kTile * kTile;                         // [64][64]: from the stops on
  const long long other = blockIdx.x;
  const bool row = blockIdx.y == 0;
  if (other == step || (!row && other == strip)) return;
  const long long i = row ? strip : other, j = row ? other : strip;
  value_t* mine = matrix + i * kTile * side + j * kTile;
  const value_t* before = matrix + i * kTile * side + step * kTile;
  const value_t* after = matrix + step * kTile * side + j * kTile;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (int p = threadIdx.x; p < kTile * kTile; p += 256) {
    const int r = p / kTile, c = p % kTile;
    a[p] = before[r * side + c];
    b[p] = after[r * side + c];
  }
  value_t best[4][4];
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int c = 0; c < 4; ++c) best[r][c] = mine[(y + 16 * r) * side + x + 16 * c];
  __syncthreads();
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

// Updates the matrix with the stops of pass `pass`.
extern "C" __global__ void __launch_bounds__(256, 2)
    update_rest(value_t* matrix, long long side, long long pass) {
  alignas(16) __shared__ value_t left[2][kBlock][kSlice];
  alignas(16) __shared__ value_t top[2][kSlice][kBlock];
  const long long row = static_cast<long long>(blockIdx.y) * kBlock;
  const long long column = static_cast<long long>(blockIdx.x) * kBlock;
  const value_t* rows = matrix + row * side + pass * kStops;
  const value_t* columns = matrix + pass * kStops * side + column;
  const Place own = own_place();
  begin_slice(left[0], top[0], rows, columns, side);
  value_t* mine = matrix + (row + own.y) * side + column + own.x * kVector;
  value_t best[kEach][kEach];
  load_square(mine, side, best);
#pragma unroll 1
  for (int slice = 0; slice < kStops / kSlice; ++slice) {
    copy_async_wait();
    __syncthreads();  // all have this slice and have finished the previous one
    const int now = slice % 2;
    if (slice + 1 < kStops / kSlice)
      begin_slice(left[1 - now], top[1 - now], rows + (slice + 1) * kSlice,
                  columns + (slice + 1) * kSlice * side, side);
    add_slice(left[now], top[now], own, best);
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r)
#pragma unroll
    for (int c = 0; c < kEach; c += kVector) {
      Vector some;
#pragma unroll
      for (int i = 0; i < kVector; ++i) some.at[i] = best[r][c + i];
      *reinterpret_cast<Vector*>(mine + 16 * r * side + c * 16) = some;
    }
}

// Speed of add_min without memory, as a reference: `turns` x 16 chains per thread. Launch: any grid,
// blocks of 256.
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
