// Ways from a source that stay in its leaf: a warp per source lowers what leaves.cuh found over the boundary.
//
// The walk goes down labels, one after the other. Of 32 labels a lane each has what the tree says, fetched 32 labels
// before, and their arcs are fetched kFetched labels before they are followed.
//
// Macros: BY_SOURCE: distances lie in rows[source][vertex], of the type of answers; otherwise in rows[row][source], of the
// type of weights, `vertex` being the row of each label.
// Arrays: leaf[n], the root of each label's leaf or -1; labels[count] of the sources, or -1; space[height][pitch], the
// climbs; first, head_depth and weight of the arcs down; depth, low and vertex by label; out, `stride` from row to row.
// Dynamic shared memory: `levels` values per warp. Launch: 32 * kWarps threads, a warp per source. Races: none.
// requires: prepared/leaves.cuh

template <class T>
__device__ __forceinline__ T least_of_warp(T a) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, a, by);
    a = other < a ? other : a;
  }
  return a;
}
__device__ __forceinline__ uint32 least_of_warp(uint32 a) { return __reduce_min_sync(0xffffffffu, a); }

#if BY_SOURCE
typedef out_t distance_t;
__device__ __forceinline__ out_t answer_of(value_t x) { return as_distance<out_t>(x); }
#else
typedef value_t distance_t;
__device__ __forceinline__ value_t answer_of(value_t x) { return x; }
#endif

constexpr int kFetched = 8;

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    own_leaf(const int* leaf, const int* labels, int count, const value_t* space, long long pitch, const int* first,
             const int* head_depth, const value_t* weight, const int* depth, const int* low, const int* vertex,
             int levels, long long stride, distance_t* out) {
  extern __shared__ __align__(16) int4 memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int k = blockIdx.x * kWarps + warp;
  if (k >= count) return;
  const int source = labels[k], root = source < 0 ? -1 : leaf[source];
  if (root < 0) return;
  value_t* const here = reinterpret_cast<value_t*>(memory) + warp * levels;
  distance_t* const mine_out = BY_SOURCE ? out + k * stride : out + k;
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
  Label next = look(root - lane);
  for (int base = root; base >= last; base -= 32) {
    const Label mine = next;
    next = look(base - 32 - lane);
    int to[kFetched];
    value_t way[kFetched];
    value_t result = far_value();
    auto fetch = [&](int i, int at) {
      const int j = __shfl_sync(0xffffffffu, mine.begin, i) + lane;
      const bool has = j < __shfl_sync(0xffffffffu, mine.end, i);
      to[at] = has ? head_depth[j] - top : -1;
      way[at] = has ? weight[j] : far_value();
    };
#pragma unroll
    for (int i = 0; i < kFetched; ++i) fetch(i, i);
    const int some = min(32, base - last + 1);  // labels beyond them have no arcs
    for (int i = 0; i < some; i += kFetched) {
#pragma unroll
      for (int u = 0; u < kFetched; ++u) {
        value_t a = __shfl_sync(0xffffffffu, mine.climbed, i + u);
        if (to[u] >= 0) a = add_min(here[to[u]], way[u], a);
        const int begin = __shfl_sync(0xffffffffu, mine.begin, i + u);
        const int end = __shfl_sync(0xffffffffu, mine.end, i + u);
        for (int j = begin + 32 + lane; j < end; j += 32)
          if (head_depth[j] >= top) a = add_min(here[head_depth[j] - top], weight[j], a);
        fetch(min(i + u + kFetched, 31), u);
        a = least_of_warp(a);
        if (lane == i + u && mine.vertex >= 0) {
          here[mine.deep - top] = a;
          result = a;
        }
        __syncwarp();
      }
    }
    if (mine.vertex >= 0) {
      distance_t& known = mine_out[BY_SOURCE ? mine.vertex : mine.vertex * stride];
      const distance_t distance = answer_of(result);
      if (distance < known) known = distance;
    }
  }
}
