// Marks every distance above a bound as unreached, for runs with a limit or with targets.
//
// Arrays: distance[count]. Launch: any. Races: none.
// requires: cuda/primitives/types.cuh

extern "C" __global__ void mask_above(weight_t* distance, weight_t bound, long long count) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < count;
       v += stride)
    if (distance[v] > bound) distance[v] = unreached();
}
