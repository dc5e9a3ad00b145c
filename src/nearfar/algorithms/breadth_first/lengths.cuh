// Replaces numbers of edges by the lengths of such paths, where all weights are equal.
//
// Arrays: hops[n], lengths[n] by number of edges; distance[n], which may be the memory of hops.
// Launch: any. Races: none.
// requires: cuda/primitives/types.cuh

extern "C" __global__ void lengths_of_hops(const int* hops, const weight_t* lengths,
                                           weight_t* distance, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < n;
       v += stride) {
    const int count = hops[v];
    distance[v] = count == 0x7fffffff ? unreached() : lengths[count];
  }
}
