// Shortcuts over vertices of few edges, in rows at fixed positions: for row_heads.py.
//
// A search over a road network takes as many rounds as its longest shortest path has edges. So
// vertices of few edges, no two of them neighbours, are removed: a row with an edge to one gets
// edges to that vertex's other neighbours instead, each as long as the two edges together.
// (Prepared graphs eliminate all vertices in this way.) This is repeated several times on the
// remaining vertices. The distances of removed vertices follow at the end from those of their
// neighbours, which were removed later or not at all (beyond_row.cuh).
//
// A vertex can be taken out when each of its edges also exists in the other direction, with the
// same weight, and leads to no removed vertex. Its own row stays, so that a search may start there,
// or reach it over an edge that stays: one that has no equal edge back, or one in a row that would
// not fit with shortcuts and is left unchanged.
//
// With CHAINS pack_heads.cuh makes the rows that searches read. Rounding never puts a lesser sum above a
// greater one, so the least of the sums over a removed vertex is its distance plus the next weight, to
// the last bit. Of two shortcuts to a vertex both are kept, unless no sum over one exceeds that over
// the other.
//
// heads[n * ROW_HEAD] as row_heads.cuh leaves them, state[n] and *n_out zeroed -> rows with
// shortcuts, kRemovedRow and the time, counted from 0, in the last place of the rows of removed
// vertices, and the number of these. For each time: removable once, choose_removed several times,
// lead_past once.
// Launch: any grid, one thread per vertex, grid-stride. Races: choose_removed reads states that
// others change; of two neighbours only the one with the lesser key can be taken out, whichever
// state the other reads. lead_past reads only rows of vertices that are taken out, which do not
// change except in their last place.
// requires: cuda/graph/head_edges.cuh

enum State : unsigned char { kStays, kOpen, kRemoved, kOut };  // kOut: removed earlier

// Fewest edges first. Of two neighbours with equal keys neither is taken out.
__device__ __forceinline__ unsigned int key_of(const HeadEdge* heads, vertex_t v) {
  int degree = 0;
  while (degree < kFewEdges && heads[static_cast<long long>(v) * ROW_HEAD + degree].target >= 0) ++degree;
  unsigned int mixed = static_cast<unsigned int>(v) * 2654435761u;
  mixed ^= mixed >> 15;
  mixed *= 2246822519u;
  return static_cast<unsigned int>(degree) << 28 | mixed >> 4;
}

#if CHAINS
// Returns true if no sum over `one` exceeds that over `other`, however sums are rounded: each of its
// weights is at most another weight of `other`, in the same order.
__device__ __forceinline__ bool no_heavier(const HeadEdge& one, const HeadEdge& other) {
  int at = 0;
  for (int i = 0; i < one.count; ++i, ++at) {
    while (at < other.count && other.weight[at] < one.weight[i]) ++at;
    if (at == other.count) return false;
  }
  return true;
}

// Makes `then` a shortcut over `first` and itself; returns false if that is not possible.
__device__ __forceinline__ bool join(const HeadEdge& first, HeadEdge* then) {
  if (first.count + then->count > kMostWeights) return false;
  for (int i = then->count; i-- > 0;) then->weight[first.count + i] = then->weight[i];
  for (int i = 0; i < first.count; ++i) then->weight[i] = first.weight[i];
  then->count += first.count;
  return true;
}

__device__ __forceinline__ void set_time(HeadEdge* place, int time) { place->count = time; }

// Returns true if the weights of one are those of the other, backwards.
__device__ __forceinline__ bool mirrored(const HeadEdge& one, const HeadEdge& other) {
  bool same = one.count == other.count;
  for (int i = 0; same && i < one.count; ++i) same = one.weight[i] == other.weight[one.count - 1 - i];
  return same;
}
#else
__device__ __forceinline__ bool no_heavier(const HeadEdge& one, const HeadEdge& other) {
  return !(other.weight < one.weight);
}

__device__ __forceinline__ bool join(const HeadEdge& first, HeadEdge* then) {
  then->weight = add_saturating(first.weight, then->weight);
  return then->weight < unreached();
}

__device__ __forceinline__ void set_time(HeadEdge* place, int time) { place->weight = static_cast<weight_t>(time); }

