// The edges of shortest paths between pairs.
//
// Walks as for distances (pairs.cuh), then traces both sides back down: the arcs that led to the
// meeting are found by comparing sums, computed as in customization (unpack.cpp is the CPU's form,
// and finds the same arcs). A shortcut represents two arcs that lead to a lower label, and the
// number of edges of each arc is known beforehand. So the edges of all paths are counted before any
// is written, and an edge is found from its number only: one thread per edge descends from an arc
// to the half that has it, until the arc is an edge.
//
// Arrays: those of pairs.cuh; first[n + 1] and head_depth of all arcs; origin [sides] per arc: the
// two arcs that replace it, the first followed down and the second up, or edges, ~edge; length
// [sides] per arc; steps[count][2 * height], arcs with their direction in bit 0, from the middle of
// the row to both sides, and before[..], edges before each; bounds[count] {first step, end},
// reached[count], and edges of each pair, n_edges[count].
// Macros: those of pairs.cuh; SIDES. Races: none.
// requires: prepared/cuda/pairs/pairs.cuh

struct Bounds {
  int begin, end;
};

__device__ __forceinline__ int entry_of(int step) { return SIDES == 1 ? step >> 1 : step; }

// Returns the arc in [from, from + count) that leads to `depth`, or -1. Depths ascend.
__device__ __forceinline__ int arc_to(const int* depths, int from, int count, int depth) {
  if (count == 0) return -1;
  while (count > 1) {
    const int half = count / 2;
    if (depths[from + half] <= depth) from += half;
    count -= half;
  }
  return depths[from] == depth ? from : -1;
}

// Writes the arcs from the meeting down to v to steps[k * by], k from 0; returns their number.
__device__ __forceinline__ int trace(const Side& side, const int* first, const int* all_depths, int v,
                                     const value_t* space, int meeting, int* path, int down, int* steps,
                                     int by) {
  const int lane = threadIdx.x & 31;
  const int deep = side.node[v].w;
  for (int a = v, d = deep; d > meeting; --d) {
    if (lane == 0) path[d] = a;
    a = side.node[a].z;
  }
  __syncwarp();
  int to = meeting, count = 0;
  for (int begin = meeting + 1; begin <= deep;) {
    const int d = begin + lane;
    bool leads = false;
    if (d <= deep && space[d] < far_value() && (!PRUNES || space[d] <= space[to])) {
      const int4 at = side.node[path[d]];
      const int j = arc_to(side.head_depth, at.x, at.y, to);
      leads = j >= 0 && space[d] + side.weight[j] == space[to];
    }
    const unsigned int found = __ballot_sync(kEveryLane, leads);
    if (found == 0) {
      begin += 32;
      continue;
    }
    const int next = begin + __ffs(static_cast<int>(found)) - 1;
    const int x = path[next];
    if (lane == 0)
      steps[count * by] = 2 * arc_to(all_depths, first[x], first[x + 1] - first[x], to) + down;
    ++count;
    to = next;
    begin = next + 1;
  }
  __syncwarp();
  return count;
}

// Dynamic shared memory: 2 * height values, then height labels per warp. Launch: any number of whole warps.
extern "C" __global__ void trace_paths(const int4* up_node, const int* up_depth, const value_t* up_weight,
                                       const int4* down_node, const int* down_depth,
                                       const value_t* down_weight, const int4* spine, const int* label,
                                       const long long* sources, const long long* targets, int count,
                                       int height, const int* first, const int* head_depth,
                                       const int* length, int* steps, int* before, Bounds* bounds,
                                       unsigned char* reached, long long* n_edges) {
  extern __shared__ __align__(16) value_t spaces[];
  const Side up{up_node, up_depth, up_weight}, down{down_node, down_depth, down_weight};
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  value_t* const forward = spaces + 2 * warp * height;
  value_t* const backward = forward + height;
  int* const path = reinterpret_cast<int*>(spaces + 2 * warps * height) + warp * height;
  for (int k = blockIdx.x * warps + warp; k < count; k += gridDim.x * warps) {
    const int from = label[sources[k]], to = label[targets[k]];
    int meeting, ups = 0, downs = 0;
    walk(up, down, spine, from, to, forward, backward, meeting);
    __syncwarp();
    const long long row = 2ll * height * k;
    int* const middle = steps + row + height;
    if (meeting >= 0) {
      ups = trace(up, first, head_depth, from, forward, meeting, path, 0, middle - 1, -1);
      downs = trace(down, first, head_depth, to, backward, meeting, path, 1, middle, 1);
    }
    long long edges = 0;
    for (int i = height - ups; i < height + downs; i += 32) {
      const bool has = i + lane < height + downs;
      const int mine = has ? length[entry_of(steps[row + i + lane])] : 0;
      int sum = mine;
#pragma unroll
      for (int by = 1; by < 32; by *= 2) {
        const int other = __shfl_up_sync(kEveryLane, sum, by);
        if (lane >= by) sum += other;
      }
      if (has) before[row + i + lane] = static_cast<int>(edges) + sum - mine;
      edges += __shfl_sync(kEveryLane, sum, 31);
    }
    if (lane == 0) {
      bounds[k] = {height - ups, height + downs};
      reached[k] = meeting >= 0;
      n_edges[k] = edges;
    }
    __syncwarp();
  }
}

// offsets[count + 1]: where the edges of each pair begin; edges, written.
// Launch: a thread per edge.
extern "C" __global__ void __launch_bounds__(256)
    open_paths(const long long* offsets, int count, int height, const int* steps, const int* before,
               const Bounds* bounds, const int2* origin, const int* length, int* edges) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= offsets[count]) return;
  int pair = 0;
  for (int some = count; some > 1;) {  // the last pair that begins at or before i
    const int half = some / 2;
    if (offsets[pair + half] <= i) pair += half;
    some -= half;
  }
  const long long row = 2ll * height * pair;
  int number = static_cast<int>(i - offsets[pair]);
  int at = bounds[pair].begin;
  for (int some = bounds[pair].end - at; some > 1;) {
    const int half = some / 2;
    if (before[row + at + half] <= number) at += half;
    some -= half;
  }
  number -= before[row + at];
  int step = steps[row + at];
  for (;;) {
    int2 from = origin[entry_of(step)];
    if (SIDES == 1 && (step & 1)) from = make_int2(from.y, from.x);
    if (from.x < 0) {
      edges[i] = ~from.x;
      return;
    }
    const int lower = 2 * from.x + 1, many = length[entry_of(lower)];
    if (number < many) {
      step = lower;
    } else {
      number -= many;
      step = 2 * from.y;
    }
  }
}
