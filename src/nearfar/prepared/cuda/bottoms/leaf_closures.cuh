// Weights of bundles (leaves.cuh): distances from the boundary of each leaf to its vertices over
// paths within the leaf.
//
// A lane processes a row of the boundary, and the warp traverses the labels of the leaf from its
// root down, depth first, so that the distances to all ancestors are an array indexed by depth.
//
// Arrays: jobs[..] {root, first row, first of the boundary, its size}; boundary, labels; first[n +
// 1], head_depth and weight of the arcs down; depth, low and where by label, the latter two places
// or -1; weights, written. Dynamic shared memory: 32 values per level of a leaf. Launch: 32
// threads, one block per job. Races: none.
// requires: prepared/cuda/bottoms/leaves.cuh

extern "C" __global__ void __launch_bounds__(32)
    leaf_closures(const int4* jobs, const int* boundary, const int* first, const int* head_depth,
                  const value_t* weight, const int* depth, const int* low, const int2* where, value_t* weights) {
  extern __shared__ __align__(16) int4 memory[];
  const int4 job = jobs[blockIdx.x];
  const int root = job.x, lane = threadIdx.x, row = job.y + lane, top = depth[root];
  value_t* const here = reinterpret_cast<value_t*>(memory) + lane;
  const bool mine = row < job.w;
  const int from = mine ? depth[boundary[job.z + row]] : -1;
  for (int v = root; v >= low[root]; --v) {
    value_t a = far_value();
    const int end = first[v + 1];
    for (int base = first[v]; base < end; base += 32) {
      const int at = base + lane < end ? base + lane : base;
      const int my_depth = head_depth[at];
      const value_t my_weight = weight[at];
      const int some = min(32, end - base);
      for (int k = 0; k < some; ++k) {
        const int to = __shfl_sync(0xffffffffu, my_depth, k);
        const value_t way = __shfl_sync(0xffffffffu, my_weight, k);
        const value_t there = to >= top ? here[(to - top) * 32] : to == from ? value_t(0) : far_value();
        a = add_min(there, way, a);
      }
    }
    here[(depth[v] - top) * 32] = a;
    const int2 to = where[v];
    if (mine) weights[to.x + row] = a;
    if (mine && to.y >= 0) weights[to.y + row] = a;
  }
}
