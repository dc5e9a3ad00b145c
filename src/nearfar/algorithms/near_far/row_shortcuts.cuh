// Heads of rows with shortcuts past vertices of few edges: for row_heads.py, see one_launch_heads.cuh.
//
// A search over a road network is a chain of as many rounds as its longest shortest path has edges. So vertices
// of few edges, no two of them neighbours, are taken out: whoever has an edge to one gets edges to that one's other neighbours
// in its place, which are as long as the two edges together. (This is the first step of eliminating vertices, as the
// orders of prepared graphs do with all of them; the neighbours of a vertex that is out are each other's instead.) Paths have a
// third fewer edges then. Distances of the vertices that are out follow in the end from their neighbours' (beyond_row).
//
// A vertex can be taken out when each of its edges also exists the other way, with the same weight. Its own row stays, so
// that a search may start there, or come there over an edge that stays: one to it that is shorter than those from it, or
// one in a row that with shortcuts would not fit, which then stays as it is.
//
// offsets[n + 1], edges[m] -> state[n]: by removable, then several times choose_removed; heads[n * ROW_HEAD] by
// rows_with_shortcuts, as row_heads.cuh has them, with kRemovedRow in the last place of rows of vertices that are out.
// Launch: any grid, one thread per vertex, grid-stride. Races: choose_removed reads states that others change; of
// two neighbours only the one with the lesser key can be taken out, whatever the other reads.
// requires: cuda/edges.cuh
// requires: cuda/distance.cuh
// requires: algorithms/near_far/row_marks.cuh

constexpr int kFewEdges = 4;     // of a vertex that may be taken out
constexpr int kMostToScan = 32;  // edges of a row that one thread reads
enum State : unsigned char { kOpen, kRemoved, kStays };

__device__ __forceinline__ unsigned int key_of(vertex_t v, offset_t degree) {
  unsigned int mixed = static_cast<unsigned int>(v) * 2654435761u;
  mixed ^= mixed >> 15;
  mixed *= 2246822519u;
  // Fewest edges first. Of two neighbours with equal keys neither is taken out.
  return static_cast<unsigned int>(degree) << 28 | mixed >> 4;
}

// Whether the row has an edge to v of at most that weight; `exactly`: of that weight.
__device__ __forceinline__ bool leads_to(const offset_t* offsets, const Edge* edges, vertex_t row, vertex_t v,
                                         weight_t weight, bool exactly) {
  const offset_t begin = __ldg(offsets + row), end = __ldg(offsets + row + 1);
  if (end - begin > kMostToScan) return false;
  for (offset_t j = begin; j < end; ++j) {
    const Edge edge = load_edge(edges, j);
    if (edge.target == v && (exactly ? edge.weight == weight : !(weight < edge.weight))) return true;
  }
  return false;
}

extern "C" __global__ void removable(const offset_t* offsets, const Edge* edges, unsigned char* state,
                                     long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const vertex_t v = static_cast<vertex_t>(i);
    const offset_t begin = __ldg(offsets + v), end = __ldg(offsets + v + 1);
    bool can = begin < end && end - begin <= kFewEdges;
    for (offset_t j = begin; can && j < end; ++j) {
      const Edge edge = load_edge(edges, j);
      can = edge.target != v && leads_to(offsets, edges, edge.target, v, edge.weight, true);
    }
    state[v] = can ? kOpen : kStays;
  }
}

extern "C" __global__ void choose_removed(const offset_t* offsets, const Edge* edges,
                                          volatile unsigned char* state, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const vertex_t v = static_cast<vertex_t>(i);
    if (state[v] != kOpen) continue;
    const offset_t begin = __ldg(offsets + v), end = __ldg(offsets + v + 1);
    const unsigned int key = key_of(v, end - begin);
    bool least = true, beside = false;
    for (offset_t j = begin; j < end; ++j) {
      const vertex_t u = load_edge(edges, j).target;
      const unsigned char other = state[u];
      beside |= other == kRemoved;
      least &= other != kOpen || key < key_of(u, __ldg(offsets + u + 1) - __ldg(offsets + u));
    }
    if (beside) state[v] = kStays;
    else if (least) state[v] = kRemoved;
  }
}

// A row as it is put together.
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

extern "C" __global__ void rows_with_shortcuts(const offset_t* offsets, const Edge* edges,
                                               const unsigned char* state, Edge* heads, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const vertex_t u = static_cast<vertex_t>(i);
    const offset_t begin = __ldg(offsets + u), end = __ldg(offsets + u + 1);
    const bool removed = state[u] == kRemoved;
    NewRow row;
    row.size = 0;
    row.fits = !removed && end - begin <= kMostToScan;
    for (offset_t j = begin; row.fits && j < end; ++j) {
      const Edge edge = load_edge(edges, j);
      const vertex_t v = edge.target;
      if (state[v] != kRemoved || !leads_to(offsets, edges, v, u, edge.weight, false)) {
        row.add(v, edge.weight);
        continue;
      }
      const offset_t last = __ldg(offsets + v + 1);
      for (offset_t k = __ldg(offsets + v); row.fits && k < last; ++k) {
        const Edge beyond = load_edge(edges, k);
        const weight_t both = add_saturating(edge.weight, beyond.weight);
        row.fits &= both < unreached();
        if (beyond.target != u) row.add(beyond.target, both);
      }
    }
    if (!row.fits) {
      row.size = 0;
      for (offset_t j = begin; end - begin <= ROW_HEAD && j < end; ++j) row.edge[row.size++] = load_edge(edges, j);
    }
    for (int j = 0; j < ROW_HEAD; ++j) {
      Edge edge{};
      edge.target = removed && j == ROW_HEAD - 1                 ? kRemovedRow
                    : !row.fits && end - begin > ROW_HEAD ? kLongRow
                                                           : kNoVertex;
      heads[i * ROW_HEAD + j] = j < row.size ? row.edge[j] : edge;
    }
  }
}
