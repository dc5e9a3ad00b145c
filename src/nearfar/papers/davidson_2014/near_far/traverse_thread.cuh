// Traversal "thread": one adjacency list per thread, as in plain GPU Bellman-Ford.
//
// Short code without cooperation; a warp takes as long as its longest list, so it suits graphs of low and even
// degree. Paper: Davidson et al. 2014, section IV.B, first paragraph. Launch: blocks of 256, any grid.
// requires: papers/davidson_2014/near_far/relax.cuh

extern "C" __global__ void __launch_bounds__(kBlock) traverse(Frame f, uint32 iteration) {
  if (f.control->done) return;
  constexpr int U = 4;
  Sweep s = begin_sweep(f, iteration);
  const uint64 size = frontier_size(f, iteration);
  const uint64 stride = static_cast<uint64>(gridDim.x) * kBlock;
  for (uint64 base = static_cast<uint64>(blockIdx.x) * kBlock; base < size; base += stride) {
    auto [begin, degree, d] = frontier_row(f, s, iteration, base + threadIdx.x, size);
    offset_t longest = degree;
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
      const offset_t other = __shfl_xor_sync(kAllLanes, longest, step);
      longest = other > longest ? other : longest;
    }
    for (offset_t j = 0; j < longest; j += U) {
      vertex_t target[U];
      weight_t candidate[U];
      bool active[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
        active[u] = j + u < degree;
        const Edge edge = load_edge(f.edges, active[u] ? begin + j + u : 0);
        target[u] = edge.target;
        candidate[u] = add_saturating(d, edge_weight(edge));
      }
      relax_batch(f, s, target, candidate, active);
    }
  }
  end_sweep(f, s);
}
