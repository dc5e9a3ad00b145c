// Shortcuts over vertices of few edges, in rows at fixed positions: for row_heads.py.
//
// A search over a road network takes as many rounds as its longest shortest path has edges. So
// vertices of few edges, no two of them neighbours, are taken out: a row with an edge to one gets edges
// to that vertex's other neighbours instead, each as long as the two edges together. (Prepared graphs
// eliminate all vertices in this way.) This is repeated several times on the remaining vertices. The
// distances of removed vertices follow at the end from those of their neighbours, which were removed
// later or not at all (beyond_row.cuh).
//
// A vertex can be taken out when each of its edges also exists in the other direction, with the same
// weight, and leads to no removed vertex. Its own row stays, so that a search may start there, or reach
// it over an edge that stays: one shorter than the edges back, or one in a row that would not fit with
// shortcuts and is left unchanged.
//
// heads[n * ROW_HEAD] as row_heads.cuh leaves them, state[n] and *n_out zeroed -> rows with shortcuts,
// kRemovedRow and the time, counted from 0, in the last place of the rows of removed vertices, and the
// number of these. For each time: removable once, choose_removed several times, lead_past once.
// Launch: any grid, one thread per vertex, grid-stride. Races: choose_removed reads states that others
// change; of two neighbours only the one with the lesser key can be taken out, whichever state the other
// reads. lead_past reads only rows of vertices that are taken out, which do not change except in their
// last place.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/graph/row_marks.cuh

enum State : unsigned char { kStays, kOpen, kRemoved, kOut };  // kOut: taken out before

// Fewest edges first. Of two neighbours with equal keys neither is taken out.
__device__ __forceinline__ unsigned int key_of(const Edge* heads, vertex_t v) {
  int degree = 0;
  while (degree < kFewEdges && heads[static_cast<long long>(v) * ROW_HEAD + degree].target >= 0) ++degree;
  unsigned int mixed = static_cast<unsigned int>(v) * 2654435761u;
  mixed ^= mixed >> 15;
  mixed *= 2246822519u;
  return static_cast<unsigned int>(degree) << 28 | mixed >> 4;
}

// True if the row has an edge to v of at most that weight; `exactly`: of that weight.
__device__ __forceinline__ bool leads_to(const Edge* heads, vertex_t row, vertex_t v, weight_t weight, bool exactly) {
  for (int j = 0; j < ROW_HEAD; ++j) {
    const Edge edge = heads[static_cast<long long>(row) * ROW_HEAD + j];
    if (edge.target == v && (exactly ? edge.weight == weight : !(weight < edge.weight))) return true;
  }
  return false;
}

extern "C" __global__ void removable(const Edge* heads, unsigned char* state, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const bool out = state[i] >= kRemoved;
    bool can = !out && heads[i * ROW_HEAD].target >= 0;
    for (int j = 0; can && j < ROW_HEAD; ++j) {
      const Edge edge = heads[i * ROW_HEAD + j];
      if (edge.target < 0) break;
      can = j < kFewEdges && edge.target != i && state[edge.target] < kRemoved &&
            leads_to(heads, edge.target, static_cast<vertex_t>(i), edge.weight, true);
    }
    state[i] = out ? kOut : can ? kOpen : kStays;
  }
}

extern "C" __global__ void choose_removed(const Edge* heads, volatile unsigned char* state, long long n) {
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
  Edge edge[ROW_HEAD];
  int size;
  bool fits;

  __device__ __forceinline__ void add(vertex_t target, weight_t weight) {
    for (int i = 0; i < size; ++i) {
      if (edge[i].target != target) continue;
      if (weight < edge[i].weight) edge[i].weight = weight;
      return;
    }
    fits &= size < ROW_HEAD;
    if (!fits) return;
    edge[size].target = target;
    edge[size].weight = weight;
    ++size;
  }
};

extern "C" __global__ void lead_past(Edge* heads, const unsigned char* state, long long n, long long time,
                                     unsigned int* n_out) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    Edge* const own = heads + i * ROW_HEAD;
    if (state[i] == kRemoved) {
      own[ROW_HEAD - 1].target = kRemovedRow;
      own[ROW_HEAD - 1].weight = static_cast<weight_t>(time);
      atomicAdd(n_out, 1u);
    }
    if (state[i] >= kRemoved) continue;
    NewRow row{};
    row.fits = true;
    bool past = false;
    for (int j = 0; row.fits && j < ROW_HEAD; ++j) {
      const Edge edge = own[j];
      const vertex_t v = edge.target;
      if (v < 0) break;
      if (state[v] != kRemoved || !leads_to(heads, v, static_cast<vertex_t>(i), edge.weight, false)) {
        row.add(v, edge.weight);
        continue;
      }
      past = true;
      for (int k = 0; row.fits && k < kFewEdges; ++k) {
        const Edge beyond = heads[static_cast<long long>(v) * ROW_HEAD + k];
        if (beyond.target < 0) break;
        const weight_t both = add_saturating(edge.weight, beyond.weight);
        row.fits &= both < unreached();
        if (beyond.target != i) row.add(beyond.target, both);
      }
    }
    if (!past || !row.fits) continue;
    for (int j = 0; j < ROW_HEAD; ++j) {
      Edge none{};
      none.target = kNoVertex;
      own[j] = j < row.size ? row.edge[j] : none;
    }
  }
}
