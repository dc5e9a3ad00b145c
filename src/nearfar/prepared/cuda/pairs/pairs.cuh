// Distances of pairs: walks from both ends to the root of the elimination tree, or passes over tree
// labels.
//
// Walking (Dibbelt, Strasser and Wagner 2016, "elimination tree query"; walk.simd.cpp is the CPU's
// form): one warp per pair. Ancestors are identified by their depth, so both search spaces are
// arrays in shared memory. Below the lowest common ancestor each end climbs separately; above it
// both visit the same labels, and a label as far as the best meeting so far is not relaxed.
//
// Labels (after Ouyang et al. 2018, "H2H"; labels.simd.cpp): the row of a label holds the distances
// of its climb, by depth. Two labels share exactly the ancestors of their lowest common one, so a
// distance is the least sum over that many first values of two rows. Each lane finds the ancestor
// of its own pair, then eight lanes read the rows of a pair, 16 bytes each.
//
// Arrays, by label: node[n] {first arc, arcs, parent or -1, depth}, one for each direction with its
// head_depth and weight; spine[n] {highest label of its heavy path, that one's parent or -1, depth,
// where its row begins, in units of 8 values}; label[n] of vertices; sources[count] and
// targets[count], vertices; rows, values, each padded to 8; found[count]. Macros: those of
// values.cuh, PRUNES: no weight is negative. Dynamic shared memory: pairs_walk 2 * height values
// per warp, label_rows `height` per warp.
// Launch: any number of whole warps. Races: none; lanes of a warp lower distances of different
// depths.
// requires: prepared/cuda/values.cuh

constexpr uint32 kEveryLane = 0xffffffffu;
constexpr int kGroup = 8;                               // lanes per pair of rows
constexpr int kPart = 16 / static_cast<int>(sizeof(value_t));  // values per lane and turn

struct Side {
  const int4* node;
  const int* head_depth;
  const value_t* weight;
};

__device__ __forceinline__ void relax(const Side& side, const int4& at, value_t d, value_t* space) {
  const int lane = threadIdx.x & 31;
  for (int j = lane; j < at.y; j += 32) {
    const int there = side.head_depth[at.x + j];
    space[there] = add_min(d, side.weight[at.x + j], space[there]);
  }
}

__device__ __forceinline__ void start(int depth, value_t* space) {
  const int lane = threadIdx.x & 31;
  for (int i = lane; i <= depth; i += 32) space[i] = i == depth ? value_t(0) : far_value();
  __syncwarp();
}

// Climbs from v up to `stop`, which is not relaxed.
__device__ __forceinline__ void ascend(const Side& side, int v, int stop, value_t* space) {
  if (v == stop) return;
  int4 now = side.node[v];
  for (;;) {
    const int4 next = now.z >= 0 ? side.node[now.z] : now;
    const value_t d = space[now.w];
    if (d < far_value()) relax(side, now, d, space);
    __syncwarp();
    if (now.z == stop) return;
    now = next;
  }
}

// Returns the lowest common ancestor, or -1, and its depth.
__device__ __forceinline__ int common_ancestor(const int4* spine, int a, int b, int4& of_a, int4& of_b) {
  of_a = spine[a];
  of_b = spine[b];
  int4 x = of_a, y = of_b;
  while (x.x != y.x) {
    int& lower = x.x < y.x ? a : b;
    int4& its = x.x < y.x ? x : y;
    lower = its.y;
    if (lower < 0) return -1;
    its = spine[lower];
  }
  return a > b ? a : b;
}

// Returns the distance between two labels and the depth at which the walks meet, -1: none. forward
// and backward: `height` values each, filled as far as the walk went. Called by a warp.
__device__ __forceinline__ value_t walk(const Side& up, const Side& down, const int4* spine, int from, int to,
                                        value_t* forward, value_t* backward, int& meeting) {
  const bool symmetric = up.node == down.node;
  const int lane = threadIdx.x & 31;
  int4 of_from, of_to;
  const int common = common_ancestor(spine, from, to, of_from, of_to);
  value_t best = far_value();
  meeting = -1;
  if (common < 0) return best;
  start(of_from.z, forward);
  start(of_to.z, backward);
  ascend(up, from, common, forward);
  ascend(down, to, common, backward);
  int4 now = up.node[common];
  for (int v = common; v >= 0;) {
    const int4 next = now.z >= 0 ? up.node[now.z] : now;
    const value_t f = forward[now.w], b = backward[now.w];
    if (f < far_value() && b < far_value() && f + b < best) {
      best = f + b;
      meeting = now.w;
    }
    const bool goes = f < far_value() && (!PRUNES || f < best);
    const bool comes = b < far_value() && (!PRUNES || b < best);
    if (symmetric) {
      if (goes || comes)
        for (int j = lane; j < now.y; j += 32) {
          const int there = up.head_depth[now.x + j];
          const value_t way = up.weight[now.x + j];
          if (goes) forward[there] = add_min(f, way, forward[there]);
          if (comes) backward[there] = add_min(b, way, backward[there]);
        }
    } else {
      if (goes) relax(up, now, f, forward);
      if (comes) relax(down, down.node[v], b, backward);
    }
    __syncwarp();
    v = now.z;
    now = next;
  }
  return best;
}

