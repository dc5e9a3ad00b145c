// bounded@cuda: vertices within a limit of each source, one block per source, all in shared memory.
//
// A block keeps its known distances in a hash table of SLOTS places and relaxes the vertices that
// improved in the previous round, until none does. Sums are those along a path from the source, and
// the least is kept, so the order of rounds and threads does not change a bit. A search that
// reaches more than three quarters of SLOTS vertices, or takes too many rounds, is abandoned: its
// count is -1, and the host searches from that source.
//
// MODE 0: number of vertices reached and the greatest distance. MODE 1: also the vertices and
// distances, in order of distance, then vertex, from starts[k] on, which follows from the counts of
// an earlier launch. MODE 2: dense rows, out[count][n]. MODE 3: aggregates of values on the
// vertices, added in order of vertex.
// Macros: those of types.cuh with 32-bit vertices; SLOTS, a power of two up to 2^15; LOG_SLOTS;
// THREADS, whole warps; LANES_EACH, the threads that share a row, a power of two up to 32; MODE.
//
// Arrays: sources; which[count], positions of those to search from, or null for the first ones; for
// each source counts, greatest; stats[0] edges, [1] rounds, [2] vertices. Values: rows place[v] to
// place[v + 1] of values[][width], NaN for none; sums, shares, least, most: [count][width].
// Launch: THREADS threads, any grid; blocks take every gridDim.x-th source.
// Races: a distance may fall while a thread relaxes from it; the thread that lowers it queues the
// vertex again.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/distance.cuh

constexpr int kThreads = THREADS;
constexpr uint32 kMost = SLOTS / 4 * 3;
constexpr int kFree = -1;
constexpr unsigned short kPad = 0xffff;

struct Table {
  int keys[SLOTS];
  weight_t far[SLOTS];
  uint32 marks[SLOTS];  // the last round whose queue a vertex is in
  unsigned short queue[2][SLOTS];
  uint32 sizes[3];  // round r reads r % 3, fills r + 1, clears r + 2
  uint32 used, listed;
  int source;
};

// Returns the place of a vertex, inserted if missing; -1 if the table is too full.
__device__ __forceinline__ int place_of(Table& table, int v) {
  uint32 at = (static_cast<uint32>(v) * 2654435761u) >> (32 - LOG_SLOTS);
  for (int tries = 0; tries < SLOTS; ++tries, at = (at + 1) & (SLOTS - 1)) {
    int key = *static_cast<volatile int*>(&table.keys[at]);
    if (key == kFree) {
      key = atomicCAS(&table.keys[at], kFree, v);
      if (key == kFree) return atomicAdd(&table.used, 1u) >= kMost ? -1 : static_cast<int>(at);
    }
    if (key == v) return static_cast<int>(at);
  }
  return -1;
}

// Called by all threads; returns true if all vertices within the limit were found.
__device__ bool search(Table& table, const offset_t* offsets, const Edge* edges, int source, weight_t limit,
                       uint64& relaxed, uint32& rounds) {
  for (int i = threadIdx.x; i < SLOTS; i += kThreads) {
    table.keys[i] = kFree;
    table.far[i] = unreached();
    table.marks[i] = 0;
  }
  if (threadIdx.x < 3) table.sizes[threadIdx.x] = threadIdx.x == 0;
  if (threadIdx.x == 0) table.used = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    const int at = place_of(table, source);
    table.source = source;
    table.far[at] = 0;
    table.queue[0][0] = static_cast<unsigned short>(at);
  }
  const int lane = threadIdx.x % LANES_EACH;
  for (uint32 round = 0;; ++round) {
    __syncthreads();
    const uint32 entries = table.sizes[round % 3];
    const bool full = table.used > kMost || round > kMost;
    __syncthreads();
    rounds = round;
    if (full) return false;
    if (entries == 0) return true;
    if (threadIdx.x == 0) table.sizes[(round + 2) % 3] = 0;
    for (uint32 q = threadIdx.x / LANES_EACH; q < entries; q += kThreads / LANES_EACH) {
      const int from = table.queue[round & 1][q];
      const int v = table.keys[from];
      const weight_t d = *static_cast<volatile weight_t*>(&table.far[from]);
      const offset_t begin = offsets[v], end = offsets[v + 1];
      if (lane == 0) relaxed += end - begin;
      for (offset_t e = begin + lane; e < end; e += LANES_EACH) {
        const Edge edge = load_edge(edges, e);
        const weight_t sum = add_saturating(d, edge_weight(edge));
        if (!(sum <= limit)) continue;
        const int at = place_of(table, edge.target);
        if (at < 0) break;
        if (sum < atomic_minimum(&table.far[at], sum) && atomicExch(&table.marks[at], round + 1) != round + 1)
          table.queue[(round + 1) & 1][atomicAdd(&table.sizes[(round + 1) % 3], 1u)] =
              static_cast<unsigned short>(at);
      }
    }
  }
}

