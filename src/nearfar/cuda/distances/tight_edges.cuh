// Predecessors from finished distances: the smallest id among a vertex's tight edges.
//
// An edge (u, v) is tight when d[u] + w = d[v]. The rule is that of the host
// (cpu/distances/proof.cpp), so the answer is the same on every device and in every run: a reached
// vertex takes the smallest u among its tight edges from strictly nearer vertices (tight_edges).
// Vertices reached only by edges that add nothing (weight zero, or so small that a float sum
// absorbs it) are taken in breadth-first levels from the others, each from the smallest id of the
// level before (tight_levels), so that no two of them become each other's predecessor. With
// negative weights (SIGNED) "nearer" is not an order, and the levels from the source cover all
// vertices.
//
// A lane processes a row. The warp shares the edges of its lanes' rows among all lanes, except
// short rows and the beginnings of sorted ones, which a lane reads by itself. Rows of more than
// kPiece edges are cut into pieces, listed once per graph by tight_pieces. PULL: the graph is its
// own transpose, so a row holds the edges into its vertex, and no two lanes use an atomic on the
// same vertex. An edge that cannot be tight needs no distance of the other end: pushing, its sum
// exceeds the greatest distance; pulling, its weight exceeds the vertex's own distance. SORTED:
// rows are sorted by weight in segments of SEGMENT edges (sort_rows.cuh), and such edges are not
// read.
//
// COUNTED: counts the predecessors found, to decide whether levels are needed; without edges that
// add nothing they never are.
//
// Arrays: offsets[n + 1], edges[m], distance[rows][n], predecessor[rows][n] (unsigned: its maximum
// is -1, "none"), tallies[rows] (zeroed; tight_start zeroes those of the next call),
// pieces[n_pieces[0]] with room for 2 m / kPiece. tight_levels: also level[n], queue[n], control
// (zeroed).
// Launch: tight_pieces: any; tight_start and tight_edges: whole warps, one row of the grid's y per
// row of distances; tight_levels: cooperative, whole warps. Races: predecessors fall by atomic
// minimum in any order; in tight_levels a level is read while others store the present round there,
// and both values of it mean "not taken before this round".
//
// requires: cuda/primitives/deal.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/grid_barrier.cuh
// requires: cuda/primitives/warp.cuh

#ifndef PULL
#define PULL 0
#endif
#ifndef SORTED
#define SORTED 0
#endif
#ifndef SIGNED
#define SIGNED 0
#endif
#ifndef COUNTED
#define COUNTED 1
#endif
#ifndef SEGMENT
#define SEGMENT 512
#endif

typedef CountOf<(sizeof(vertex_t) > 4)>::type predecessor_t;
constexpr predecessor_t kNone = ~predecessor_t(0);

constexpr int kTightInFlight = 2;  // edges in flight per lane; more leave fewer warps
constexpr int kTightAlone = 16;  // edges of its row that a lane reads by itself
constexpr int kSearchFrom = 16;  // longer sorted remainders are searched for their end
constexpr int kTightProbes = 7;
constexpr int kPiece = SEGMENT;  // longer rows are taken in pieces of this many edges
constexpr int kNever = 0x7fffffff;
constexpr long long kTightStuck = 1;

struct Tally {
  uint64 reached, filled, greatest;  // the greatest distance as bits
};

// Edges of one vertex.
struct Piece {
  offset_t begin;
  vertex_t vertex;
  int size;
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
                                       Tally* of_next_call) {
  const weight_t* const distance = distances + blockIdx.y * n;
  predecessor_t* const predecessor = predecessors + blockIdx.y * n;
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
#if COUNTED || !PULL
  __shared__ uint64 reached_here, greatest_here;
  if (threadIdx.x == 0) {
    reached_here = greatest_here = 0;
    if (blockIdx.x == 0) of_next_call[blockIdx.y] = Tally{0, 0, 0};
  }
  __syncthreads();
  uint64 reached = 0, greatest = 0;
#pragma unroll 4
  for (long long v = thread; v < n; v += grid_threads()) {
    const weight_t d = __ldg(distance + v);
    predecessor[v] = kNone;
    if (d == unreached()) continue;
    ++reached;
    const uint64 bits = bits_of(d);
    greatest = bits > greatest ? bits : greatest;
  }
  reached = warp_sum(reached);
  greatest = ~warp_min(~greatest);
  if (lane_id() == 0 && reached) {
    atomicMax(&greatest_here, greatest);
    atomicAdd(&reached_here, reached);
  }
  __syncthreads();
  if (threadIdx.x == 0 && reached_here) {
    atomicAdd(&tallies[blockIdx.y].reached, reached_here);
    atomicMax(&tallies[blockIdx.y].greatest, greatest_here);
  }
#else
  for (long long v = thread; v < n; v += grid_threads()) predecessor[v] = kNone;
#endif
}

