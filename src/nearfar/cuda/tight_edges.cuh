// Predecessors from finished distances: the smallest id among a vertex's tight edges.
//
// An edge (u, v) is tight when d[u] + w = d[v]. The rule is that of the host (cpu/proof.cpp), so the
// answer is the same on every device and in every run: a reached vertex takes the smallest u among
// its tight edges from strictly nearer vertices (tight_edges). Those that only edges adding nothing
// reach (weight zero, or so small that a float sum absorbs it) are taken in breadth-first levels
// from the others, each from the smallest id of the level before (tight_levels): two of them can
// never vouch for each other. With negative weights (SIGNED) nearer orders nothing, and the levels,
// from the source on, serve for all.
//
// The edges are dealt to the warps in equal runs, whatever the rows' lengths. PULL: the graph is
// its own transpose, so that a row holds the edges into its vertex and no two far ones meet in an
// atomic. SORTED: rows are sorted by weight in pieces of SEGMENT edges (sort_rows.cuh); what cannot
// be tight is then not read: pushing, sums beyond the greatest distance; pulling, weights beyond
// the vertex's own distance.
//
// NARROW (integers): the random reads are of codes[rows][n], the low bytes of the distances, a quarter
// of the memory; the whole distance is read where a code fits and distances may exceed a byte.
// COUNTED: how many predecessors were found is counted, to learn whether levels are needed; without
// weights that add nothing they never are.
//
// Arrays: offsets[n + 1], edges[m], distance[rows][n], predecessor[rows][n] (unsigned: its maximum
// is -1, "none"), tallies[rows] (zeroed). tight_levels: also level[n], queue[n], control (zeroed).
// Launch: tight_start and tight_edges: whole warps, one row of the grid's y per row of distances;
// tight_levels: cooperative, whole warps. Races: predecessors fall by atomic minimum in any order;
// in tight_levels a level is read while others store the present round there, and both values of it
// mean "not taken before this round".
//
// requires: cuda/distance.cuh
// requires: cuda/edges.cuh
// requires: cuda/grid_barrier.cuh
// requires: cuda/warp.cuh

#ifndef PULL
#define PULL 0
#endif
#ifndef SORTED
#define SORTED 0
#endif
#ifndef SIGNED
#define SIGNED 0
#endif
#ifndef NARROW
#define NARROW 0
#endif
#ifndef COUNTED
#define COUNTED 1
#endif
#ifndef SEGMENT
#define SEGMENT 512
#endif

typedef CountOf<(sizeof(vertex_t) > 4)>::type predecessor_t;
constexpr predecessor_t kNone = ~predecessor_t(0);

constexpr int kTightInFlight = 4;  // edges a lane has in flight
constexpr int kSearchFrom = 16;    // longer sorted rows are searched for their end
constexpr int kTightProbes = 7;
constexpr int kNoCode = 255;  // of what is not reached, and of distances that end so
constexpr int kNever = 0x7fffffff;
constexpr long long kTightStuck = 1;

struct Tally {
  uint64 reached, filled, greatest;  // the greatest distance as bits
};

__device__ __forceinline__ uint64 bits_of(int d) { return static_cast<uint32>(d); }
__device__ __forceinline__ uint64 bits_of(long long d) { return static_cast<uint64>(d); }
__device__ __forceinline__ uint64 bits_of(float d) {
  return static_cast<uint32>(__float_as_int(d));
}
__device__ __forceinline__ uint64 bits_of(double d) {
  return static_cast<uint64>(__double_as_longlong(d));
}
__device__ __forceinline__ weight_t distance_of(uint64 bits) {
  weight_t d;
  if constexpr (sizeof(weight_t) == 4) {
    const uint32 low = static_cast<uint32>(bits);
    memcpy(&d, &low, 4);
  } else {
    memcpy(&d, &bits, 8);
  }
  return d;
}

