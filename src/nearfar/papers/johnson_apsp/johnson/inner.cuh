// Johnson's method as in the paper: reweighting, and the inner parallel Dijkstra in three forms that differ in
// how the frontier is kept (johnson-cuda, Algorithms 3 and 5-10).
//
// An iteration: relax the frontier; delta = min over unsettled u of distance[u] + lightest[u], the lightest
// out-edge of u (Crauser et al. 1998, OUT criterion); every unsettled vertex with distance <= delta is settled
// and is the next frontier. The run ends when delta is unreached. The host looks at delta (and the number of
// frontier vertices) between iterations, as in the paper.
//
// Arrays of n: distance, lightest, unsettled (bytes), frontier (bytes; flag form), queue (queue and prefix
// forms), mark (prefix form: 1 for the next frontier; its inclusive prefix sum gives the places).
// state[0]: delta. count[0]: length of the queue.
// Departure: Algorithm 6 relaxes only unsettled targets; the test is kept, it saves the atomic.
// Races: none; relax reads distances of settled vertices only, which are not written.
// Launch: blocks of 256, any grid, one thread per vertex, grid-stride.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/warp.cuh

#define FOR_EACH(i, n)                                                                    \
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x,       \
                 stride_ = static_cast<long long>(gridDim.x) * blockDim.x;                \
       i < (n); i += stride_)

// Algorithm 3: weights become w + h[u] - h[v]; rounding below zero becomes zero.
extern "C" __global__ void reweight(const offset_t* offsets, Edge* edges, const weight_t* h, long long n) {
  FOR_EACH(u, n) {
    for (offset_t e = offsets[u]; e < offsets[u + 1]; ++e) {
#if WEIGHTED
      const weight_t w = edges[e].weight + h[u] - h[edges[e].target];
      edges[e].weight = w < 0 ? weight_t(0) : w;
#endif
    }
  }
}

extern "C" __global__ void lightest_edges(const offset_t* offsets, const Edge* edges, weight_t* lightest,
                                          long long n) {
  FOR_EACH(u, n) {
    weight_t least = unreached();
    for (offset_t e = offsets[u]; e < offsets[u + 1]; ++e) {
      const weight_t w = edge_weight(load_edge(edges, e));
      if (w < least) least = w;
    }
    lightest[u] = least;
  }
}

extern "C" __global__ void start_inner(weight_t* distance, unsigned char* unsettled, unsigned char* frontier,
                                       vertex_t* queue, uint32* count, long long n, long long source) {
  FOR_EACH(v, n) {
    distance[v] = v == source ? weight_t(0) : unreached();
    unsettled[v] = v != source;
    frontier[v] = v == source;
    if (v == 0) {
      queue[0] = static_cast<vertex_t>(source);
      count[0] = 1;
    }
  }
}

__device__ __forceinline__ void relax_vertex(const offset_t* offsets, const Edge* edges, weight_t* distance,
                                             const unsigned char* unsettled, long long v) {
  const weight_t d = distance[v];
  for (offset_t e = offsets[v]; e < offsets[v + 1]; ++e) {
    const Edge edge = load_edge(edges, e);
    if (!unsettled[edge.target]) continue;
    const weight_t sum = add_saturating(d, edge_weight(edge));
    if (sum < load_relaxed(distance + edge.target)) atomic_minimum(distance + edge.target, sum);
  }
}

// Algorithm 6.
extern "C" __global__ void relax_flags(const offset_t* offsets, const Edge* edges, weight_t* distance,
                                       const unsigned char* unsettled, const unsigned char* frontier,
                                       weight_t* state, long long n) {
  if (blockIdx.x == 0 && threadIdx.x == 0) state[0] = unreached();
  FOR_EACH(v, n) {
    if (frontier[v]) relax_vertex(offsets, edges, distance, unsettled, v);
  }
}

// Algorithm 8. Reads the queue's length and leaves it; `clear_count` follows.
extern "C" __global__ void relax_queue(const offset_t* offsets, const Edge* edges, weight_t* distance,
                                       const unsigned char* unsettled, const vertex_t* queue,
                                       const uint32* count, weight_t* state) {
  if (blockIdx.x == 0 && threadIdx.x == 0) state[0] = unreached();
  FOR_EACH(i, static_cast<long long>(count[0])) {
    relax_vertex(offsets, edges, distance, unsettled, queue[i]);
  }
}

// Minimum of Algorithm 5. Also empties the queue, which relax has read.
extern "C" __global__ void minimum_threshold(const weight_t* distance, const weight_t* lightest,
                                             const unsigned char* unsettled, weight_t* state, uint32* count,
                                             long long n) {
  if (blockIdx.x == 0 && threadIdx.x == 0) count[0] = 0;
  weight_t least = unreached();
  FOR_EACH(v, n) {
    if (!unsettled[v] || distance[v] == unreached()) continue;
    const weight_t sum = add_saturating(distance[v], lightest[v]);
    if (sum < least) least = sum;
  }
  least = warp_min(least);
  if (lane_id() == 0 && least < load_relaxed(state)) atomic_minimum(state, least);
}

// Algorithm 7.
extern "C" __global__ void update_flags(const weight_t* distance, unsigned char* unsettled,
                                        unsigned char* frontier, const weight_t* state, long long n) {
  const weight_t delta = state[0];
  FOR_EACH(v, n) {
    const bool settle = unsettled[v] && distance[v] <= delta && distance[v] != unreached();
    frontier[v] = settle;
    if (settle) unsettled[v] = 0;
  }
}

// Algorithm 9.
extern "C" __global__ void update_queue(const weight_t* distance, unsigned char* unsettled, vertex_t* queue,
                                        uint32* count, const weight_t* state, long long n) {
  const weight_t delta = state[0];
  FOR_EACH(v, n) {
    if (!unsettled[v] || !(distance[v] <= delta) || distance[v] == unreached()) continue;
    unsettled[v] = 0;
    queue[atomicAdd(count, 1u)] = static_cast<vertex_t>(v);
  }
}

// Algorithm 10: marks; a prefix sum; then each marked vertex knows its place.
extern "C" __global__ void mark_next(const weight_t* distance, const unsigned char* unsettled, int* mark,
                                     const weight_t* state, long long n) {
  const weight_t delta = state[0];
  FOR_EACH(v, n) mark[v] = unsettled[v] && distance[v] <= delta && distance[v] != unreached();
}

extern "C" __global__ void update_prefix(const int* place, unsigned char* unsettled, vertex_t* queue,
                                         uint32* count, long long n) {
  FOR_EACH(v, n) {
    const int before = v == 0 ? 0 : place[v - 1];
    if (place[v] != before) {
      unsettled[v] = 0;
      queue[before] = static_cast<vertex_t>(v);
    }
    if (v == n - 1) count[0] = place[v];
  }
}