// Lists the pieces of rows with more than kPiece edges.
extern "C" __global__ void tight_pieces(long long n, const offset_t* offsets, Piece* pieces,
                                        uint64* n_pieces) {
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < n;
       v += grid_threads()) {
    const offset_t begin = __ldg(offsets + v), end = __ldg(offsets + v + 1);
    if (end - begin <= kPiece) continue;
    const uint64 many = static_cast<uint64>((end - begin + kPiece - 1) / kPiece);
    uint64 at = atomicAdd(n_pieces, many);
    for (offset_t first = begin; first < end; first += kPiece)
      pieces[at++] = Piece{first, static_cast<vertex_t>(v),
                           static_cast<int>(end - first < kPiece ? end - first : kPiece)};
  }
}

// Returns true if an edge of that weight from (PULL: into) a vertex at distance d is too long to be
// tight.
__device__ __forceinline__ bool beyond(weight_t d, weight_t w, weight_t greatest) {
#if PULL
  return w > d;
#else
  return sum_of(d, w) > greatest;
#endif
}

// Upper bound of the number of the `size` sorted edges from `begin` that may be tight. They are few of a
// long row, so the first probes are at its 128th, 64th, ... part, later ones at equal distances.
__device__ __forceinline__ int can_be_tight(const Edge* edges, offset_t begin, int size, weight_t d,
                                            weight_t greatest) {
  int low = 0, high = size;  // those before low may be tight, the one at high (if any) cannot
  for (bool first = true; high - low > kSearchFrom; first = false) {
    int at[kTightProbes];
    bool too_long[kTightProbes];
#pragma unroll
    for (int i = 0; i < kTightProbes; ++i) {
      const int span = high - low;
      at[i] = low + (first ? span >> (kTightProbes - i) : (i + 1) * span / (kTightProbes + 1));
      too_long[i] = beyond(d, edge_weight(load_edge(edges, begin + at[i])), greatest);
    }
    // The places ascend; once an edge is too long, so are all later ones.
#pragma unroll
    for (int i = kTightProbes - 1; i >= 0; --i)
      if (too_long[i]) high = at[i];
#pragma unroll
    for (int i = 0; i < kTightProbes; ++i)
      if (!too_long[i]) low = at[i] + 1;
  }
  return high;
}

// Inputs and outputs of tight_edges for one row of distances.
struct Tight {
  const Edge* edges;
  const weight_t* distance;
  predecessor_t* predecessor;
  weight_t greatest;
};

// Returns true if the edge between a row's vertex at distance d and a target at distance other is
// tight.
__device__ __forceinline__ bool is_tight(weight_t d, weight_t other, weight_t w) {
  const weight_t near = PULL ? other : d, far = PULL ? d : other;
  return near < far && far != unreached() && sum_of(near, w) == far;
}

// Offers a vertex to another as its predecessor. Returns 1 for the first one.
__device__ __forceinline__ uint32 propose(const Tight& s, vertex_t v, vertex_t by) {
  predecessor_t* const at = s.predecessor + v;
#if COUNTED
  return atomicMin(at, static_cast<predecessor_t>(by)) == kNone;
#else
  atomicMin(at, static_cast<predecessor_t>(by));
  return 0;
#endif
}

// Processes the first edges of a lane's row. Sets *size to 0 if the others cannot be tight.
__device__ __forceinline__ uint32 take_alone(const Tight& s, offset_t begin, int* size, vertex_t x,
                                             weight_t d) {
  uint32 filled = 0;
  predecessor_t least = kNone;
  const int upto = *size < kTightAlone ? *size : kTightAlone;
  Edge next[kTightInFlight];
#pragma unroll
  for (int u = 0; u < kTightInFlight; ++u)
    if (u < upto) next[u] = load_edge(s.edges, begin + u);
  for (int first = 0; first < upto; first += kTightInFlight) {
    Edge edge[kTightInFlight];
    weight_t seen[kTightInFlight];
    bool valid[kTightInFlight];
    bool ends = false;
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      valid[u] = first + u < upto;
      edge[u] = next[u];
    }
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      const int at = first + kTightInFlight + u;
      if (at < upto) next[u] = load_edge(s.edges, begin + at);
    }
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      if (!valid[u]) continue;
      valid[u] = !beyond(d, edge_weight(edge[u]), s.greatest);
      ends |= SORTED && !valid[u];
      if (valid[u]) seen[u] = __ldg(s.distance + edge[u].target);
    }
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      if (!valid[u] || !is_tight(d, seen[u], edge_weight(edge[u]))) continue;
      const vertex_t other = edge[u].target;
      if (!PULL)
        filled += propose(s, other, x);
      else if (static_cast<predecessor_t>(other) < least)
        least = static_cast<predecessor_t>(other);
    }
    if (ends) *size = 0;
    if (ends) break;
  }
  if (PULL && least != kNone) filled = propose(s, x, static_cast<vertex_t>(least));
  return filled;
}

