// Paths from a source within its leaf: one block per source lowers the distances that leaves.cuh
// found over the boundary.
//
// Such a path goes up to an ancestor, as the climb did, and down from it (leaf_ways.cuh): a minimum
// over the ancestors that a label has in common with the source. Labels are in postorder: all
// labels between the two are below the lowest common ancestor, and one of them is right below it,
// so the least depth among them gives the number of common ancestors. One half of the block goes up
// from the source and the other down, each with a running minimum, and no label waits for the
// distance of another.
//
// Arrays: leaf[n], the root of each label's leaf or -1; labels[pitch] of the sources in the order
// of column_order.cuh, or -1; space[height][pitch], the climbs; depth, low and vertex by label;
// way_first and ways of leaf_ways.cuh; out[count][n]; step, of values.cuh. Dynamic shared memory: a
// value per level of a leaf. Launch: 2 * kSide threads, one block per column, early: the previous
// launch writes only `out`. Races: none.
// requires: prepared/cuda/values.cuh
// requires: prepared/cuda/column_order.cuh
// requires: cuda/primitives/early_launch.cuh

constexpr int kSide = 128, kSideWarps = kSide / 32;
constexpr int kNothing = 0x7fffffff;

extern "C" __global__ void __launch_bounds__(2 * kSide)
    own_leaf(const int* leaf, const int* labels, const value_t* space, long long pitch, const int* depth,
             const int* low, const int* vertex, const long long* way_first, const value_t* ways, int n, out_t* out,
             double step) {
  extern __shared__ __align__(16) value_t climbed[];
  __shared__ int least[2 * kSideWarps];
  const int source = labels[blockIdx.x], root = source < 0 ? -1 : leaf[source];
  if (root < 0) {
    await_launch_before();
    return;
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int top = depth[root], last = low[root], own = depth[source] - top, own_low = low[source];
  out_t* const row = out + source_of_column(blockIdx.x, COLUMNS) * n;
  for (int i = threadIdx.x; i <= own; i += 2 * kSide) climbed[i] = space[(top + i) * pitch + blockIdx.x];
  const bool down = threadIdx.x >= kSide;
  const int first_warp = down ? kSideWarps : 0, place = threadIdx.x % kSide;
  int before = top + own;  // the least depth of the labels nearer to the source, and its own
  for (int base = 0; base < max(root - source, source - last + 1); base += kSide) {
    const int v = down ? source - base - place : source + 1 + base + place;
    const bool inside = last <= v && v <= root;
    const int deep = inside ? depth[v] : kNothing, lowest = inside ? low[v] : 0;
    const long long first = inside ? way_first[v] : 0;
    out_t* const to = row + (inside ? vertex[v] : 0);
    int so_far = deep;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, so_far, by);
      if (lane >= by) so_far = min(so_far, other);
    }
    if (lane == 31) least[warp] = so_far;
    __syncthreads();
    so_far = min(so_far, before);
#pragma unroll
    for (int w = 0; w < kSideWarps; ++w) {
      const int theirs = least[first_warp + w];
      if (first_warp + w < warp) so_far = min(so_far, theirs);
      before = min(before, theirs);
    }
    __syncthreads();  // the minima are free
    if (!inside) continue;
    int common = so_far - top;  // labels above the one right below the common ancestor
    if (!down && lowest <= source) common = deep - top + 1;  // the label is an ancestor of the source
    if (down && own_low <= v) common = own + 1;              // the source is one of the label
    value_t a = far_value();
#pragma unroll 4
    for (int t = 0; t < common; ++t) a = add_min(climbed[t], ways[first + t], a);
    const out_t distance = as_distance<out_t>(a, step);
    await_launch_before();
    if (distance < *to) *to = distance;
  }
}