// Called by all threads; writes the places in use to queue[0], in any order.
__device__ uint32 list_places(Table& table) {
  if (threadIdx.x == 0) table.listed = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < SLOTS; i += kThreads)
    if (table.keys[i] != kFree)
      table.queue[0][atomicAdd(&table.listed, 1u)] = static_cast<unsigned short>(i);
  __syncthreads();
  return table.listed;
}

__device__ __forceinline__ bool comes_before(const Table& table, unsigned short a, unsigned short b) {
  if (a == kPad || b == kPad) return a != kPad;
#if MODE == 3
  return table.keys[a] < table.keys[b];
#endif
  if (table.keys[a] == table.source || table.keys[b] == table.source) return table.keys[a] == table.source;
  const weight_t one = table.far[a], other = table.far[b];
  return one < other || (one == other && table.keys[a] < table.keys[b]);
}

// Called by all threads; sorts queue[0] by vertex in MODE 3, else by distance, then vertex, the
// source first (Batcher's bitonic network).
__device__ void sort_places(Table& table, uint32 count) {
  unsigned short* const list = table.queue[0];
  uint32 width = 1;
  while (width < count) width *= 2;
  for (uint32 i = count + threadIdx.x; i < width; i += kThreads) list[i] = kPad;
  for (uint32 size = 2; size <= width; size *= 2)
    for (uint32 step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (uint32 i = threadIdx.x; i < width / 2; i += kThreads) {
        const uint32 low = 2 * step * (i / step) + i % step, high = low + step;
        const bool up = (low & size) == 0;
        const unsigned short a = list[low], b = list[high];
        if (comes_before(table, b, a) == up) {
          list[low] = b;
          list[high] = a;
        }
      }
    }
  __syncthreads();
}

// Weight of a value at a distance. kind 0: 1, 1: linear, 2: exponential, 3: by points.
struct Decay {
  long long kind;
  double scale;
  const double* at;
  const double* factors;
  long long points;

  __device__ double operator()(double d) const {
    if (kind == 1) return fmax(0.0, 1.0 - d / scale);
    if (kind == 2) return exp(-d / scale);
    if (kind != 3) return 1.0;
    long long next = 0;
    while (next < points && at[next] <= d) ++next;
    if (next == 0) return factors[0];
    if (next == points) return factors[points - 1];
    const double part = (d - at[next - 1]) / (at[next] - at[next - 1]);
    return factors[next - 1] + part * (factors[next] - factors[next - 1]);
  }
};

struct Values {
  const long long* place;
  const double* values;
  long long width;
  double *sums, *shares, *least, *most;
};

