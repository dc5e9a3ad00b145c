// Converts distances to another dtype; unreached ones stay unreached.
//
// Macros: FROM_T (the dtype of the given distances: int or float).
// Arrays: given[count], distance[count]. Launch: any. Races: none.
// requires: cuda/primitives/types.cuh

extern "C" __global__ void widen(const FROM_T* given, weight_t* distance, long long count) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long v = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; v < count;
       v += stride) {
    const FROM_T value = given[v];
    distance[v] = value == Unreached<FROM_T>::value() ? unreached() : static_cast<weight_t>(value);
  }
}
