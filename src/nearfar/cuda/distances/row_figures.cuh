// Number of reached entries of each row, their sum, minimum and maximum, in one pass.
//
// Integers are added exactly, modulo 2^64: the caller sees from the extremes whether a sum can have
// wrapped. Sums of floats depend on their order and are not computed (sums[] is left unchanged).
//
// Macros: those of types.cuh; WHOLE (integers). Arrays: rows[count][width]; of every slice of a
// row, [count][slices]: counts and sums (int64), least and most, the latter two unreached and its
// opposite where nothing is reached.
// Launch: 256 threads, (slices, count) blocks, or fewer in y. Races: none.
// requires: cuda/primitives/types.cuh

constexpr int kWarps = 8;

__device__ __forceinline__ weight_t lesser(weight_t a, weight_t b) { return a < b ? a : b; }
__device__ __forceinline__ weight_t greater(weight_t a, weight_t b) { return a < b ? b : a; }

struct Figures {
  long long count, sum;
  weight_t least, most;
  __device__ __forceinline__ void look(weight_t d) {
    const bool reached = d != unreached();
    count += reached;
    if (WHOLE) sum += reached ? static_cast<long long>(d) : 0;
    least = lesser(least, d);
    most = reached ? greater(most, d) : most;
  }
  __device__ __forceinline__ void join(long long c, long long s, weight_t low, weight_t high) {
    count += c;
    sum += s;
    least = lesser(least, low);
    most = greater(most, high);
  }
};

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    row_figures(const weight_t* rows, long long count, long long width, long long* counts,
                long long* sums, weight_t* least, weight_t* most) {
  __shared__ long long count_of[kWarps], sum_of[kWarps];
  __shared__ weight_t least_of[kWarps], most_of[kWarps];
  const long long slice = (width + gridDim.x - 1) / gridDim.x, begin = slice * blockIdx.x;
  const long long end = begin + slice < width ? begin + slice : width;
  const int warp = threadIdx.x / 32;
  for (long long k = blockIdx.y; k < count; k += gridDim.y) {
    const weight_t* const row = rows + k * width;
    Figures found = {0, 0, unreached(), static_cast<weight_t>(-unreached())};
#pragma unroll 8
    for (long long i = begin + threadIdx.x; i < end; i += 32 * kWarps) found.look(row[i]);
#pragma unroll
    for (int by = 16; by > 0; by /= 2)
      found.join(__shfl_xor_sync(0xffffffffu, found.count, by),
                 __shfl_xor_sync(0xffffffffu, found.sum, by),
                 __shfl_xor_sync(0xffffffffu, found.least, by),
                 __shfl_xor_sync(0xffffffffu, found.most, by));
    if (threadIdx.x % 32 == 0) {
      count_of[warp] = found.count;
      sum_of[warp] = found.sum;
      least_of[warp] = found.least;
      most_of[warp] = found.most;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < kWarps; ++w) found.join(count_of[w], sum_of[w], least_of[w], most_of[w]);
      const long long at = k * gridDim.x + blockIdx.x;
      counts[at] = found.count;
      if (WHOLE) sums[at] = found.sum;
      least[at] = found.least;
      most[at] = found.most;
    }
    __syncthreads();
  }
}
