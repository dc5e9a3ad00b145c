// Builds the device's form of a graph: edge records, and row bounds in the type that the kernels use.
//
// pack_edges: indices[m] (SOURCE_T), weights[m] (weight_t, unused without weights) -> edges[m].
// convert_offsets: from[n + 1] (SOURCE_T) -> to[n + 1] (offset_t).
// Launch: any grid, grid-stride. No races: every element is written by one thread.
// requires: cuda/primitives/edges.cuh

typedef SOURCE_T source_t;

extern "C" __global__ void pack_edges(const source_t* indices, const weight_t* weights, Edge* edges,
                                      long long m) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < m; i += stride) {
    Edge edge;
    edge.target = static_cast<vertex_t>(indices[i]);
#if WEIGHTED
    edge.weight = weights[i];
#endif
    edges[i] = edge;
  }
}

extern "C" __global__ void convert_offsets(const source_t* from, offset_t* to, long long count) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    to[i] = static_cast<offset_t>(from[i]);
}
