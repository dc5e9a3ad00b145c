// One source over several devices: each owns a range of vertices, relaxes their edges, and fetches
// what the others found for its vertices.
//
// Every device keeps `known`, a distance for every vertex of the graph. For its own vertices that
// is the tentative distance; for the others', the least that it has found itself, so that it tells
// their owner nothing twice. Rows are sorted by weight in pieces of kPiece edges, and a piece keeps
// a cursor: an edge is relaxed when the sum that it gives comes below the threshold, not with its
// vertex. A step has three launches per device:
//
//   relax     the pieces that the last step chose, up to the threshold. A lower distance of another
//             device's vertex marks the line that holds it: 32 vertices, one byte.
//   fetch     after all devices have relaxed: per line of own vertices, read the lines that others
//             marked from their memory and keep the least. A vertex that is nearer than when its
//             edges were relaxed sends its pieces back to their beginning.
//   choose    the pieces whose next sum lies below the threshold: the least sum that waited
//             anywhere in the step before, plus delta.
//
// What travels is thus at most each line once per step and device, read by its owner in full
// lines; no atomic crosses the link. Every device reads the others' states and finds the same
// threshold. All vertices nearer than the least sum that waits are final. Where both directions of
// every edge are there and few vertices are left, `pull` ends the search: what is left takes the
// least over its own edges, with everybody's distances at hand, until nothing changes.
//
// Arrays per device, n vertices in the graph, [first, last) its own, first a multiple of 32:
// known[n], relaxed[last - first] (the distance with which the edges of a vertex were relaxed
// last), dirty[2][ceil(n / 32)] bytes, pieces[last - first + 1] (where those of a vertex begin),
// and per piece owner[], cursor[], due[] (its next sum) and chosen[]; states[3], totals[2] (edges
// relaxed, lines fetched).
// Launch: whole warps, any grid, grid-stride; host loop in partitioned.py.
// Races, harmless: relax lowers `known` by atomic minimum while an owner may still read the line in
// the fetch of the step before; it gets the length of some path either way, and the line is marked
// for this step. A mark is written by many and read after all have ended. `dirty` and `states`
// rotate, so that what is reset was read by all in a step that has ended everywhere. In pull, an
// owner stores while others read: again the length of some path, and its line is marked.
// The near set and far pile of the paper with one window that moves with the least sum; relaxing an
// edge when its sum is due is Dijkstra's order, edge by edge, as coarse as delta.
//
// requires: cuda/edges.cuh
// requires: cuda/distance.cuh
// requires: cuda/spread_rows.cuh
// requires: cuda/warp.cuh

constexpr int kPiece = 512;  // SEGMENT of sort_rows.cuh

struct State {
  weight_t least;  // of the sums that are due, chosen ones included
  weight_t threshold;
  uint64 chosen;
  uint64 open;  // own vertices with edges that may still come nearer
};

