// Distances within leaves (leaves.cuh), from every label of a leaf down to its descendants.
//
// A path within a leaf goes up from its source to an ancestor (climb.cuh) and down from it. Each
// label stores the distances from all of its ancestors in the leaf, itself last; the second half of
// a path is then a minimum over the ancestors in common with the source (own_leaf.cuh).
//
// A warp processes the labels of a leaf from the root down. Each lane has an ancestor, and reads
// only the entries of earlier labels that it wrote itself.
//
// Arrays: roots[..] of the leaves; first[n + 1], head_depth and weight of the arcs down; depth and
// low by label; way_first[n], start of the distances of each label in `ways`; ways, written.
// Dynamic shared memory: a long long per level of a leaf.
// Launch: 32 threads, one block per leaf. Races: none.
// requires: prepared/cuda/values.cuh

extern "C" __global__ void __launch_bounds__(32)
    leaf_ways(const int* __restrict__ roots, const int* __restrict__ first, const int* __restrict__ head_depth,
              const value_t* __restrict__ weight, const int* __restrict__ depth, const int* __restrict__ low,
              const long long* __restrict__ way_first, value_t* ways) {
  extern __shared__ __align__(16) long long path[];  // starts of the ancestors' rows of `ways`
  const int root = roots[blockIdx.x], lane = threadIdx.x, top = depth[root], last = low[root];
  for (int v = root; v >= last; --v) {
    const int deep = depth[v] - top, begin = first[v], end = first[v + 1];
    const long long mine = way_first[v];
    if (lane == 0) path[deep] = mine;
    __syncwarp();
    for (int k = lane; k <= deep; k += 32) {
      value_t a = k == deep ? value_t(0) : far_value();
#pragma unroll 4
      for (int j = begin; j < end; ++j) {
        const int to = head_depth[j] - top;
        if (to >= k) a = add_min(ways[path[to] + k], weight[j], a);
      }
      ways[mine + k] = a;
    }
    __syncwarp();
  }
}