__device__ __forceinline__ weight_t sum_of(weight_t d, weight_t w) {
#if SIGNED
  return add_saturating_signed(d, w);
#else
  return add_saturating(d, w);
#endif
}

extern "C" __global__ void tight_start(long long n, const weight_t* distances,
                                       predecessor_t* predecessors, Tally* tallies,
                                       unsigned char* codes) {
  __shared__ uint64 reached_here, greatest_here;
  if (threadIdx.x == 0) reached_here = greatest_here = 0;
  __syncthreads();
  const weight_t* const distance = distances + blockIdx.y * n;
  predecessor_t* const predecessor = predecessors + blockIdx.y * n;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  uint64 reached = 0, greatest = 0;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < n;
       v += stride) {
    const weight_t d = __ldg(distance + v);
    predecessor[v] = kNone;
#if NARROW
    codes[blockIdx.y * n + v] = static_cast<unsigned char>(static_cast<uint64>(d) & 255);
#endif
    if (d == unreached()) continue;
    ++reached;
    const uint64 bits = bits_of(d);
    greatest = bits > greatest ? bits : greatest;
  }
  reached = warp_sum(reached);
  atomicMax(&greatest_here, greatest);
  if (lane_id() == 0 && reached) atomicAdd(&reached_here, reached);
  __syncthreads();
  if (threadIdx.x == 0 && reached_here) {
    atomicAdd(&tallies[blockIdx.y].reached, reached_here);
    atomicMax(&tallies[blockIdx.y].greatest, greatest_here);
  }
}

// The last row that begins at or before edge x < m; the whole warp calls it.
__device__ __forceinline__ long long row_at(const offset_t* offsets, long long n, long long x) {
  long long low = 0, high = n;  // offsets[low] <= x < offsets[high]
  while (high - low > 1) {
    const long long stride = (high - low + 31) / 32;
    const long long probe = low + (lane_id() + 1) * stride;
    const bool before = probe < high && __ldg(offsets + probe) <= x;
    low += __popc(__ballot_sync(kAllLanes, before)) * stride;
    high = low + stride < high ? low + stride : high;
  }
  return low;
}

// Whether an edge of that weight from (PULL: into) a vertex at distance d is too long to be tight.
__device__ __forceinline__ bool beyond(weight_t d, weight_t w, weight_t greatest) {
#if PULL
  return w > d;
#else
  return sum_of(d, w) > greatest;
#endif
}

// How many of the `size` sorted edges from `begin` on may be tight; a few more than that at most.
__device__ __forceinline__ int can_be_tight(const Edge* edges, offset_t begin, int size, weight_t d,
                                            weight_t greatest) {
  int low = 0, high = size;  // those before low may, the one at high (if there) cannot
  while (high - low > kSearchFrom) {
    const int span = high - low;
    bool too_long[kTightProbes];
#pragma unroll
    for (int i = 0; i < kTightProbes; ++i) {
      const int at = low + (i + 1) * span / (kTightProbes + 1);
      too_long[i] = beyond(d, edge_weight(load_edge(edges, begin + at)), greatest);
    }
    int below = 0;
#pragma unroll
    for (int i = 0; i < kTightProbes; ++i) below += !too_long[i];
    const int base = low;
    if (below < kTightProbes) high = base + (below + 1) * span / (kTightProbes + 1);
    if (below) low = base + below * span / (kTightProbes + 1) + 1;
  }
  return high;
}

