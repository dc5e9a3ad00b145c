// Many sources, one thread block per source, with all state in shared memory.
//
// A block takes the next source from a counter, solves it with near-far ordering (Davidson et al.
// 2014, section V.C) and writes the row. Distances are an array of 16, 32 or 64 bits in shared
// memory; near set, next near set and far pile are bitmaps, so a vertex is in each at most once and
// pushing is one atomicOr. No other memory is written before the row, so a step costs two block
// barriers and the reads of the edges. 227 KiB hold 97,000 vertices of 16 bits, 52,000 of 32 or
// 27,000 of 64.
//
// A warp takes THICK_WORDS words of the near bitmap per turn if the last step was busy, else 32.
// Each lane has an equal share of their bits and takes one vertex per round, so that up to 32 rows
// are in flight even when few bits are set. Long rows are shared by all lanes with 4 edges in
// flight; up to 32 short ones share the lanes by a prefix sum. LISTS: a turn's vertices are first
// listed in shared memory, so that 32 rows are in flight wherever the bits are, and the next turn
// comes from a counter, because one long row can keep a warp busy for many turns of the others.
//
// A target with the sign bit set is a dead end (dead_ends.py): its distance is lowered, and it is
// never pushed, because its edges improve nothing.
//
// Rows: out[places[row]][column] (row itself if places is null), all vertices, or the `n_columns`
// listed; sources[row], or first + row if null. Slots narrower than the weights (`check`):
// overflow[row] = 1 when a path may have been cut off (far + heaviest >= cap); the host repeats
// those rows wider. Work counters: stats[0] edges, [1] steps, [2] vertices; [3] the steps that a
// row may take, 0 afterwards when one took more. told[row], host memory or null: set to 1 when the
// row is finished. With FIGURES, figures[3][all_rows]: count, sum and maximum of the row, at
// places[row].
// Races: a distance read from a slot may be lowered by another warp in the same step; that warp
// then sets the vertex's bit in the next bitmap, and the vertex is processed again.
// Launch: blocks of BLOCK_THREADS, as many as are resident (BLOCKS_EACH per multiprocessor);
// dynamic shared memory: slots rounded up to 4 bytes, then 3 bitmaps of (n + 31) / 32 words, and
// with LISTS 8 bytes per thread.
// requires: algorithms/batched/block_distance.cuh
// requires: cuda/primitives/spread_rows.cuh

#ifndef LISTS
#define LISTS 0
#endif
constexpr int kListed = 128;  // vertices that a warp lists at once

// One step's relaxations into the bitmaps.
struct Step {
  const offset_t* offsets;
  const Edge* edges;
  slot_t* distance;
  uint32* next;  // pushed: nearer than threshold
  uint32* far;   // pushed: the others
  value_t threshold;

  __device__ __forceinline__ void operator()(const Edge& edge, value_t from) const {
    const value_t sum = extend(from, edge);
    const int target = edge.target & 0x7fffffff;
    if (!lower(distance, target, sum) || edge.target < 0) return;
    uint32* bitmap = sum < threshold ? next : far;
    atomicOr(bitmap + (target >> 5), 1u << (target & 31));
  }

