// Many sources in the lanes of warps: distances[vertex][lane], 32 sources per launch.
//
// The layout with the least memory per source: one 4- or 8-byte word per vertex and no other structure.
// An edge is read once for all 32 sources. A vertex waits with a mask of the lanes that improved; the
// thread that sets the first bit of the mask queues it. One atomic on one word decides, because a mask
// spread over several words, each with its own decision, loses entries. Rounds in the manner of
// Bellman-Ford, all in one cooperative launch with a grid barrier per round.
//
// sources: count (at most 32) vertices. distance: n rows of 32. mask: two arrays of n words, zero. queue: two of
// n entries. sizes: 3 counters in rotation, one read, one filled, one cleared, so that none is reset while a
// slower block still reads it. stats[0] edge visits, [1] rounds, [2] vertices;
// [3] the most rounds allowed, 0 afterwards when they did not suffice.
// Launch: cooperative, blocks of 256.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/warp.cuh
// requires: cuda/primitives/grid_barrier.cuh

extern "C" __global__ void __launch_bounds__(256, 4)
    lanes(const offset_t* offsets, const Edge* edges, const vertex_t* sources, int count, long long n,
          weight_t limit, weight_t* distance, uint32* mask, vertex_t* queue, uint32* sizes, uint32* barrier,
          uint64* stats) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long me = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int lane = lane_id();
  const long long warps = stride >> 5, warp = me >> 5;
  for (long long i = me; i < n * 32; i += stride) distance[i] = unreached();
  for (long long i = me; i < 2 * n; i += stride) mask[i] = 0;
  if (me < 3) sizes[me] = 0;
  const uint64 most_rounds = load_relaxed(stats + 3);
  grid_barrier(barrier);
  if (me < count) {
    const vertex_t s = sources[me];
    distance[static_cast<long long>(s) * 32 + me] = 0;
    if (atomicOr(mask + s, 1u << me) == 0) queue[atomicAdd(sizes, 1u)] = s;
  }
  grid_barrier(barrier);
  uint64 relaxed = 0, processed = 0;
  uint32 round = 0;
  for (;; ++round) {
    if (round >= most_rounds) {  // watchdog: the host reads 0 and raises
      if (me == 0) stats[3] = 0;
      break;
    }
    const uint32 entries = load_relaxed(sizes + round % 3);
    if (entries == 0) break;
    if (me == 0) sizes[(round + 2) % 3] = 0;
    const int now = round & 1;
    uint32* next_mask = mask + (1 - now) * n;
    vertex_t* next_queue = queue + (1 - now) * n;
    for (long long q = warp; q < entries; q += warps) {
      const vertex_t v = queue[now * n + q];
      const uint32 lanes_now = load_relaxed(mask + now * n + v);
      __syncwarp();
      if (lane == 0) mask[now * n + v] = 0;
      const weight_t d = load_relaxed(distance + static_cast<long long>(v) * 32 + lane);
      const bool mine = (lanes_now >> lane) & 1;
      const offset_t end = offsets[v + 1];
      if (lane == 0) {
        relaxed += end - offsets[v];
        ++processed;
      }
      for (offset_t e = offsets[v]; e < end; ++e) {
        const Edge edge = load_edge(edges, e);
        weight_t* to = distance + static_cast<long long>(edge.target) * 32 + lane;
        const weight_t sum = add_saturating(d, edge_weight(edge));
        bool improved = mine && sum < load_relaxed(to) && !(sum > limit);
        if (improved) improved = sum < atomic_minimum(to, sum);
        const uint32 set = __ballot_sync(kAllLanes, improved);
        if (set && lane == 0 && atomicOr(next_mask + edge.target, set) == 0)
          next_queue[atomicAdd(sizes + (round + 1) % 3, 1u)] = edge.target;
      }
    }
    grid_barrier(barrier);
  }
  if (lane == 0 && processed) {
    atomicAdd(&stats[0], relaxed);
    atomicAdd(&stats[2], processed);
  }
  if (me == 0) stats[1] += round;
}

// Writes out[row][column] from distance[column][row]: all vertices, or the columns listed.
extern "C" __global__ void __launch_bounds__(256, 4)
    lanes_rows(const weight_t* distance, const long long* columns, long long width, int count,
               weight_t* out) {
  __shared__ weight_t tile[32][33];
  for (long long base = static_cast<long long>(blockIdx.x) * 32; base < width;
       base += static_cast<long long>(gridDim.x) * 32) {
    const int x = threadIdx.x & 31;
    __syncthreads();
    for (int y = threadIdx.x >> 5; y < 32; y += 8) {
      const long long c = base + y;
      if (c < width) tile[y][x] = distance[(columns ? columns[c] : c) * 32 + x];
    }
    __syncthreads();
    for (int row = threadIdx.x >> 5; row < count; row += 8)
      if (base + x < width) out[row * width + base + x] = tile[x][row];
  }
}
