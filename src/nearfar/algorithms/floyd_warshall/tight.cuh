// Predecessors from the matrix that Floyd-Warshall closed, by a second product over all stops.
//
// before[i][j] = the smallest stop k with closed[i][k] + direct[k][j] = closed[i][j] and
// closed[i][k] < closed[i][j]; entries without one stay unchanged. This is the tight-edge rule for graphs
// without negative weights (cpu/distances/proof.cpp); the host does the vertices reached only by edges that
// add nothing.
//
// An entry has a tight edge in few slices of stops. A slice is therefore passed with add_min, one
// instruction per entry and stop, and the stop is searched for only where the least sum equals the
// distance. Slices are taken in descending order: the smallest stop is written last.
//
// closed, direct: side x side values row-major, side a multiple of 128, FAR where there is no path (no edge);
// direct has FAR on its diagonal. before: n x n ids.
// Macros: VALUE_T, USE_DPX, ID_T (int or long long).
// Launch: grid (side / 128, side / 128), for values of 8 bytes of 64, and blocks of 256. No races: a thread
// writes its own places.
// requires: algorithms/floyd_warshall/square.cuh

typedef ID_T stop_t;

extern "C" __global__ void __launch_bounds__(256, 1)
    tight_stops(const value_t* closed, const value_t* direct, long long side, long long n, value_t far,
                stop_t* before) {
  alignas(16) __shared__ value_t left[2][kBlock][kSlice];
  alignas(16) __shared__ value_t top[2][kSlice][kBlock];
  const long long row = static_cast<long long>(blockIdx.y) * kBlock;
  const long long column = static_cast<long long>(blockIdx.x) * kBlock;
  const value_t* rows = closed + row * side;
  const value_t* columns = direct + column;
  const Place own = own_place();
  const int slices = static_cast<int>(side / kSlice);
  begin_slice(left[0], top[0], rows + (slices - 1) * kSlice,
              columns + static_cast<long long>(slices - 1) * kSlice * side, side);
  const value_t* mine = closed + (row + own.y) * side + column + own.x * kVector;
  value_t wanted[kEach][kEach];  // no sum is negative: -1 is never met
  load_square(mine, side, wanted);
#pragma unroll
  for (int r = 0; r < kEach; ++r)
#pragma unroll
    for (int c = 0; c < kEach; ++c)
      wanted[r][c] = wanted[r][c] < far ? wanted[r][c] : value_t(-1);
#pragma unroll 1
  for (int slice = slices - 1; slice >= 0; --slice) {
    copy_async_wait();
    __syncthreads();  // all have this slice and have finished the previous one
    const int now = (slices - 1 - slice) % 2;
    if (slice > 0)
      begin_slice(left[1 - now], top[1 - now], rows + (slice - 1) * kSlice,
                  columns + static_cast<long long>(slice - 1) * kSlice * side, side);
    value_t best[kEach][kEach];
#pragma unroll
    for (int r = 0; r < kEach; ++r)
#pragma unroll
      for (int c = 0; c < kEach; ++c) best[r][c] = far;
    add_slice(left[now], top[now], own, best);
    unsigned long long met = 0;
#pragma unroll
    for (int r = 0; r < kEach; ++r)
#pragma unroll
      for (int c = 0; c < kEach; ++c)
        if (best[r][c] == wanted[r][c]) met |= 1ull << (r * kEach + c);
    while (met) {
      const int place = __ffsll(static_cast<long long>(met)) - 1;
      met &= met - 1;
      const int r = own.y + 16 * (place / kEach), c = place % kEach;
      const int at = (own.x + 16 * (c / kVector)) * kVector + c % kVector;
      const value_t distance = closed[(row + r) * side + column + at];
      for (int k = 0; k < kSlice; ++k) {
        const value_t from = left[now][r][k];
        if (from + top[now][k][at] != distance || !(from < distance)) continue;
        if (row + r < n && column + at < n)
          before[(row + r) * n + column + at] = static_cast<stop_t>(slice) * kSlice + k;
        break;
      }
    }
  }
}
