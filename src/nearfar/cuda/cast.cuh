// Converts numbers to another type, with denormal floats as they are: CuPy's own kernels are compiled to flush them to zero.
//
// Macros: FROM_T and TO_T. Arrays: given[count], made[count]. Launch: any. Races: none.

extern "C" __global__ void cast(const FROM_T* given, TO_T* made, long long count) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    made[i] = static_cast<TO_T>(given[i]);
}
