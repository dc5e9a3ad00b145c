// Rows of edges with two weights, in the form that searches read: for row_heads.py.
//
// heads[n * ROW_HEAD] as row_shortcuts.cuh leaves them -> rows[n]. A row has shortcuts over at most
// kFirsts edges.
// Launch: any grid, one thread per vertex, grid-stride. No races: every row is written by one
// thread.
// requires: cuda/graph/head_edges.cuh

extern "C" __global__ void pack_heads(const HeadEdge* heads, HeadRow* rows, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    HeadRow row{};
    int firsts = 0;
    for (int j = 0; j < ROW_HEAD; ++j) {
      const HeadEdge edge = heads[i * ROW_HEAD + j];
      row.weight[j] = edge.weight;
      row.target[j] = edge.target;
      if (edge.target < 0 || edge.first == weight_t(0)) continue;
      int place = 0;
      while (place < firsts && row.first[place] != edge.first) ++place;
      if (place == firsts) row.first[firsts++] = edge.first;
      row.target[j] |= (place + 1) << kFirstShift;
    }
    rows[i] = row;
  }
}