__device__ __forceinline__ bool mirrored(const HeadEdge& one, const HeadEdge& other) {
  return one.weight == other.weight;
}
#endif

// Returns true if the edge's target has the same edge back to v.
__device__ __forceinline__ bool leads_back(const HeadEdge* heads, vertex_t v, const HeadEdge& edge) {
  for (int j = 0; j < ROW_HEAD; ++j) {
    const HeadEdge back = heads[static_cast<long long>(edge.target) * ROW_HEAD + j];
    if (back.target == v && mirrored(back, edge)) return true;
  }
  return false;
}

extern "C" __global__ void removable(const HeadEdge* heads, unsigned char* state, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const bool out = state[i] >= kRemoved;
    bool can = !out && heads[i * ROW_HEAD].target >= 0;
    for (int j = 0; can && j < ROW_HEAD; ++j) {
      const HeadEdge edge = heads[i * ROW_HEAD + j];
      if (edge.target < 0) break;
      can = j < kFewEdges && edge.target != i && state[edge.target] < kRemoved &&
            leads_back(heads, static_cast<vertex_t>(i), edge);
    }
    state[i] = out ? kOut : can ? kOpen : kStays;
  }
}

extern "C" __global__ void choose_removed(const HeadEdge* heads, volatile unsigned char* state, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    if (state[i] != kOpen) continue;
    const unsigned int key = key_of(heads, static_cast<vertex_t>(i));
    bool least = true, beside = false;
    for (int j = 0; j < kFewEdges; ++j) {
      const vertex_t u = heads[i * ROW_HEAD + j].target;
      if (u < 0) break;
      const unsigned char other = state[u];
      beside |= other == kRemoved;
      least &= other != kOpen || key < key_of(heads, u);
    }
    if (beside) state[i] = kStays;
    else if (least) state[i] = kRemoved;
  }
}

// A row under construction.
struct NewRow {
  HeadEdge edge[ROW_HEAD];
  int size;
  bool fits;

  __device__ __forceinline__ void add(const HeadEdge& added) {
    for (int i = 0; i < size; ++i) {
      if (edge[i].target != added.target) continue;
      if (no_heavier(edge[i], added)) return;
      if (!no_heavier(added, edge[i])) continue;
      edge[i] = added;
      return;
    }
    fits &= size < ROW_HEAD;
    if (fits) edge[size++] = added;
  }
};

// Returns true if a row has room for the weights of all its edges.
__device__ __forceinline__ bool has_room(const NewRow& row) {
#if CHAINS
  int weights = 0;
  for (int i = 0; i < row.size; ++i) weights += row.edge[i].count;
  return weights <= kRoom;
#else
  return true;
#endif
}

extern "C" __global__ void lead_past(HeadEdge* heads, const unsigned char* state, long long n, long long time,
                                     unsigned int* n_out) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    HeadEdge* const own = heads + i * ROW_HEAD;
    if (state[i] == kRemoved) {
      own[ROW_HEAD - 1].target = kRemovedRow;
      set_time(own + ROW_HEAD - 1, static_cast<int>(time));
      atomicAdd(n_out, 1u);
    }
    if (state[i] >= kRemoved) continue;
    NewRow row{};
    row.fits = true;
    bool past = false;
    for (int j = 0; row.fits && j < ROW_HEAD; ++j) {
      const HeadEdge edge = own[j];
      const vertex_t v = edge.target;
      if (v < 0) break;
      if (state[v] != kRemoved || !leads_back(heads, static_cast<vertex_t>(i), edge)) {
        row.add(edge);
        continue;
      }
      past = true;
      for (int k = 0; row.fits && k < kFewEdges; ++k) {
        HeadEdge beyond = heads[static_cast<long long>(v) * ROW_HEAD + k];
        if (beyond.target < 0) break;
        row.fits &= join(edge, &beyond);
        if (beyond.target != i) row.add(beyond);
      }
    }
    if (!past || !row.fits || !has_room(row)) continue;
    for (int j = 0; j < ROW_HEAD; ++j) {
      HeadEdge none{};
      none.target = kNoVertex;
      own[j] = j < row.size ? row.edge[j] : none;
    }
  }
}
