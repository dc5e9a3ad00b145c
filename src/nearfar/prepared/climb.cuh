// The climb of each source through the elimination tree: distances to all ancestors over arcs upwards.
//
// A warp per source. An ancestor is named by its depth, so the search space is an array in shared memory. The
// path to the root is known before any distance is: the next vertices and their arcs are under way while one is
// worked on (Dibbelt, Strasser and Wagner 2016, the upper half of the elimination tree query).
//
// Arrays: node[n] by label {first arc, arcs, parent or -1, depth}; arcs of the way up: head_depth and weight;
// label[n] of vertices; sources[count], vertices; labels[pitch], written: those of the sources, then -1;
// space[height][pitch], written for depths 0 to that of the source.
// Dynamic shared memory: `height` values per warp. Launch: WARPS warps per block, pitch warps in all.
// Races: none; the lanes of a warp lower distances of different depths.
// requires: prepared/values.cuh

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    climb(const int4* node, const int* head_depth, const value_t* weight, const int* label,
          const long long* sources, int count, int* labels, value_t* space, long long pitch,
          int height) {
  extern __shared__ __align__(16) value_t spaces[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  value_t* const mine = spaces + warp * height;
  const int k = blockIdx.x * WARPS + warp;
  if (k >= pitch) return;
  const int from = k < count ? label[sources[k]] : -1;
  if (lane == 0) labels[k] = from;
  if (from < 0) return;
  const int4 none = make_int4(0, 0, -1, -1);
  int4 now = node[from];
  const int top = now.w;
  for (int i = lane; i <= top; i += 32) mine[i] = i == top ? value_t(0) : far_value();
  __syncwarp();
  int4 next = now.z >= 0 ? node[now.z] : none;
  int4 after = next.z >= 0 ? node[next.z] : none;
  bool has = lane < now.y;
  int to = has ? head_depth[now.x + lane] : 0;
  value_t way = has ? weight[now.x + lane] : far_value();
  bool has_next = lane < next.y;
  int to_next = has_next ? head_depth[next.x + lane] : 0;
  value_t way_next = has_next ? weight[next.x + lane] : far_value();
  for (;;) {
    const int4 later = after.z >= 0 ? node[after.z] : none;
    const bool has_after = lane < after.y;
    const int to_after = has_after ? head_depth[after.x + lane] : 0;
    const value_t way_after = has_after ? weight[after.x + lane] : far_value();
    const value_t d = mine[now.w];
    if (d < far_value()) {
      if (has) mine[to] = add_min(d, way, mine[to]);
      for (int j = lane + 32; j < now.y; j += 32) {
        const int there = head_depth[now.x + j];
        mine[there] = add_min(d, weight[now.x + j], mine[there]);
      }
    }
    __syncwarp();
    if (now.z < 0) break;
    now = next;
    next = after;
    after = later;
    has = has_next;
    to = to_next;
    way = way_next;
    has_next = has_after;
    to_next = to_after;
    way_next = way_after;
  }
  for (int i = lane; i <= top; i += 32) space[static_cast<long long>(i) * pitch + k] = mine[i];
}
