// Rows of chains of weights, in the form that searches read: for row_heads.py.
//
// heads[n * ROW_HEAD] as row_shortcuts.cuh leaves them, at most kRoom weights in a row -> rows[n].
// Launch: any grid, one thread per vertex, grid-stride. No races: every row is written by one
// thread.
// requires: cuda/graph/head_edges.cuh

extern "C" __global__ void pack_heads(const HeadEdge* heads, HeadRow* rows, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    HeadRow row{};
    int used = 0;
    for (int j = 0; j < ROW_HEAD; ++j) {
      const HeadEdge& edge = heads[i * ROW_HEAD + j];
      row.target[j] = edge.target;
      row.chain[j] = static_cast<unsigned char>(edge.count);  // in the last place of a removed row its time
      if (edge.target < 0) continue;
      row.chain[j] = static_cast<unsigned char>(used | edge.count << kCountShift);
      for (int k = 0; k < edge.count; ++k) row.weight[used++] = edge.weight[k];
    }
    rows[i] = row;
  }
}