// The lanes' runs of edges, `size` from `begin` on, of vertices x at distance d, shared evenly.
__device__ __forceinline__ uint32 take_runs(const Edge* edges, const weight_t* distance,
                                            const unsigned char* code, bool exact,
                                            predecessor_t* predecessor, offset_t begin, int size,
                                            long long x, weight_t d) {
  const int upto = warp_inclusive_sum(size);
  const int total = __shfl_sync(kAllLanes, upto, 31);
  const int before = upto - size;
  const offset_t shift = begin - before;
  uint32 filled = 0;
  for (int first = 0; first < total; first += 32 * kTightInFlight) {
    Edge edge[kTightInFlight];
    long long own[kTightInFlight];
    weight_t from[kTightInFlight], seen[kTightInFlight];
    bool valid[kTightInFlight];
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      const int t = first + u * 32 + lane_id();
      valid[u] = t < total;
      if (first + u * 32 < total) {
        const int owner = lane_of(t, before);
        const offset_t at = __shfl_sync(kAllLanes, shift, owner) + t;
        own[u] = __shfl_sync(kAllLanes, x, owner);
        from[u] = __shfl_sync(kAllLanes, d, owner);
        if (valid[u]) edge[u] = load_edge(edges, at);
      }
    }
#if NARROW
    unsigned char mark[kTightInFlight];
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u)
      if (valid[u]) mark[u] = __ldg(code + edge[u].target);
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      if (!valid[u]) continue;
      const weight_t w = edge_weight(edge[u]);
      const uint64 other = static_cast<uint64>(from[u]) + (PULL ? -static_cast<uint64>(w) : w);
      valid[u] = (other & 255) == mark[u];
      if (valid[u] && exact) {  // codes are the distances
        valid[u] = other < kNoCode;
        seen[u] = static_cast<weight_t>(mark[u]);
      } else if (valid[u]) {
        seen[u] = __ldg(distance + edge[u].target);
      }
    }
#else
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u)
      if (valid[u]) seen[u] = __ldg(distance + edge[u].target);
#endif
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      if (!valid[u]) continue;
      const weight_t near = PULL ? seen[u] : from[u], far = PULL ? from[u] : seen[u];
      if (!(near < far) || far == unreached() || sum_of(near, edge_weight(edge[u])) != far) continue;
      const long long v = PULL ? own[u] : edge[u].target;
      const predecessor_t candidate = static_cast<predecessor_t>(PULL ? edge[u].target : own[u]);
#if COUNTED
      filled += atomicMin(predecessor + v, candidate) == kNone;
#else
      atomicMin(predecessor + v, candidate);
#endif
    }
  }
  return filled;
}

extern "C" __global__ void tight_edges(long long n, long long m, const offset_t* offsets,
                                       const Edge* edges, const weight_t* distances,
                                       predecessor_t* predecessors, Tally* tallies,
                                       const unsigned char* codes, long long span) {
  const weight_t* const distance = distances + blockIdx.y * n;
  predecessor_t* const predecessor = predecessors + blockIdx.y * n;
  const weight_t greatest = distance_of(tallies[blockIdx.y].greatest);
  const unsigned char* const code = codes + blockIdx.y * n;
  const bool exact = tallies[blockIdx.y].greatest < kNoCode;
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  uint32 filled = 0;
  for (long long turn = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
       turn * span < m; turn += warps) {
    const long long first = turn * span, last = first + span < m ? first + span : m;
    long long base = row_at(offsets, n, first);
    bool more = true;
    for (; more; base += 32) {
      const long long x = base + lane_id();
      long long row = 0, at = 0, end = 0;
      weight_t d = unreached();
      if (x < n) {
        row = __ldg(offsets + x);
        end = __ldg(offsets + x + 1);
        d = __ldg(distance + x);
      }
      more = __shfl_sync(kAllLanes, x < n && end < last, 31);
      at = row > first ? row : first;
      end = end < last ? end : last;
      if (x >= n || d == unreached()) end = at;
      while (__any_sync(kAllLanes, at < end)) {
        long long stop = end;
#if SORTED
        const long long piece = row + ((at - row) / SEGMENT + 1) * SEGMENT;
        stop = piece < end ? piece : end;
#endif
        int size = stop > at ? static_cast<int>(stop - at) : 0;
#if SORTED
        size = can_be_tight(edges, static_cast<offset_t>(at), size, d, greatest);
#endif
        filled += take_runs(edges, distance, code, exact, predecessor, static_cast<offset_t>(at),
                            size, x, d);
        at = stop > at ? stop : at;
      }
    }
  }
#if COUNTED
  filled = warp_sum(filled);
  if (lane_id() == 0 && filled) atomicAdd(&tallies[blockIdx.y].filled, uint64(filled));
#endif
}

