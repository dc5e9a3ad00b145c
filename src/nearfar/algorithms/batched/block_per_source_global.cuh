// Many sources, one thread block each, with distances in global memory: for graphs beyond shared
// memory.
//
// The loop of block_per_source.cuh with two changes. Distances are in a slice of `scratch`, one per
// block, read with loads that bypass L1 and lowered by atomics. The near set is a compact queue in
// shared memory, so a thin frontier costs its length instead of a scan of a bitmap; the far pile is
// a bitmap (in shared memory where it fits, else global), scanned only when the near queue is
// empty.
//
// A queue entry is a vertex with the distance it was pushed with; an entry whose vertex is nearer
// by now is stale and dropped, so no flags are kept. Few entries are spread over all warps
// (vertices per warp = entries / warps, 1 to 32), so that all reads of a step overlap. Entries that
// do not fit the queue are marked in the far pile instead, and the next split takes entries from
// distance 0 on: some work is repeated, but nothing is lost.
//
// SLOT_BITS is 32 or 64. Arrays, rows, dead ends, stats, told and figures as in
// block_per_source.cuh; scratch: gridDim.x slices of n distances; far_global: gridDim.x slices of
// (n + 31) / 32 words, or null to keep it in shared memory. Dynamic shared memory: 2 queues of
// `capacity` entries of 8 (64 bits: 16) bytes, then the far bitmap unless it is global.
// Launch: blocks of BLOCK_THREADS, as many as are resident (BLOCKS_EACH per multiprocessor).
// requires: algorithms/batched/block_distance.cuh
// requires: cuda/primitives/spread_rows.cuh
// requires: cuda/primitives/memory.cuh

struct Entry {
  int vertex;
  value_t distance;
};

struct QueueStep {
  value_t* distance;
  Entry* queue;
  int* size;
  int capacity;
  uint32* far;
  int* spilled;
  value_t threshold;

