// Loads of edges from finished shortest-path trees: one thread per pair walks its path backwards.
//
// A pair adds its amount to every edge of its path. Amounts are integers; floats are two integers
// (amount * 2^scale split into a high and a low part). Additions are exact, so their order changes
// nothing and a run repeats bit for bit. Pairs of one source share the first edges of their paths,
// and each addition to those is an atomic; searching many sources at once spreads the atomics.
//
// Arrays: entering_*: the reversed graph's rows, sorted by tail, equal tails in order of the edges;
// distances, before: a row of n per source, before -1 for none; row_of, targets, high, low: per
// pair (low null: high is the amount); loads_high, loads_low: m, in the order of the entering rows,
// added to; lengths: per pair, infinite without a path.
// Macros: PREDECESSOR_T.
// requires: cuda/primitives/edges.cuh

// Returns the edge into v from u: of parallel ones the lightest, ties by lowest id.
__device__ __forceinline__ offset_t entering_edge(const offset_t* offsets, const Edge* edges, int v,
                                                  int u) {
  offset_t low = offsets[v], high = offsets[v + 1];
  const offset_t end = high;
  while (high - low > 8) {  // rows are sorted by tail
    const offset_t middle = low + (high - low) / 2;
    if (load_edge(edges, middle - 1).target < u)
      low = middle;
    else
      high = middle;
  }
  while (load_edge(edges, low).target != u) ++low;
  offset_t best = low;
  weight_t least = edge_weight(load_edge(edges, low));
  for (++low; low < end; ++low) {
    const Edge edge = load_edge(edges, low);
    if (edge.target != u) break;
    const weight_t weight = edge_weight(edge);
    if (weight < least) {
      least = weight;
      best = low;
    }
  }
  return best;
}

extern "C" __global__ void tree_loads(const offset_t* entering_offsets, const Edge* entering_edges,
                                      const weight_t* distances, const PREDECESSOR_T* before,
                                      const int* row_of, const int* targets, const uint64* high,
                                      const uint64* low, uint64* loads_high, uint64* loads_low,
                                      double* lengths, long long pairs, long long n) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < pairs;
       i += step) {
    const long long row = row_of[i] * n;
    int v = targets[i];
    const weight_t length = distances[row + v];
    if (length == unreached()) {
      lengths[i] = __longlong_as_double(0x7ff0000000000000ll);
      continue;
    }
    lengths[i] = static_cast<double>(length);
    const uint64 more = high[i], less = low ? low[i] : 0;
    for (int u; (u = static_cast<int>(before[row + v])) >= 0; v = u) {
      const offset_t edge = entering_edge(entering_offsets, entering_edges, v, u);
      if (more) atomicAdd(loads_high + edge, more);
      if (less) atomicAdd(loads_low + edge, less);
    }
  }
}