// Processes the lanes' runs of edges, `size` from `begin` on, of vertices x at distance d, shared
// evenly.
__device__ __forceinline__ uint32 take_runs(const Tight& s, offset_t begin, int size, vertex_t x,
                                            weight_t d) {
  const int upto = warp_inclusive_sum(size);
  const int total = __shfl_sync(kAllLanes, upto, 31);
  const int before = upto - size;
  const offset_t shift = begin - before;
  uint32 filled = 0;
  for (int first = 0; first < total; first += 32 * kTightInFlight) {
    Edge edge[kTightInFlight];
    vertex_t own[kTightInFlight];
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
        if (valid[u]) edge[u] = load_edge(s.edges, at);
      }
    }
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      if (valid[u]) valid[u] = !beyond(from[u], edge_weight(edge[u]), s.greatest);
      if (valid[u]) seen[u] = __ldg(s.distance + edge[u].target);
    }
#pragma unroll
    for (int u = 0; u < kTightInFlight; ++u) {
      if (!valid[u] || !is_tight(from[u], seen[u], edge_weight(edge[u]))) continue;
      const vertex_t other = edge[u].target;
      filled += propose(s, PULL ? own[u] : other, PULL ? other : own[u]);
    }
  }
  return filled;
}

// Processes the lanes' rows, or pieces of them. Called by the full warp.
__device__ __forceinline__ uint32 take_rows(const Tight& s, offset_t begin, int size, vertex_t x,
                                            weight_t d) {
  uint32 filled = 0;
  if (SORTED || !__any_sync(kAllLanes, size > kTightAlone)) {
    filled = take_alone(s, begin, &size, x, d);
    begin += kTightAlone;
    size = size > kTightAlone ? size - kTightAlone : 0;
  }
  if (!__any_sync(kAllLanes, size > 0)) return filled;
  if (SORTED) size = can_be_tight(s.edges, begin, size, d, s.greatest);
  return filled + take_runs(s, begin, size, x, d);
}

extern "C" __global__ void tight_edges(long long n, const offset_t* offsets, const Edge* edges,
                                       const weight_t* distances, predecessor_t* predecessors,
                                       Tally* tallies, const Piece* pieces,
                                       const uint64* n_pieces) {
  const long long row = blockIdx.y;
  const Tight s{edges, distances + row * n, predecessors + row * n,
                PULL ? unreached() : distance_of(tallies[row].greatest)};
  const long long warps = grid_warps<long long>(), warp = grid_warp<long long>();
  uint32 filled = 0;
  const long long count = static_cast<long long>(*n_pieces);
  const long long pieces_each = warp_share(count, warps);
  for (long long base = warp * pieces_each; base < count; base += warps * pieces_each) {
    Piece piece{0, 0, 0};
    weight_t d = unreached();
    if (lane_id() < pieces_each && base + lane_id() < count) {
      piece = pieces[base + lane_id()];
      d = __ldg(s.distance + piece.vertex);
    }
    filled += take_rows(s, piece.begin, d == unreached() ? 0 : piece.size, piece.vertex, d);
  }
  const long long rows_each = warp_share(n, warps);
  for (long long base = warp * rows_each; base < n; base += warps * rows_each) {
    const long long x = base + lane_id();
    offset_t begin = 0, end = 0;
    weight_t d = unreached();
    if (lane_id() < rows_each && x < n) {
      begin = __ldg(offsets + x);
      end = __ldg(offsets + x + 1);
      d = __ldg(s.distance + x);
    }
    const bool taken = d != unreached() && end - begin <= kPiece;
    filled += take_rows(s, begin, taken ? static_cast<int>(end - begin) : 0,
                        static_cast<vertex_t>(x), d);
  }
#if COUNTED
  filled = warp_sum(filled);
  if (lane_id() == 0 && filled) atomicAdd(&tallies[row].filled, uint64(filled));
#endif
}

struct LevelControl {
  alignas(128) uint32 arrivals;
  alignas(128) long long status;
  alignas(128) uint64 found;  // entries of the queue, which never decrease
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

// Offers vertex x at distance d as predecessor over one edge.
__device__ __forceinline__ void offer(const Levels& s, long long x, weight_t d, const Edge& edge) {
  const vertex_t v = edge.target;
  const weight_t far = __ldg(s.distance + v);
  if (far == unreached() || sum_of(d, edge_weight(edge)) != far || (!SIGNED && d != far)) return;
  if (load_relaxed(s.level + v) < s.round) return;
  const bool fresh = atomicMin(s.predecessor + v, static_cast<predecessor_t>(x)) == kNone;
  s.level[v] = s.round;
  if (fresh) s.queue[atomicAdd(s.found, uint64(1))] = v;
}

// Processes the edges of 32 vertices, one per lane (x < 0 for none): a lane takes 32 of its own,
// the full warp the remaining edges of longer rows.
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
    grid_barrier(&control->arrivals);  // all blocks read it before any block adds
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