  __device__ __forceinline__ void operator()(const Edge& edge, value_t from) const {
    const value_t sum = extend(from, edge);
    const int target = edge.target & 0x7fffffff;
    value_t* slot = distance + target;
    if (sum >= load_relaxed(slot) || sum >= atomicMin(slot, sum) || edge.target < 0) return;
    if (sum < threshold) {
      const int at = atomicAdd(size, 1);
      if (at < capacity) {
        queue[at] = Entry{target, sum};
        return;
      }
      *spilled = 1;
    }
    atomicOr(far + (target >> 5), 1u << (target & 31));
  }
};

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    block_per_source_global(const offset_t* offsets, const Edge* edges, const long long* sources,
                            const long long* places, long long first, long long rows,
                            const long long* columns, long long n_columns, weight_t* out, int n,
                            value_t delta, value_t cap, value_t* scratch, uint32* far_global,
                            int capacity, int* counter, uint64* stats, unsigned char* told,
                            uint64* figures, long long all_rows) {
  extern __shared__ __align__(16) Entry queues[];
  __shared__ int row_now, size[2], spilled;
  __shared__ uint64 most_steps;
  __shared__ value_t least;
#if FIGURES
  __shared__ RowFigures whole;
#endif
  const int words = (n + 31) / 32;
  value_t* distance = scratch + static_cast<size_t>(blockIdx.x) * n;
  uint32* far = far_global ? far_global + static_cast<size_t>(blockIdx.x) * words
                           : reinterpret_cast<uint32*>(queues + 2 * capacity);
  const int lane = lane_id(), warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  uint64 relaxed = 0, steps = 0, processed = 0;
  for (;;) {
    next_row(counter, stats, &row_now, &most_steps);
    const long long row = row_now;
    if (row >= rows) break;
    const int source = static_cast<int>(sources ? sources[row] : first + row);
    for (int v = threadIdx.x; v < n; v += blockDim.x) distance[v] = v == source ? value_t(0) : cap;
    for (int w = threadIdx.x; w < words; w += blockDim.x) far[w] = 0;
    if (threadIdx.x == 0) {
      queues[0] = Entry{source, 0};
      size[0] = 1;
      size[1] = 0;
      spilled = 0;
      least = kNone;
#if FIGURES
      whole = {0, 0, 0};
#endif
    }
    __syncthreads();
    value_t threshold = widen(0, delta, cap);
    int now = 0;
    for (uint64 here = 0;; ++here) {
      if (here >= most_steps) {  // watchdog: the host reads 0 and raises
        if (threadIdx.x == 0) atomicExch(stats + 3, uint64(0));
        break;
      }
      const int entries = size[now] < capacity ? size[now] : capacity;
      if (entries > 0) {
        ++steps;
        const Entry* queue = queues + now * capacity;
        const QueueStep step{
            distance, queues + (1 - now) * capacity, size + (1 - now), capacity, far, &spilled,
            threshold};
        int each = (entries + warps - 1) / warps;
        each = each > 32 ? 32 : each;
        for (int base = warp * each; base < entries; base += warps * each) {
          offset_t begin = 0;
          int degree = 0;
          value_t d = 0;
          if (lane < each && base + lane < entries) {
            const Entry entry = queue[base + lane];
            begin = offsets[entry.vertex];
            const offset_t end = offsets[entry.vertex + 1];
            d = entry.distance;
            if (load_relaxed(distance + entry.vertex) == d) {
              degree = static_cast<int>(end - begin);
              ++processed;
            }
          }
          relaxed += spread_rows<false>(edges, begin, degree, d, step);
        }
        __syncthreads();
        if (threadIdx.x == 0) size[now] = 0;
        now = 1 - now;
        __syncthreads();
        continue;
      }
      // Split: the least distance of the far pile sets the next threshold.
      const value_t low = spilled ? value_t(0) : threshold;
      value_t nearest = kNone;
      for (int w = warp; w < words; w += warps) {
        const uint32 bits = far[w];
        if (bits == 0) continue;
        if ((bits >> lane) & 1) {
          const value_t d = load_relaxed(distance + w * 32 + lane);
          if (d >= low && d < nearest) nearest = d;
        }
      }
      nearest = warp_min(nearest);
      if (lane == 0 && nearest != kNone) atomicMin(&least, nearest);
      __syncthreads();
      const value_t from = least;
      __syncthreads();
      if (from == kNone) break;
      if (threadIdx.x == 0) {
        least = kNone;
        spilled = 0;
      }
      threshold = widen(from, delta, cap);
      __syncthreads();
      for (int w = warp; w < words; w += warps) {
        const uint32 bits = far[w];
        if (bits == 0) continue;
        bool mine = (bits >> lane) & 1;
        const value_t d = mine ? load_relaxed(distance + w * 32 + lane) : 0;
        mine = mine && d >= low;
        bool take = mine && (d < threshold || d == from);
        if (take) {
          const int at = atomicAdd(size + now, 1);
          if (at < capacity) {
            queues[now * capacity + at] = Entry{w * 32 + lane, d};
          } else {
            spilled = 1;
            take = false;
          }
        }
        const uint32 later = __ballot_sync(kAllLanes, mine && !take);
        if (lane == 0) far[w] = later;
      }
      __syncthreads();
    }
    __syncthreads();
    const long long width = columns ? n_columns : n, place = places ? places[row] : row;
    weight_t* to = out + place * width;
    Seen seen;
    value_t most = 0;
    for (long long c = threadIdx.x; c < width; c += blockDim.x) {
      const value_t d = load_relaxed(distance + (columns ? columns[c] : c));
      to[c] = as_weight(d, cap);
      seen.look(d, cap);
      if (FIGURES && d < cap && d > most) most = d;
    }
#if FIGURES
    seen.join(&whole, most);
    __syncthreads();
    if (threadIdx.x == 0) whole.leave(figures, all_rows, place);
#endif
    tell(told, row);
  }
  add_work(stats, relaxed, steps, processed);
}