extern "C" __global__ void pairs_walk(const int4* up_node, const int* up_depth, const value_t* up_weight,
                                      const int4* down_node, const int* down_depth,
                                      const value_t* down_weight, const int4* spine, const int* label,
                                      const long long* sources, const long long* targets, long long count,
                                      int height, out_t* found, double step) {
  extern __shared__ __align__(16) value_t spaces[];
  const Side up{up_node, up_depth, up_weight}, down{down_node, down_depth, down_weight};
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  value_t* const forward = spaces + 2 * warp * height;
  for (long long k = static_cast<long long>(blockIdx.x) * warps + warp; k < count;
       k += static_cast<long long>(gridDim.x) * warps) {
    int meeting;
    const value_t best = walk(up, down, spine, label[sources[k]], label[targets[k]], forward,
                              forward + height, meeting);
    __syncwarp();
    if (lane == 0) found[k] = as_distance<out_t>(best, step);
  }
}

extern "C" __global__ void label_rows(const int4* node, const int* head_depth, const value_t* weight,
                                      const int4* spine, int n, int height, value_t* rows) {
  extern __shared__ __align__(16) value_t spaces[];
  const Side side{node, head_depth, weight};
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  value_t* const space = spaces + warp * height;
  for (int v = blockIdx.x * warps + warp; v < n; v += gridDim.x * warps) {
    const int4 mine = spine[v];
    start(mine.z, space);
    ascend(side, v, -1, space);
    value_t* const row = rows + 8ll * mine.w;
    const int end = (mine.z + 8) & ~7;
    for (int i = lane; i < end; i += 32) row[i] = i <= mine.z ? space[i] : far_value();
    __syncwarp();
  }
}

union Part {
  uint4 raw;
  value_t x[kPart];
  __device__ Part() {}
};

extern "C" __global__ void __launch_bounds__(256)
    pairs_by_labels(const int4* spine, const int* label, const value_t* up, const value_t* down,
                    const long long* sources, const long long* targets, long long count, out_t* found,
                    double step) {
  const int lane = threadIdx.x & 31, member = lane % kGroup, group = lane / kGroup;
  const long long first = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) & ~31ll;
  const long long mine = first + lane;
  if (first >= count) return;
  int prefix = 0, up_row = 0, down_row = 0;
  if (mine < count) {
    const int from = label[sources[mine]], to = label[targets[mine]];
    int4 of_from, of_to;
    const int common = common_ancestor(spine, from, to, of_from, of_to);
    if (common >= 0) prefix = spine[common].z + 1;
    up_row = of_from.w;
    down_row = of_to.w;
  }
  value_t distance = far_value();
  for (int turn = 0; turn < kGroup; ++turn) {
    // The pairs of lanes 0 to 3 are processed first, by groups 0 to 3.
    const int whose = turn * (32 / kGroup) + group;
    const int values = __shfl_sync(kEveryLane, prefix, whose);
    const value_t* const a = up + 8ll * __shfl_sync(kEveryLane, up_row, whose);
    const value_t* const b = down + 8ll * __shfl_sync(kEveryLane, down_row, whose);
    value_t best = far_value();
#pragma unroll 2
    for (int i = member * kPart; i < values; i += kGroup * kPart) {
      Part x, y;
      x.raw = __ldg(reinterpret_cast<const uint4*>(a + i));
      y.raw = __ldg(reinterpret_cast<const uint4*>(b + i));
#pragma unroll
      for (int k = 0; k < kPart; ++k)
        if (i + k < values) best = add_min(x.x[k], y.x[k], best);
    }
#pragma unroll
    for (int step = kGroup / 2; step > 0; step >>= 1) {
      const value_t other = __shfl_xor_sync(kEveryLane, best, step);
      best = other < best ? other : best;
    }
    // Lane `whose` takes the result of the group with that number.
    const value_t taken = __shfl_sync(kEveryLane, best, lane % (32 / kGroup) * kGroup);
    if (lane / (32 / kGroup) == turn) distance = taken;
  }
  if (mine < count) found[mine] = as_distance<out_t>(distance, step);
}
