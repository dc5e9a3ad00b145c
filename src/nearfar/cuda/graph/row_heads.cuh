// Short rows at fixed positions, addressed by the vertex: see one_launch_heads.cuh.
//
// offsets[n + 1], edges[m] -> heads[n * ROW_HEAD]: a row of up to ROW_HEAD edges, padded with edges
// to kNoVertex; for a longer row only edges to kLongRow. With ONES `edges` has only targets, and
// the heads have weights of 1. *n_long, zeroed before, counts the longer rows.
// Launch: any grid, grid-stride. No races: every edge is written by one thread.
// requires: cuda/graph/head_edges.cuh

#ifndef ROW_HEAD
#define ROW_HEAD 4
#endif
#ifndef ONES
#define ONES 0
#endif

__device__ __forceinline__ HeadEdge edge_at(const void* edges, offset_t i) {
#if ONES
  HeadEdge edge{};
  edge.target = __ldg(static_cast<const vertex_t*>(edges) + i);
  edge.weight = weight_t(1);
  return edge;
#elif CHAINS
  const Edge given = load_edge(static_cast<const Edge*>(edges), i);
  return HeadEdge{given.target, 1, {given.weight}};
#else
  return load_edge(static_cast<const Edge*>(edges), i);
#endif
}

extern "C" __global__ void row_heads(const offset_t* offsets, const void* edges, HeadEdge* heads,
                                     long long n, unsigned int* n_long) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long i = thread; i < n * ROW_HEAD; i += stride) {
    const long long v = i / ROW_HEAD;
    const offset_t begin = __ldg(offsets + v), degree = __ldg(offsets + v + 1) - begin;
    const offset_t j = static_cast<offset_t>(i % ROW_HEAD);
    HeadEdge edge{};
    edge.target = degree > ROW_HEAD ? kLongRow : kNoVertex;
    if (j == 0 && degree > ROW_HEAD) atomicAdd(n_long, 1u);
    if (degree <= ROW_HEAD && j < degree) edge = edge_at(edges, begin + j);
    heads[i] = edge;
  }
}
