// The climb of each source through the elimination tree: distances to all ancestors over upward
// arcs.
//
// Only labels below the top of the tree relax their arcs: the distances within the top are known
// (upper.cuh), so the chain ends at the first ancestor in the top.
//
// One warp per source. An ancestor is identified by its depth, so the search space is an array in
// shared memory. The path to the root is known before any distance: labels are fetched kAhead
// levels ahead over `jump`, their nodes kNodes levels and their arcs kArcs levels ahead, so that no
// level waits for memory (Dibbelt, Strasser and Wagner 2016, the upper half of the elimination tree
// query).
//
// Arrays: node[n] by label {first arc, arcs, parent or -1, depth}; jump[n], the ancestor kAhead
// levels up or -1; upward arcs: head_depth and weight; label[n] of vertices; sources[count],
// vertices; stop[n], the depth of the first ancestor in the top, the label itself included, or -1
// (null: there is no top); labels[pitch], written: those of the sources, then -1; with `unit` > 0
// in the order of column_order.cuh for that many adjacent columns; space[height][pitch], written
// for depths 0 to that of the source. Dynamic shared memory: `height` values per warp. Launch:
// WARPS warps per block, pitch warps in all.
// Races: none; the lanes of a warp lower distances of different depths.
// requires: prepared/cuda/values.cuh
// requires: prepared/cuda/column_order.cuh

constexpr int kAhead = 16, kNodes = 8, kArcs = 4;
constexpr int kBatch = BATCH;  // arcs per lane that are fetched together

struct Ways {
  int to[kBatch];
  value_t weight[kBatch];
};

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    climb(const int4* node, const int* jump, const int* head_depth, const value_t* weight,
          const int* label, const long long* sources, int count, int unit, const int* stop, int* labels,
          value_t* space, long long pitch, int height) {
  extern __shared__ __align__(16) value_t spaces[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  value_t* const mine = spaces + warp * height;
  const int k = blockIdx.x * WARPS + warp;
  if (k >= pitch) return;
  const long long number = unit > 0 ? source_of_column(k, unit) : k;
  const int from = number < count ? label[sources[number]] : -1;
  if (lane == 0) labels[k] = from;
  if (from < 0) return;
  const int until = stop == nullptr ? -1 : stop[from];
  int path[kAhead];  // labels, -1 above the root
  int2 nodes[kNodes];  // first arc, arcs
  Ways ways[kArcs];
  path[0] = from;
#pragma unroll
  for (int i = 1; i < kAhead; ++i) path[i] = path[i - 1] >= 0 ? node[path[i - 1]].z : -1;
  auto look = [&](int at) { return at >= 0 ? *reinterpret_cast<const int2*>(node + at) : make_int2(0, 0); };
#pragma unroll
  for (int i = 0; i < kNodes; ++i) nodes[i] = look(path[i]);
  auto fetch = [&](const int2& at, int begin, Ways& found) {
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const int j = begin + 32 * u + lane;
      const bool has = j < at.y;
      found.to[u] = has ? head_depth[at.x + j] : -1;
      found.weight[u] = has ? weight[at.x + j] : far_value();
    }
  };
  auto relax = [&](const Ways& found, value_t d) {
    value_t known[kBatch];  // all loaded before the first is lowered: heads are distinct
#pragma unroll
    for (int u = 0; u < kBatch; ++u) known[u] = found.to[u] >= 0 ? mine[found.to[u]] : value_t(0);
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
      if (found.to[u] >= 0) mine[found.to[u]] = add_min(d, found.weight[u], known[u]);
  };
#pragma unroll
  for (int i = 0; i < kArcs; ++i) fetch(nodes[i], 0, ways[i]);
  const int top = node[from].w;
  for (int i = lane; i <= top; i += 32) mine[i] = i == top ? value_t(0) : far_value();
  __syncwarp();
  // Rounds have no early exit, which would move the loads in flight and so wait for them.
  const int levels = top - until;
  for (int level = 0; level < levels; level += kAhead) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int2 now = nodes[i % kNodes];
      const Ways first = ways[i % kArcs];
      fetch(nodes[(i + kArcs) % kNodes], 0, ways[i % kArcs]);
      nodes[i % kNodes] = look(path[(i + kNodes) % kAhead]);
      path[i] = path[i] >= 0 ? jump[path[i]] : -1;
      const value_t d = level + i < levels ? mine[top - level - i] : far_value();
      if (d < far_value()) {
        relax(first, d);
        for (int j = 32 * kBatch; j < now.y; j += 32 * kBatch) {
          Ways beyond;
          fetch(now, j, beyond);
          relax(beyond, d);
        }
      }
      __syncwarp();
    }
  }
  for (int i = lane; i <= top; i += 32) space[static_cast<long long>(i) * pitch + k] = mine[i];
}