struct LevelControl {
  alignas(128) uint32 arrivals;
  alignas(128) long long status;
  alignas(128) uint64 found;  // entries of the queue, only ever more
};

struct Levels {
  const offset_t* offsets;
  const Edge* edges;
  const weight_t* distance;
  predecessor_t* predecessor;
  int* level;
  vertex_t* queue;
  uint64* found;
  int round;
};

// Vertex x at distance d offers itself over one edge.
__device__ __forceinline__ void offer(const Levels& s, long long x, weight_t d, const Edge& edge) {
  const vertex_t v = edge.target;
  const weight_t far = __ldg(s.distance + v);
  if (far == unreached() || sum_of(d, edge_weight(edge)) != far || (!SIGNED && d != far)) return;
  if (load_relaxed(s.level + v) < s.round) return;
  const bool fresh = atomicMin(s.predecessor + v, static_cast<predecessor_t>(x)) == kNone;
  s.level[v] = s.round;
  if (fresh) s.queue[atomicAdd(s.found, uint64(1))] = v;
}

// The edges of 32 vertices, one per lane (x < 0 for none): a lane takes 32 of its own, and what is
// left of longer rows is taken by the whole warp.
__device__ __forceinline__ void offer_rows(const Levels& s, long long x) {
  offset_t at = 0, end = 0;
  weight_t d = unreached();
  if (x >= 0) {
    at = __ldg(s.offsets + x);
    end = __ldg(s.offsets + x + 1);
    d = __ldg(s.distance + x);
  }
  for (int alone = 0; alone < 32 && at < end; ++alone, ++at) offer(s, x, d, load_edge(s.edges, at));
  __syncwarp();
  uint32 rest = __ballot_sync(kAllLanes, at < end);
  while (rest) {
    const int lane = __ffs(rest) - 1;
    rest &= rest - 1;
    const offset_t row_end = __shfl_sync(kAllLanes, end, lane);
    const weight_t near = __shfl_sync(kAllLanes, d, lane);
    const long long owner = __shfl_sync(kAllLanes, x, lane);
    for (offset_t j = __shfl_sync(kAllLanes, at, lane) + lane_id(); j < row_end; j += 32)
      offer(s, owner, near, load_edge(s.edges, j));
    __syncwarp();
  }
}

extern "C" __global__ void tight_levels(long long n, const offset_t* offsets, const Edge* edges,
                                        const weight_t* distance, long long source,
                                        predecessor_t* predecessor, int* level, vertex_t* queue,
                                        LevelControl* control, long long max_rounds) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  Levels s{offsets, edges, distance, predecessor, level, queue, &control->found, 1};
  for (long long v = thread; v < n; v += stride)
    level[v] = v == source || (!SIGNED && predecessor[v] != kNone) ? 0 : kNever;
  grid_barrier(&control->arrivals);
  for (long long base = thread & ~31ll; base < n; base += stride) {
    const long long x = base + lane_id();
    const bool taken = x < n && load_relaxed(level + x) == 0;
    if (__any_sync(kAllLanes, taken)) offer_rows(s, taken ? x : -1);
  }
  uint64 begin = 0;
  while (true) {
    grid_barrier(&control->arrivals);
    const uint64 end = load_relaxed(&control->found);
    grid_barrier(&control->arrivals);  // all have read it before anyone adds
    if (begin == end) return;
    if (++s.round > max_rounds) {
      if (thread == 0) control->status = kTightStuck;
      return;
    }
    for (uint64 base = begin + (thread & ~31ll); base < end; base += stride) {
      const uint64 i = base + lane_id();
      offer_rows(s, i < end ? static_cast<long long>(__ldcg(queue + i)) : -1);
    }
    begin = end;
  }
}
