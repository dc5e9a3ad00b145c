// Many sources in the lanes of warps: distances[vertex][lane], up to 32 sources per launch.
//
// The layout with the least memory per source: one 4- or 8-byte word per vertex and no other structure.
// An edge is read once for all sources; with 16 sources or fewer a warp takes several edges at a time. A
// vertex waits with a mask of the lanes that improved; the thread that sets the first bit of the mask
// queues it. One atomic on one word decides, because a mask spread over several words, each with its own
// decision, loses entries. Rounds in the manner of Bellman-Ford, all in one cooperative launch with a grid
// barrier per round. All warps share the pieces of rows of long_row edges and more, after the others.
//
// sources: count vertices, at most 2^log_lanes. distance: n rows of 2^log_lanes. mask: two arrays of n
// words, zero. queue: two of n entries. sizes: 3 counters in rotation, one read, one filled, one cleared, so
// that none is reset while a slower block still reads it, and 2 of pieces, by parity of the round.
// pieces: 3 words for each 2^log_piece edges of a long row: its place in the queue, the number of the piece,
// and the lanes that wait; null if no row is long. stats[0] edge visits, [1] rounds, [2] vertices;
// [3] the most rounds allowed, 0 afterwards when they did not suffice.
// Launch: cooperative, blocks of 256.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/warp.cuh
// requires: cuda/primitives/grid_barrier.cuh

// What a lane needs to relax a row.
struct Lanes {
  const Edge* edges;
  weight_t* distance;
  uint32* next_mask;
  vertex_t* next_queue;
  uint32* next_size;
  weight_t limit;
  int log_lanes, lane, group;  // lane: of its source; group: which of the warp's edges it takes

  __device__ weight_t* at(vertex_t v) const {
    return distance + ((static_cast<long long>(v) << log_lanes) + lane);
  }

  // Relaxes some edges of a row; all lanes of the warp take part.
  __device__ void relax(vertex_t v, uint32 waiting, offset_t begin, offset_t count) const {
    // Edges per lane whose loads do not wait for each other; more do not fit in registers.
    constexpr int kAhead = sizeof(weight_t) == 4 ? 4 : 2;
    const int groups = 32 >> log_lanes;
    const bool mine = (waiting >> lane) & 1;
    const weight_t d = load_relaxed(at(v));
    for (offset_t first = 0; first < count; first += kAhead * groups) {
      Edge edge[kAhead];
      weight_t sum[kAhead];
      bool improves[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const offset_t e = first + k * groups + group;
        improves[k] = mine && e < count;
        if (improves[k]) edge[k] = load_edge(edges, begin + e);
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (!improves[k]) continue;
        sum[k] = add_saturating(d, edge_weight(edge[k]));
        improves[k] = sum[k] < load_relaxed(at(edge[k].target)) && !(sum[k] > limit);
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (improves[k]) improves[k] = sum[k] < atomic_minimum(at(edge[k].target), sum[k]);
        const uint32 all = __ballot_sync(kAllLanes, improves[k]) >> (group << log_lanes);
        const uint32 set = log_lanes == 5 ? all : all & ((1u << (1 << log_lanes)) - 1);
        // A lane that improved queues the target; lanes that do not wait have not loaded the edge.
        if (improves[k] && lane == __ffs(set) - 1 && atomicOr(next_mask + edge[k].target, set) == 0)
          next_queue[atomicAdd(next_size, 1u)] = edge[k].target;
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(256, 4)
    lanes(const offset_t* offsets, const Edge* edges, const vertex_t* sources, int count, int log_lanes,
          long long n, weight_t limit, weight_t* distance, uint32* mask, vertex_t* queue, uint32* sizes,
          uint32* pieces, int long_row, int log_piece, uint32* barrier, uint64* stats) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long me = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int lane = lane_id();
  const long long warps = stride >> 5, warp = me >> 5;
  Lanes row{edges, distance, nullptr, nullptr, nullptr, limit, log_lanes};
  row.lane = lane & ((1 << log_lanes) - 1);
  row.group = lane >> log_lanes;
  for (long long i = me; i < n << log_lanes; i += stride) distance[i] = unreached();
  for (long long i = me; i < 2 * n; i += stride) mask[i] = 0;
  if (me < 5) sizes[me] = 0;
  const uint64 most_rounds = load_relaxed(stats + 3);
  grid_barrier(barrier);
  if (me < count) {
    const vertex_t s = sources[me];
    distance[(static_cast<long long>(s) << log_lanes) + me] = 0;
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
    const int now = round & 1;
    if (me == 0) sizes[(round + 2) % 3] = sizes[3 + (1 - now)] = 0;
    const vertex_t* waiting = queue + now * n;
    row.next_mask = mask + (1 - now) * n;
    row.next_queue = queue + (1 - now) * n;
    row.next_size = sizes + (round + 1) % 3;
    for (long long q = warp; q < entries; q += warps) {
      const vertex_t v = waiting[q];
      const uint32 lanes_now = load_relaxed(mask + now * n + v);
      __syncwarp();
      const offset_t begin = offsets[v], edges_here = offsets[v + 1] - begin;
      if (lane == 0) {
        mask[now * n + v] = 0;
        relaxed += edges_here;
        ++processed;
      }
      if (pieces == nullptr || edges_here < long_row) {
        row.relax(v, lanes_now, begin, edges_here);
        continue;
      }
      const uint32 count_here = static_cast<uint32>(((edges_here - 1) >> log_piece) + 1);
      uint32 place = 0;
      if (lane == 0) place = atomicAdd(sizes + 3 + now, count_here);
      place = __shfl_sync(kAllLanes, place, 0);
      for (uint32 i = lane; i < count_here; i += 32) {
        uint32* piece = pieces + 3ll * (place + i);
        piece[0] = static_cast<uint32>(q);
        piece[1] = i;
        piece[2] = lanes_now;
      }
    }
    grid_barrier(barrier);
    if (pieces == nullptr) continue;
    const uint32 n_pieces = load_relaxed(sizes + 3 + now);
    for (long long i = warp; i < n_pieces; i += warps) {
      const uint32* piece = pieces + 3 * i;
      const vertex_t v = waiting[load_relaxed(piece)];
      const offset_t first = static_cast<offset_t>(load_relaxed(piece + 1)) << log_piece;
      const offset_t begin = offsets[v] + first, left = offsets[v + 1] - begin, most = 1 << log_piece;
      row.relax(v, load_relaxed(piece + 2), begin, left < most ? left : most);
    }
    if (n_pieces) grid_barrier(barrier);
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
               int log_lanes, weight_t* out) {
  __shared__ weight_t tile[32][33];
  for (long long base = static_cast<long long>(blockIdx.x) * 32; base < width;
       base += static_cast<long long>(gridDim.x) * 32) {
    const int x = threadIdx.x & 31;
    __syncthreads();
    for (int y = threadIdx.x >> 5; y < 32; y += 8) {
      const long long c = base + y;
      if (c < width && x < count) tile[y][x] = distance[((columns ? columns[c] : c) << log_lanes) + x];
    }
    __syncthreads();
    for (int row = threadIdx.x >> 5; row < count; row += 8)
      if (base + x < width) out[row * width + base + x] = tile[x][row];
  }
}
