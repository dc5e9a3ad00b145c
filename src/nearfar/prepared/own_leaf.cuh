// Ways from a source that stay in its leaf: a warp per source lowers what leaves.cuh found over the boundary.
//
// The walk goes down labels, one after the other. Of 32 labels a lane each has what the tree says, fetched 32 labels
// before, and their arcs are copied kAhead labels before they are followed.
//
// Arrays: leaf[n], the root of each label's leaf or -1; labels[pitch] of the sources in the order of column_order.cuh, or -1; space[height][pitch], the
// climbs; first, head_depth and weight of the arcs down; depth, low and vertex by label; out[count][n].
// Dynamic shared memory: per warp a ring of arcs, then per warp `levels` values. Launch: 32 * kWarps threads, a warp per source. Races: none.
// requires: prepared/leaves.cuh
// requires: prepared/column_order.cuh
// requires: prepared/arc_ring.cuh

template <class T>
__device__ __forceinline__ T least_of_warp(T a) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, a, by);
    a = other < a ? other : a;
  }
  return a;
}
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ uint32 least_of_warp(uint32 a) { return __reduce_min_sync(0xffffffffu, a); }
#endif

constexpr int kRow = 32;  // arcs of a label that are copied ahead

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    own_leaf(const int* leaf, const int* labels, const value_t* space, long long pitch, const int* first,
             const int* head_depth, const value_t* weight, const int* depth, const int* low, const int* vertex,
             int levels, int n, out_t* out) {
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int k = blockIdx.x * kWarps + warp;
  if (k >= pitch) return;
  const int source = labels[k], root = source < 0 ? -1 : leaf[source];
  if (root < 0) return;
  ArcRing<kRow> ring(memory + warp * ArcRing<kRow>::kBytes);
  value_t* const here = reinterpret_cast<value_t*>(memory + kWarps * ArcRing<kRow>::kBytes) + warp * levels;
  out_t* const row = out + source_of_column(k, COLUMNS) * n;
  const int top = depth[root], last = low[root];
  struct Label {
    int begin, end, deep, vertex;
    value_t climbed;
  };
  auto look = [&](int v) {
    Label found{0, 0, 0, -1, far_value()};
    if (v >= last) {
      found.begin = first[v];
      found.end = first[v + 1];
      found.deep = depth[v];
      found.vertex = vertex[v];
      if (low[v] <= source && source <= v) found.climbed = space[found.deep * pitch + k];
    }
    return found;
  };
  Label mine = look(root - lane), next = look(root - 32 - lane);
  const int all = root - last + 1;
  auto issue = [&](int i, int base) {
    const int begin = __shfl_sync(0xffffffffu, i - base < 32 ? mine.begin : next.begin, i & 31);
    const int end = __shfl_sync(0xffffffffu, i - base < 32 ? mine.end : next.end, i & 31);
    ring.issue(i, head_depth, weight, begin, end - begin);
  };
#pragma unroll
  for (int i = 0; i < kAhead - 1; ++i) issue(i, 0);
  for (int base = 0; base < all; base += 32) {
    value_t result = far_value();
    for (int i = base; i < min(all, base + 32); ++i) {
      ring.wait();
      issue(i + kAhead - 1, base);
      const int begin = __shfl_sync(0xffffffffu, mine.begin, i & 31);
      const int arcs = __shfl_sync(0xffffffffu, mine.end, i & 31) - begin;
      value_t a = __shfl_sync(0xffffffffu, mine.climbed, i & 31);
      if (lane < arcs) {
        const int to = ring.depths[i % kAhead * kRow + lane] - top;
        if (to >= 0) a = add_min(here[to], ring.weights[i % kAhead * kRow + lane], a);
      }
      for (int j = kRow + lane; j < arcs; j += 32)
        if (head_depth[begin + j] >= top) a = add_min(here[head_depth[begin + j] - top], weight[begin + j], a);
      a = least_of_warp(a);
      if (lane == (i & 31)) {
        here[mine.deep - top] = a;
        result = a;
      }
    }
    if (mine.vertex >= 0) {
      out_t& known = row[mine.vertex];
      const out_t distance = as_distance<out_t>(result);
      if (distance < known) known = distance;
    }
    mine = next;
    next = look(root - base - 64 - lane);
  }
}
