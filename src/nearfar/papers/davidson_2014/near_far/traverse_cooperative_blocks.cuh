// Traversal "cooperative_blocks": a block takes 256 vertices and its threads share all their edges.
//
// The block keeps the prefix sums of the degrees in shared memory; a thread finds the list of its edge
// by a binary search there, only when the edge is not in the thread's last list. Work is even inside a
// block, not between blocks. Paper: Davidson et al. 2014, section IV.B, "Cooperative Blocks".
// Launch: blocks of 256, any grid.
// requires: papers/davidson_2014/near_far/relax.cuh

extern "C" __global__ void __launch_bounds__(kBlock) traverse(Frame f, uint32 iteration) {
  if (f.control->done) return;
  constexpr int U = 4;
  __shared__ offset_t first[kBlock + 1];  // edge number in the tile of each list's first edge
  __shared__ offset_t shift[kBlock];      // position in the edge array minus edge number
  __shared__ weight_t source[kBlock];     // distance of each vertex
  __shared__ offset_t scratch[33];
  Sweep s = begin_sweep(f, iteration);
  const uint64 size = frontier_size(f, iteration);
  const uint64 stride = static_cast<uint64>(gridDim.x) * kBlock;
  for (uint64 base = static_cast<uint64>(blockIdx.x) * kBlock; base < size; base += stride) {
    const auto [begin, degree, d] = frontier_row(f, s, iteration, base + threadIdx.x, size);
    offset_t total;
    const offset_t before = block_exclusive_sum(degree, scratch, &total);
    first[threadIdx.x] = before;
    shift[threadIdx.x] = begin - before;
    source[threadIdx.x] = d;
    if (threadIdx.x == 0) first[kBlock] = total;
    __syncthreads();
    int list = 0;
    for (offset_t e0 = 0; e0 < total; e0 += U * kBlock) {
      vertex_t target[U];
      weight_t candidate[U];
      bool active[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const offset_t e = e0 + u * kBlock + static_cast<offset_t>(threadIdx.x);
        active[u] = e < total;
        if (active[u] && e >= first[list + 1]) {  // the last list that starts at or before e
          int low = list + 1, high = kBlock;
          while (high - low > 1) {
            const int middle = (low + high) >> 1;
            if (first[middle] <= e) low = middle;
            else high = middle;
          }
          list = low;
        }
        const Edge edge = load_edge(f.edges, active[u] ? e + shift[list] : 0);
        target[u] = edge.target;
        candidate[u] = add_saturating(source[list], edge_weight(edge));
      }
      relax_batch(f, s, target, candidate, active);
    }
    __syncthreads();
  }
  end_sweep(f, s);
}
