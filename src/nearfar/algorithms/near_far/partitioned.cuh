// One source over several devices: each owns a range of vertices, relaxes their edges, and fetches
// what the others found for its vertices.
//
// Every device keeps `known`, a distance for every vertex of the graph. For its own vertices that
// is the tentative distance; for the others', the least that it has found itself, so that it tells
// their owner nothing twice. A step has two launches per device:
//
//   relax    the edges of the vertices that the last collect chose. A lower distance of another
//            device's vertex marks the line that holds it: 32 vertices, one byte.
//   collect  after all devices have relaxed: per line of own vertices, read the lines that others
//            marked from their memory and keep the least; then choose the vertices whose distance
//            fell since their edges were relaxed and that lie below the threshold.
//
// What travels is thus at most each line once per step and device, read by its owner in full
// lines; no atomic crosses the link. The threshold is the least distance that waited anywhere after
// the collect before, plus delta: every device reads the others' states and finds the same one.
//
// Arrays per device, n vertices in the graph, [first, last) its own, first a multiple of 32 and
// last, too, unless it is n: known[n], relaxed[last - first] (the distance with which the edges of
// a vertex were relaxed last), dirty[2][ceil(n / 32)] bytes, pieces[] (room for every own vertex
// and every kPiece of edges), states[3].
// Launch: whole warps, any grid, grid-stride; host loop in partitioned.py.
// Races, harmless: relax lowers `known` by atomic minimum while an owner may still read the line in
// the collect of the step before; it gets a distance of some path either way, and the line is
// marked for this step. A mark is written by many and read after all have ended. `dirty` and
// `states` rotate, so that what is reset was read by all in a collect that has ended everywhere.
// After the paper's near set and far pile; the window that moves with the least distance is
// Meyer's and Sanders's delta-stepping without buckets.
//
// requires: cuda/edges.cuh
// requires: cuda/distance.cuh
// requires: cuda/spread_rows.cuh
// requires: cuda/warp.cuh

constexpr int kPiece = 4096;  // most edges of a vertex that one lane brings to its warp

struct Piece {
  uint32 vertex;  // of the device's own, from 0
  uint32 number;
};

struct State {
  weight_t least;  // of the distances that wait, chosen ones included
  uint64 waiting;  // vertices chosen and vertices beyond the threshold
  uint64 pieces;
};

struct Part {
  long long n, first, last;
  const offset_t* offsets;
  const Edge* edges;
  weight_t* known;
  weight_t* relaxed;
  unsigned char* dirty;
  Piece* pieces;
  State* states;
  uint64* totals;
};

// Memory of all devices, this one's among them.
struct Others {
  const weight_t* known[16];
  const unsigned char* dirty[16];
  const State* states[16];
};

__device__ __forceinline__ long long lines_of(long long n) { return (n + 31) / 32; }

__device__ __forceinline__ void reset(State* state) {
  state->least = unreached();
  state->waiting = state->pieces = 0;
}

extern "C" __global__ void partitioned_begin(Part part, long long source) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long v = thread; v < part.n; v += stride)
    part.known[v] = v == source && v >= part.first && v < part.last ? weight_t(0) : unreached();
  for (long long v = thread; v < part.last - part.first; v += stride) part.relaxed[v] = unreached();
  for (long long i = thread; i < 2 * lines_of(part.n); i += stride) part.dirty[i] = 0;
  if (thread < 3) reset(part.states + thread);
  if (thread < 2) part.totals[thread] = 0;
}

extern "C" __global__ void partitioned_relax(Part part, long long step) {
  const State* const state = part.states + (step + 2) % 3;  // of the collect before
  unsigned char* const dirty = part.dirty + (step & 1) * lines_of(part.n);
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  const long long warp = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
  const long long pieces = state->pieces;
  uint64 looked_at = 0;
  for (long long base = 32 * warp; base < pieces; base += 32 * warps) {
    offset_t begin = 0;
    int degree = 0;
    weight_t d = weight_t(0);
    if (base + lane_id() < pieces) {
      const Piece piece = part.pieces[base + lane_id()];
      begin = part.offsets[piece.vertex] + static_cast<offset_t>(piece.number) * kPiece;
      const offset_t left = part.offsets[piece.vertex + 1] - begin;
      degree = left < kPiece ? static_cast<int>(left) : kPiece;
      d = part.relaxed[piece.vertex];
    }
    looked_at += spread_rows<false>(part.edges, begin, degree, d, [&](const Edge& edge, weight_t from) {
      const weight_t sum = add_saturating(from, edge_weight(edge));
      weight_t* const target = part.known + edge.target;
      if (sum >= load_relaxed(target)) return;
      if (atomic_minimum(target, sum) <= sum) return;
      if (edge.target < part.first || edge.target >= part.last) dirty[edge.target / 32] = 1;
    });
  }
  looked_at = warp_sum(looked_at);
  if (lane_id() == 0 && looked_at != 0) atomicAdd(part.totals, looked_at);
}