struct Part {
  long long n, first, last, count;  // count: pieces
  const offset_t* offsets;
  const Edge* edges;
  weight_t* known;
  weight_t* relaxed;
  unsigned char* dirty;
  uint32* pieces;
  uint32* owner;
  unsigned short* cursor;
  weight_t* due;
  uint32* chosen;
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

__device__ __forceinline__ long long thread_of_grid() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ long long threads_of_grid() {
  return static_cast<long long>(gridDim.x) * blockDim.x;
}

__device__ __forceinline__ void reset(State* state) {
  state->least = state->threshold = unreached();
  state->chosen = state->open = 0;
}

// The least sum that waited anywhere after a step.
__device__ __forceinline__ weight_t least_of(const Others& others, int devices, long long step) {
  weight_t least = unreached();
  for (int p = 0; p < devices; ++p) {
    const weight_t theirs = load_relaxed(&others.states[p][step % 3].least);
    least = theirs < least ? theirs : least;
  }
  return least;
}

// The least of what the devices know of a vertex, if one of them marked its line. Whole warps.
__device__ __forceinline__ weight_t fetched(const Part& part, const Others& others, int devices,
                                            int own, long long parity, long long v, bool there,
                                            weight_t d, uint64* lines) {
  for (int p = 0; p < devices; ++p) {
    if (p == own || others.dirty[p][parity * lines_of(part.n) + v / 32] == 0) continue;
    ++*lines;
    const weight_t theirs = there ? load_relaxed(others.known[p] + v) : unreached();
    d = theirs < d ? theirs : d;
  }
  return d;
}

// Calls each(piece, value) for the pieces of up to 32 vertices, each with its own value; the warp
// shares those of a long row. Whole warps.
template <class Value, class Each>
__device__ __forceinline__ void each_piece(uint32 begin, uint32 end, Value value, const Each& each) {
  for (uint32 left = __ballot_sync(kAllLanes, end - begin > 1); left != 0; left &= left - 1) {
    const int lane = __ffs(left) - 1;
    const uint32 from = __shfl_sync(kAllLanes, begin, lane), to = __shfl_sync(kAllLanes, end, lane);
    const Value theirs = of_lane(value, lane);
    for (uint32 at = from + lane_id(); at < to; at += 32) each(at, theirs);
  }
  if (end - begin == 1) each(begin, value);
}

extern "C" __global__ void partitioned_owners(Part part) {
  for (long long base = thread_of_grid() & ~31ll; base < part.last - part.first;
       base += threads_of_grid()) {
    const long long v = base + lane_id();
    const bool mine = v < part.last - part.first;
    each_piece(mine ? part.pieces[v] : 0, mine ? part.pieces[v + 1] : 0, static_cast<uint32>(v),
               [&](uint32 at, uint32 vertex) { part.owner[at] = vertex; });
  }
}

extern "C" __global__ void partitioned_begin(Part part, long long source) {
  const long long thread = thread_of_grid(), stride = threads_of_grid();
  for (long long v = thread; v < part.n; v += stride)
    part.known[v] = v == source && v >= part.first && v < part.last ? weight_t(0) : unreached();
  for (long long v = thread; v < part.last - part.first; v += stride) part.relaxed[v] = unreached();
  for (long long i = thread; i < 2 * lines_of(part.n); i += stride) part.dirty[i] = 0;
  for (long long i = thread; i < part.count; i += stride) part.due[i] = unreached();
  if (thread < 3) reset(part.states + thread);
  if (thread < 2) part.totals[thread] = 0;
}

extern "C" __global__ void partitioned_relax(Part part, long long step) {
  const State* const state = part.states + (step + 2) % 3;  // of the step before
  unsigned char* const dirty = part.dirty + (step & 1) * lines_of(part.n);
  const weight_t threshold = state->threshold;
  const long long chosen = state->chosen;
  uint64 looked_at = 0;
  for (long long base = thread_of_grid() & ~31ll; base < chosen; base += threads_of_grid()) {
    offset_t begin = 0, stop = 0;
    weight_t d = weight_t(0);
    if (base + lane_id() < chosen) {
      const uint32 piece = part.chosen[base + lane_id()], vertex = part.owner[piece];
      d = part.relaxed[vertex];
      const offset_t top =
          part.offsets[vertex] + static_cast<offset_t>(piece - part.pieces[vertex]) * kPiece;
      const offset_t bottom = part.offsets[vertex + 1];
      const offset_t end = bottom - top < kPiece ? bottom : top + kPiece;
      begin = top + part.cursor[piece];
      // The first edge whose sum is not below the threshold: what lies before `stop` is.
      stop = begin;
      weight_t next = unreached();
      for (offset_t beyond = end; stop < beyond;) {
        const offset_t middle = stop + (beyond - stop) / 2;
        const weight_t sum = add_saturating(d, edge_weight(load_edge(part.edges, middle)));
        if (sum < threshold) {
          stop = middle + 1;
        } else {
          beyond = middle;
          next = sum;
        }
      }
      part.cursor[piece] = static_cast<unsigned short>(stop - top);
      part.due[piece] = next;
    }
    const int degree = static_cast<int>(stop - begin);
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

extern "C" __global__ void partitioned_fetch(Part part, Others others, long long step, int devices,
                                             int own) {
  State* const state = part.states + step % 3;
  const weight_t final_below = step == 0 ? weight_t(0) : least_of(others, devices, step + 2);
  const long long lines = lines_of(part.n), stride = threads_of_grid(), thread = thread_of_grid();
  if (thread == 0) reset(part.states + (step + 1) % 3);
  for (long long i = thread; i < lines; i += stride) part.dirty[((step + 1) & 1) * lines + i] = 0;
  uint64 open = 0, read = 0;
  // Whole warps stay together: a line is a warp's.
  for (long long base = part.first + (thread & ~31ll); base < part.last; base += stride) {
    const long long v = base + lane_id();
    const bool mine = v < part.last;
    const weight_t had = mine ? load_relaxed(part.known + v) : unreached();
    const weight_t d = fetched(part, others, devices, own, step & 1, v, mine, had, &read);
    if (d < had) part.known[v] = d;
    const uint32 begin = mine ? part.pieces[v - part.first] : 0;
    const uint32 end = mine ? part.pieces[v - part.first + 1] : 0;
    open += begin != end && d >= final_below;
    const bool nearer = mine && d < part.relaxed[v - part.first];
    if (nearer) part.relaxed[v - part.first] = d;
    each_piece(begin, nearer ? end : begin, d, [&](uint32 at, weight_t from) {
      part.due[at] = from;
      part.cursor[at] = 0;
    });
  }
  open = warp_sum(open);
  if (lane_id() == 0 && open != 0) atomicAdd(&state->open, open);
  if (lane_id() == 0 && read != 0) atomicAdd(part.totals + 1, read);
}

extern "C" __global__ void partitioned_choose(Part part, Others others, long long step, int devices,
                                              weight_t delta) {
  State* const state = part.states + step % 3;
  const weight_t least = least_of(others, devices, step + 2);
  const weight_t threshold = step == 0 ? delta : add_saturating(least, delta);
  if (thread_of_grid() == 0) state->threshold = threshold;
  weight_t least_now = unreached();
  for (long long base = thread_of_grid() & ~31ll; base < part.count; base += threads_of_grid()) {
    const weight_t due = base + lane_id() < part.count ? part.due[base + lane_id()] : unreached();
    least_now = due < least_now ? due : least_now;
    const uint32 now = __ballot_sync(kAllLanes, due < threshold);
    if (now == 0) continue;
    uint64 at = 0;
    if (lane_id() == 0) at = atomicAdd(&state->chosen, uint64(__popc(now)));
    at = __shfl_sync(kAllLanes, at, 0);
    if (due < threshold)
      part.chosen[at + __popc(now & ((1u << lane_id()) - 1))] = static_cast<uint32>(base + lane_id());
  }
  const weight_t least_here = warp_min(least_now);
  if (lane_id() == 0 && least_here < unreached()) atomic_minimum(&state->least, least_here);
}

// What the others' own vertices have: of all of them, or of those whose lines they marked.
extern "C" __global__ void partitioned_learn(Part part, Others others, long long round, int devices,
                                             int own, const long long* bounds) {
  const long long lines = lines_of(part.n), stride = threads_of_grid();
  for (long long base = thread_of_grid() & ~31ll; base < part.n; base += stride) {
    const long long v = base + lane_id();
    int p = 0;
    while (p + 1 < devices && base >= bounds[p + 1]) ++p;  // bounds are multiples of 32
    if (p == own || v >= part.n) continue;
    if (round != 0 && others.dirty[p][(round & 1) * lines + base / 32] == 0) continue;
    part.known[v] = load_relaxed(others.known[p] + v);
  }
}

// The vertices that are not final take the least over their edges, which are in both directions.
extern "C" __global__ void partitioned_pull(Part part, long long round, weight_t final_below) {
  unsigned char* const dirty = part.dirty + (round & 1) * lines_of(part.n);
  State* const state = part.states + round % 3;
  uint64 changed = 0;
  for (long long base = part.first + (thread_of_grid() & ~31ll); base < part.last;
       base += threads_of_grid()) {
    const long long v = base + lane_id();
    const bool open = v < part.last && load_relaxed(part.known + v) >= final_below;
    for (uint32 left = __ballot_sync(kAllLanes, open); left != 0; left &= left - 1) {
      const long long vertex = base + __ffs(left) - 1;
      const weight_t had = load_relaxed(part.known + vertex);
      weight_t best = had;
      const offset_t begin = part.offsets[vertex - part.first];
      const offset_t end = part.offsets[vertex - part.first + 1];
      const bool sorted = end - begin <= kPiece;
      for (offset_t e = begin + lane_id(); e < end; e += 32) {
        const Edge edge = load_edge(part.edges, e);
        if (sorted && edge_weight(edge) >= best) break;
        const weight_t from = load_relaxed(part.known + edge.target);
        const weight_t sum = add_saturating(from, edge_weight(edge));
        best = sum < best ? sum : best;
      }
      best = warp_min(best);
      if (lane_id() != 0 || best >= had) continue;
      atomic_minimum(part.known + vertex, best);
      dirty[vertex / 32] = 1;
      ++changed;
    }
  }
  if (changed != 0) atomicAdd(&state->chosen, changed);
}

// Between the rounds of pull: the marks and the count of the next one.
extern "C" __global__ void partitioned_next(Part part, long long round) {
  const long long lines = lines_of(part.n);
  for (long long i = thread_of_grid(); i < lines; i += threads_of_grid())
    part.dirty[(round & 1) * lines + i] = 0;
  if (thread_of_grid() == 0) reset(part.states + round % 3);
}

// Whether distances are shortest, where weights are positive: no edge lowers one, and every reached
// vertex but the source has an edge that gives its distance. `known` holds every vertex's distance;
// tight[n] (bytes, 0) and wrong[1] (0) are written.
extern "C" __global__ void partitioned_prove(Part part, unsigned char* tight, uint64* wrong) {
  const long long warps = threads_of_grid() / 32;
  uint64 found = 0;
  for (long long v = part.first + thread_of_grid() / 32; v < part.last; v += warps) {
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