  // Relaxes one vertex per lane, -1 for none; called by full warps. Returns this lane's edges.
  __device__ __forceinline__ uint32 relax_vertices(int v) const {
    value_t d = 0;
    offset_t begin = 0;
    int degree = 0;
    if (v >= 0) {
      begin = offsets[v];
      degree = static_cast<int>(offsets[v + 1] - begin);
      d = *const_cast<volatile slot_t*>(distance + v);
    }
    return spread_rows<SLOT_BITS == 16>(edges, begin, degree, d, *this);
  }
};

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, BLOCKS_EACH)
    block_per_source(const offset_t* offsets, const Edge* edges, const long long* sources,
                     const long long* places, long long first, long long rows,
                     const long long* columns, long long n_columns, weight_t* out, int n,
                     value_t delta, value_t cap, value_t heaviest, int check, int* counter,
                     int* overflow, uint64* stats, unsigned char* told, uint64* figures, long long all_rows) {
  extern __shared__ __align__(16) uint32 memory[];
  __shared__ int row_now;
#if LISTS
  __shared__ int turns[2];
#endif
  __shared__ uint64 most_steps;
  __shared__ value_t least, farthest;
#if FIGURES
  __shared__ RowFigures whole;
#endif
  const int words = (n + 31) / 32;
  const int slot_words = static_cast<int>((static_cast<long long>(n) * sizeof(slot_t) + 3) / 4);
  slot_t* distance = reinterpret_cast<slot_t*>(memory);
  uint32* near = memory + slot_words;
  uint32* next = near + words;
  uint32* far = next + words;
  const int lane = lane_id(), warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
#if LISTS
  unsigned short* list = reinterpret_cast<unsigned short*>(far + words) + warp * kListed;
#endif
  uint64 relaxed = 0, steps = 0, processed = 0;
  for (;;) {
    next_row(counter, stats, &row_now, &most_steps);
    const long long row = row_now;
    if (row >= rows) break;
    const int source = static_cast<int>(sources ? sources[row] : first + row);
    near = memory + slot_words;  // the previous row may have left the two swapped
    next = near + words;
    for (int v = threadIdx.x; v < n; v += blockDim.x) distance[v] = static_cast<slot_t>(cap);
    for (int w = threadIdx.x; w < 3 * words; w += blockDim.x) near[w] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
      distance[source] = 0;
      near[source >> 5] = 1u << (source & 31);
      least = kNone;
      farthest = 0;
#if FIGURES
      whole = {0, 0, 0};
#endif
#if LISTS
      turns[0] = warps;  // the first turn of each warp is its own number
#endif
    }
    __syncthreads();
    value_t threshold = widen(0, delta, cap);
    bool thick = false;
    for (uint64 here = 0;; ++here) {
      if (here >= most_steps) {  // watchdog: the host reads 0 and raises
        if (threadIdx.x == 0) atomicExch(stats + 3, uint64(0));
        break;
      }
      ++steps;
      int active = 0;
      const Step step{offsets, edges, distance, next, far, threshold};
      const int span = thick ? THICK_WORDS : 32, share = 32 / span;  // words per turn, lanes per word
#if LISTS
      if (threadIdx.x == 0) turns[(here + 1) & 1] = warps;  // of the next step; no thread reads it in this one
#endif
      for (int base = warp * span, turn = 0; base < words; base = turn) {
        const int mine = base + lane / share, low = lane % share * span;
        uint32 bits = mine < words ? near[mine] : 0;
        __syncwarp();
        if (bits && low == 0) near[mine] = 0;
        if (span < 32) bits = (bits >> low) & ((1u << span) - 1);
        active += __popc(bits);
#if LISTS
        const int first = mine * 32 + low;
        if (!__any_sync(kAllLanes, bits & (bits - 1))) {
          if (__any_sync(kAllLanes, bits != 0))
            relaxed += step.relax_vertices(bits ? first + __ffs(bits) - 1 : -1);
          bits = 0;
        }
        while (__any_sync(kAllLanes, bits != 0)) {
          const int upto = warp_inclusive_sum(__popc(bits));
          const int all = __shfl_sync(kAllLanes, upto, 31), count = all < kListed ? all : kListed;
          for (int at = upto - __popc(bits); bits && at < kListed; ++at, bits &= bits - 1)
            list[at] = static_cast<unsigned short>(first - base * 32 + __ffs(bits) - 1);
          __syncwarp();
          for (int at = lane; at - lane < count; at += 32)
            relaxed += step.relax_vertices(at < count ? base * 32 + list[at] : -1);
          __syncwarp();
        }
        if (lane == 0) turn = atomicAdd(&turns[here & 1], 1);
        turn = __shfl_sync(kAllLanes, turn, 0) * span;
#else
        while (__any_sync(kAllLanes, bits != 0)) {
          const int v = bits ? mine * 32 + low + __ffs(bits) - 1 : -1;
          bits &= bits - 1;
          relaxed += step.relax_vertices(v);
        }
        turn = base + warps * span;
#endif
      }
      processed += active;
      uint32* swap = near;
      near = next;
      next = swap;
      const int busy = __syncthreads_count(active);
      if (busy) {
        thick = busy * 8 > static_cast<int>(blockDim.x);
        continue;
      }
      // The near set is empty: the least distance of the far pile sets the next threshold. Entries
      // below the old threshold have been processed in the near set.
      const value_t low = threshold;
      value_t nearest = kNone;
      for (int w = warp; w < words; w += warps) {
        const uint32 bits = far[w];
        if (bits == 0) continue;
        if ((bits >> lane) & 1) {
          const value_t d = distance[w * 32 + lane];
          if (d >= low && d < nearest) nearest = d;
        }
      }
      nearest = warp_min(nearest);
      if (lane == 0 && nearest != kNone) atomicMin(&least, nearest);
      __syncthreads();
      const value_t from = least;
      __syncthreads();
      if (from == kNone) break;
      if (threadIdx.x == 0) least = kNone;
      threshold = widen(from, delta, cap);
      for (int w = warp; w < words; w += warps) {
        const uint32 bits = far[w];
        if (bits == 0) continue;
        const bool mine = (bits >> lane) & 1;
        const value_t d = mine ? static_cast<value_t>(distance[w * 32 + lane]) : 0;
        const uint32 now =
            __ballot_sync(kAllLanes, mine && d >= low && (d < threshold || d == from));
        const uint32 later = __ballot_sync(kAllLanes, mine && d >= threshold && d != from);
        if (lane == 0) {
          near[w] = now;
          far[w] = later;
        }
      }
      thick = false;
      __syncthreads();
    }
    __syncthreads();
    value_t most = 0;
    const long long place = places ? places[row] : row;
    if (columns == nullptr) {
      weight_t* to = out + place * n;
      Seen seen;
      for (int v = threadIdx.x; v < n; v += blockDim.x) {
        const value_t d = distance[v];
        to[v] = as_weight(d, cap);
        seen.look(d, cap);
        if (d < cap && d > most) most = d;
      }
#if FIGURES
      seen.join(&whole, most);
      __syncthreads();
      if (threadIdx.x == 0) whole.leave(figures, all_rows, place);
#endif
    } else {
      weight_t* to = out + place * n_columns;
      for (long long c = threadIdx.x; c < n_columns; c += blockDim.x)
        to[c] = as_weight(distance[columns[c]], cap);
      for (int v = threadIdx.x; check && v < n; v += blockDim.x) {
        const value_t d = distance[v];
        if (d < cap && d > most) most = d;
      }
    }
    if (check) {
      atomicMax(&farthest, most);
      __syncthreads();
      if (threadIdx.x == 0 && cap - farthest <= heaviest) overflow[row] = 1;
    }
    tell(told, row);
  }
  add_work(stats, relaxed, steps, processed);
}