extern "C" __global__ void partitioned_collect(Part part, Others others, long long step, int devices,
                                               int own, weight_t delta) {
  const State* const before = part.states + (step + 2) % 3;
  State* const state = part.states + step % 3;
  // What waited after the collect before, anywhere. In the first step: the source.
  weight_t least = unreached();
  for (int p = 0; p < devices; ++p) {
    const weight_t theirs = load_relaxed(&others.states[p][before - part.states].least);
    least = theirs < least ? theirs : least;
  }
  const weight_t threshold = step == 0 ? delta : add_saturating(least, delta);
  const long long lines = lines_of(part.n), stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread == 0) reset(part.states + (step + 1) % 3);
  for (long long i = thread; i < lines; i += stride) part.dirty[((step + 1) & 1) * lines + i] = 0;
  weight_t least_now = unreached();
  uint64 waiting = 0, fetched = 0;
  // Whole warps stay together: a line is a warp's.
  for (long long base = part.first + (thread & ~31ll); base < part.last; base += stride) {
    const long long v = base + lane_id();
    const bool mine = v < part.last;
    weight_t d = mine ? load_relaxed(part.known + v) : unreached();
    const weight_t had = d;
    for (int p = 0; p < devices; ++p) {
      if (p == own || others.dirty[p][(step & 1) * lines + base / 32] == 0) continue;
      ++fetched;
      const weight_t theirs = mine ? load_relaxed(others.known[p] + v) : unreached();
      d = theirs < d ? theirs : d;
    }
    if (d < had) part.known[v] = d;
    const bool waits = mine && d < part.relaxed[v - part.first];
    uint32 pieces = 0;
    if (waits) {
      least_now = d < least_now ? d : least_now;
      ++waiting;
      if (d < threshold) {
        part.relaxed[v - part.first] = d;
        const offset_t degree = part.offsets[v - part.first + 1] - part.offsets[v - part.first];
        pieces = static_cast<uint32>((degree + kPiece - 1) / kPiece);
      }
    }
    if (__ballot_sync(kAllLanes, pieces != 0) == 0) continue;
    const uint32 upto = warp_inclusive_sum(pieces);
    uint64 at = 0;
    if (lane_id() == 31) at = atomicAdd(&state->pieces, uint64(upto));
    at = __shfl_sync(kAllLanes, at, 31) + (upto - pieces);
    for (uint32 i = 0; i < pieces; ++i)
      part.pieces[at + i] = Piece{static_cast<uint32>(v - part.first), i};
  }
  const weight_t least_here = warp_min(least_now);
  const uint64 waiting_here = warp_sum(waiting);
  if (lane_id() == 0 && waiting_here != 0) {
    atomic_minimum(&state->least, least_here);
    atomicAdd(&state->waiting, waiting_here);
  }
  if (lane_id() == 0 && fetched != 0) atomicAdd(part.totals + 1, fetched);
}

// Whether distances are shortest, where weights are positive: no edge lowers one, and every reached
// vertex but the source has an edge that gives its distance. `known` holds every vertex's distance;
// tight[n] (bytes, 0) and wrong[1] (0) are written.
extern "C" __global__ void partitioned_prove(Part part, unsigned char* tight, uint64* wrong) {
  const long long warps = static_cast<long long>(gridDim.x) * (blockDim.x >> 5);
  const long long warp = static_cast<long long>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
  uint64 found = 0;
  for (long long v = part.first + warp; v < part.last; v += warps) {
    const weight_t d = part.known[v];
    if (d == unreached()) continue;
    const offset_t end = part.offsets[v - part.first + 1];
    for (offset_t e = part.offsets[v - part.first] + lane_id(); e < end; e += 32) {
      const Edge edge = load_edge(part.edges, e);
      const weight_t sum = add_saturating(d, edge_weight(edge)), there = part.known[edge.target];
      found += sum < there;
      if (sum == there) tight[edge.target] = 1;
    }
  }
  found = warp_sum(found);
  if (lane_id() == 0 && found != 0) atomicAdd(wrong, found);
}