// Called by all threads; aggregates for source k over the sorted list. Each thread adds one column,
// so the order is fixed.
__device__ void add_up(const Table& table, uint32 count, const Values& on, const Decay& decay, long long k) {
  __shared__ long long begins[kThreads], ends[kThreads];
  __shared__ double factors[kThreads];
  for (long long first = 0; first < on.width; first += kThreads) {
    const long long column = first + threadIdx.x;
    const bool mine = column < on.width;
    double sum = 0, share = 0, low = __longlong_as_double(0x7ff8000000000000ll), high = low;
    for (uint32 chunk = 0; chunk < count; chunk += kThreads) {
      __syncthreads();
      if (chunk + threadIdx.x < count) {
        const int at = table.queue[0][chunk + threadIdx.x];
        begins[threadIdx.x] = on.place[table.keys[at]];
        ends[threadIdx.x] = on.place[table.keys[at] + 1];
        factors[threadIdx.x] = decay(static_cast<double>(table.far[at]));
      }
      __syncthreads();
      const uint32 some = count - chunk < kThreads ? count - chunk : kThreads;
      for (uint32 i = 0; mine && i < some; ++i)
        for (long long row = begins[i]; row < ends[i]; ++row) {
          const double value = on.values[row * on.width + column];
          if (value != value) continue;
          sum = __dadd_rn(sum, __dmul_rn(factors[i], value));
          share += factors[i];
          if (!(low <= value)) low = value;
          if (!(high >= value)) high = value;
        }
    }
    if (mine) {
      on.sums[k * on.width + column] = sum;
      on.shares[k * on.width + column] = share;
      on.least[k * on.width + column] = low;
      on.most[k * on.width + column] = high;
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    bounded_search(const offset_t* offsets, const Edge* edges, const long long* sources, const long long* which, long long count,
                   weight_t limit, long long* counts, weight_t* greatest, uint64* stats, const long long* starts,
                   int* vertices, weight_t* distances, long long n, const long long* place,
                   const double* values, long long width, double* sums, double* shares, double* least,
                   double* most, long long kind, double scale, const double* at, const double* factors,
                   long long points) {
  __shared__ Table table;
  __shared__ weight_t farthest[kThreads];
  uint64 relaxed = 0, steps = 0, reached = 0;
  for (long long turn = blockIdx.x; turn < count; turn += gridDim.x) {
    const long long k = which ? which[turn] : turn;
    __syncthreads();
    uint32 rounds = 0;
    const bool whole =
        search(table, offsets, edges, static_cast<int>(sources[k]), limit, relaxed, rounds);
    steps += threadIdx.x == 0 ? rounds : 0;
    if (!whole) {
      if (threadIdx.x == 0) counts[k] = -1;
      continue;
    }
    const uint32 size = list_places(table);
    reached += threadIdx.x == 0 ? size : 0;
    const unsigned short* const list = table.queue[0];
#if MODE == 0
    weight_t mine = 0;
    for (uint32 i = threadIdx.x; i < size; i += kThreads)
      mine = table.far[list[i]] > mine ? table.far[list[i]] : mine;
    farthest[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 1; i < kThreads; ++i) mine = farthest[i] > mine ? farthest[i] : mine;
      greatest[k] = mine;
    }
#elif MODE == 1
    sort_places(table, size);
    for (uint32 i = threadIdx.x; i < size; i += kThreads) {
      vertices[starts[k] + i] = table.keys[list[i]];
      distances[starts[k] + i] = table.far[list[i]];
    }
#elif MODE == 2
    for (long long v = threadIdx.x; v < n; v += kThreads) distances[k * n + v] = unreached();
    __syncthreads();
    for (uint32 i = threadIdx.x; i < size; i += kThreads)
      distances[k * n + table.keys[list[i]]] = table.far[list[i]];
#else
    sort_places(table, size);
    add_up(table, size, {place, values, width, sums, shares, least, most}, {kind, scale, at, factors, points}, k);
#endif
    if (threadIdx.x == 0) counts[k] = size;
  }
  if (relaxed) atomicAdd(&stats[0], relaxed);
  if (steps) atomicAdd(&stats[1], steps);
  if (reached) atomicAdd(&stats[2], reached);
}
