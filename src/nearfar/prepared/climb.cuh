// The climb of each source through the elimination tree: distances to all ancestors over arcs upwards.
//
// Only labels below the top of the tree hand on what they have: the distances within the top are known (top.cuh),
// so that the chain ends at the first ancestor that lies there.
//
// A warp per source. An ancestor is named by its depth, so the search space is an array in shared memory. The
// path to the root is known before any distance is: of 32 levels a lane each has the label and its arcs' place, fetched
// 32 levels before, and the arcs are copied kAhead levels before they are followed, so that no level waits for memory
// (Dibbelt, Strasser and Wagner 2016, the upper half of the elimination tree query).
//
// Arrays: node[n] by label {first arc, arcs, parent or -1, depth}; jump[6][n], the ancestors 1, 2, 4 .. 32 levels up or -1;
// arcs of the way up: head_depth and weight; label[n] of vertices; sources[count], vertices; stop[n], the depth
// of the first ancestor in the top, the label itself included, or -1 (null: there is no top); labels[pitch],
// written: those of the sources, then -1; space[height][pitch], written for depths 0 to that of the source;
// arrivals[1] of the launch behind this one, set to 0, or null.
// Dynamic shared memory: per warp a ring of arcs, then per warp `height` values. Launch: WARPS warps per block, pitch
// warps in all. Races: none; the lanes of a warp lower distances of different depths.
// requires: prepared/values.cuh
// requires: prepared/arc_ring.cuh

constexpr int kRow = 128;  // arcs of a level that are copied ahead

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    climb(const int4* node, const int* jump, int n, const int* head_depth, const value_t* weight,
          const int* label, const long long* sources, int count, const int* stop, int* labels,
          value_t* space, long long pitch, int height, uint32* arrivals) {
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  ArcRing<kRow> ring(memory + warp * ArcRing<kRow>::kBytes);
  value_t* const mine = reinterpret_cast<value_t*>(memory + WARPS * ArcRing<kRow>::kBytes) + warp * height;
  const int k = blockIdx.x * WARPS + warp;
  if (k >= pitch) return;
  const int from = k < count ? label[sources[k]] : -1;
  if (lane == 0) labels[k] = from;
  if (k == 0 && lane == 0 && arrivals != nullptr) *arrivals = 0;
  if (from < 0) return;
  const int top = node[from].w;
  const int levels = top - (stop == nullptr ? -1 : stop[from]);  // that hand on what they have
  int at = from;  // the label `lane` levels up, then 32 more
#pragma unroll
  for (int b = 0; b < 5; ++b)
    if (lane >> b & 1 && at >= 0) at = jump[static_cast<long long>(b) * n + at];
  auto up = [&](int v) { return v >= 0 ? jump[5ll * n + v] : -1; };
  auto look = [&](int v) { return v >= 0 ? *reinterpret_cast<const int2*>(node + v) : make_int2(0, 0); };
  int2 now = look(at);  // first arc, arcs
  at = up(at);
  int2 later = look(at);
  for (int i = lane; i <= top; i += 32) mine[i] = i == top ? value_t(0) : far_value();
  auto issue = [&](int level, int base) {
    const int2 whose = level - base < 32 ? now : later;
    const int first = __shfl_sync(0xffffffffu, whose.x, level & 31);
    const int arcs = level < levels ? __shfl_sync(0xffffffffu, whose.y, level & 31) : 0;
    ring.issue(level, head_depth, weight, first, arcs);
  };
#pragma unroll
  for (int level = 0; level < kAhead - 1; ++level) issue(level, 0);
  for (int base = 0; base < levels; base += 32) {
    for (int level = base; level < min(levels, base + 32); ++level) {
      ring.wait();
      issue(level + kAhead - 1, base);
      const value_t d = mine[top - level];
      const int arcs = __shfl_sync(0xffffffffu, now.y, level & 31);
      if (d < far_value()) {
        const int slot = level % kAhead * kRow;
#pragma unroll
        for (int first = 0; first < kRow; first += 32) {
          if (first >= arcs) break;
          const int j = first + lane;
          if (j < arcs) {
            value_t& known = mine[ring.depths[slot + j]];
            known = add_min(d, ring.weights[slot + j], known);
          }
        }
        const int begin = __shfl_sync(0xffffffffu, now.x, level & 31);
        for (int j = kRow + lane; j < arcs; j += 32) {
          value_t& known = mine[head_depth[begin + j]];
          known = add_min(d, weight[begin + j], known);
        }
      }
    }
    now = later;
    at = up(at);
    later = look(at);
  }
  __syncwarp();
  for (int i = lane; i <= top; i += 32) space[static_cast<long long>(i) * pitch + k] = mine[i];
}
