// Edges in 4 bytes each, from the records of edges.cuh; see one_launch_edges.cuh.
//
// edges[m] -> words[m]: the target in the low EDGE_BITS bits, the weight above.
// Launch: any grid, grid-stride. No races: every word is written by one thread.
// requires: cuda/edges.cuh

extern "C" __global__ void shrink_edges(const Edge* edges, uint32* words, long long m) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < m;
       i += stride) {
    const Edge edge = load_edge(edges, static_cast<offset_t>(i));
    words[i] = static_cast<uint32>(edge.target) | static_cast<uint32>(edge_weight(edge))
                                                      << EDGE_BITS;
  }
}
