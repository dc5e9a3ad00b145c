// Columns of distances to the vertices of leaves: a warp per quad of one leaf and group of sources.
//
// Macros: LAST_USE, nothing reads these distances soon.
// Arrays: quads[count] as in leaves.cuh; to[count], rows of `values` that the vertices of a quad are stored in, -1 for
// nobody; boundary_row, weights and values as in leaves.cuh, pitch a multiple of 32 * COLUMNS.
// Launch: 32 * kWarps threads, blocks_each * groups blocks, those of a group next to each other, each with `some` quads.
// Races: none; what is read was written before the launch.
// requires: prepared/leaves.cuh

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    leaf_columns(const int4* quads, const int4* to, int count, int some, const int* boundary_row, const int4* weights,
                 value_t* values, long long pitch) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int blocks_each = (count + some - 1) / some;
  const long long group = blockIdx.x / blocks_each, stride = pitch / COLUMNS;
  Columns* const mine = reinterpret_cast<Columns*>(values) + group * 32 + lane;
  const int first = static_cast<int>(blockIdx.x % blocks_each) * some, end = min(first + some, count);
  Quads mine_quads{quads, boundary_row, weights, mine, stride, first + warp, end, kWarps};
  mine_quads.begin();
  while (mine_quads.at < end) {
    const int4 rows = to[mine_quads.at];
    const Least best = mine_quads.least();
    const int row[kEach] = {rows.x, rows.y, rows.z, rows.w};
#pragma unroll
    for (int t = 0; t < kEach; ++t) {
      if (row[t] < 0) continue;
      if (LAST_USE)
        put_past(mine + row[t] * stride, best.x[t]);
      else
        put(mine + row[t] * stride, best.x[t]);
    }
  }
}
