// Checks arrays of compressed sparse rows in device memory, adds up their weights and finds the longest row,
// in one pass: the checks of the host for host arrays.
//
// Arrays: indptr[n + 1] and indices[m] (SOURCE_T), weights[m] (weight_t, unused without weights), and
// parts[gridDim.x] (GraphPart), one record per block, which the host combines in the order of the
// blocks: sums are the same in every run. Launch: any grid of kScanThreads threads,
// grid-stride. No races: a block writes its own record.
// requires: cuda/primitives/types.cuh

typedef SOURCE_T source_t;

constexpr int kScanThreads = 256;
constexpr long long kNowhere = 0x7fffffffffffffffll;

// 64 bits that hold every value of the weights' type.
template <class T>
struct WideOf {
  typedef long long type;
};
template <>
struct WideOf<float> {
  typedef double type;
};
template <>
struct WideOf<double> {
  typedef double type;
};
typedef WideOf<weight_t>::type wide_t;

// Read by graph/on_device.py. Positions are the first of their kind, kNowhere for none.
struct GraphPart {
  long long bad_row, bad_index;
  long long first_nonfinite, n_nonfinite;
  long long first_negative, n_negative;
  long long n_zero, n_negative_zero;
  long long longest, longest_at;  // edges of the longest row, and the first vertex that has so many
  wide_t least, most;
  double sum;
};

__device__ __forceinline__ bool is_finite(float value) {
  return (__float_as_int(value) & 0x7f800000) != 0x7f800000;
}
__device__ __forceinline__ bool is_finite(double value) {
  return (__double_as_longlong(value) & 0x7ff0000000000000ll) != 0x7ff0000000000000ll;
}
__device__ __forceinline__ bool is_finite(int) { return true; }
__device__ __forceinline__ bool is_finite(long long) { return true; }

__device__ __forceinline__ bool is_negative_zero(float value) {
  return __float_as_int(value) == static_cast<int>(0x80000000);
}
__device__ __forceinline__ bool is_negative_zero(double value) {
  return __double_as_longlong(value) == static_cast<long long>(0x8000000000000000ull);
}
__device__ __forceinline__ bool is_negative_zero(int) { return false; }
__device__ __forceinline__ bool is_negative_zero(long long) { return false; }

__device__ __forceinline__ long long earlier(long long a, long long b) { return a < b ? a : b; }

__device__ __forceinline__ void join(GraphPart& into, const GraphPart& other) {
  into.bad_row = earlier(into.bad_row, other.bad_row);
  into.bad_index = earlier(into.bad_index, other.bad_index);
  into.first_nonfinite = earlier(into.first_nonfinite, other.first_nonfinite);
  into.first_negative = earlier(into.first_negative, other.first_negative);
  into.n_nonfinite += other.n_nonfinite;
  into.n_negative += other.n_negative;
  if (other.longest > into.longest ||
      (other.longest == into.longest && other.longest_at < into.longest_at)) {
    into.longest = other.longest;
    into.longest_at = other.longest_at;
  }
  into.n_zero += other.n_zero;
  into.n_negative_zero += other.n_negative_zero;
  into.least = other.least < into.least ? other.least : into.least;
  into.most = other.most > into.most ? other.most : into.most;
  into.sum += other.sum;
}

extern "C" __global__ void __launch_bounds__(256)
    scan_graph(const source_t* indptr, const source_t* indices, const weight_t* weights, long long n,
               long long m, wide_t greatest, GraphPart* parts) {
  __shared__ GraphPart held[kScanThreads];
  GraphPart mine;
  mine.longest = 0;
  mine.longest_at = kNowhere;
  mine.bad_row = mine.bad_index = mine.first_nonfinite = mine.first_negative = kNowhere;
  mine.n_nonfinite = mine.n_negative = mine.n_zero = mine.n_negative_zero = 0;
  mine.least = greatest;
  mine.most = -greatest;
  mine.sum = 0;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long v = first; v <= n; v += stride) {
    const long long begin = static_cast<long long>(indptr[v]);
    const long long length = v == 0 ? 0 : begin - static_cast<long long>(indptr[v - 1]);
    const bool bad = (v == 0 && begin != 0) || length < 0 || (v == n && begin != m);
    if (bad) mine.bad_row = earlier(mine.bad_row, v);
    if (length > mine.longest) {  // a thread's vertices rise, so the first of equals stays
      mine.longest = length;
      mine.longest_at = v - 1;
    }
  }
  for (long long i = first; i < m; i += stride) {
    const long long target = static_cast<long long>(indices[i]);
    if (target < 0 || target >= n) mine.bad_index = earlier(mine.bad_index, i);
#if WEIGHTED
    const weight_t weight = weights[i];
    if (!is_finite(weight)) {
      mine.first_nonfinite = earlier(mine.first_nonfinite, i);
      ++mine.n_nonfinite;
      continue;
    }
    if (weight < 0) {
      mine.first_negative = earlier(mine.first_negative, i);
      ++mine.n_negative;
    }
    mine.n_zero += weight == 0;
    mine.n_negative_zero += is_negative_zero(weight);
    const wide_t value = static_cast<wide_t>(weight);
    mine.least = value < mine.least ? value : mine.least;
    mine.most = value > mine.most ? value : mine.most;
    mine.sum += static_cast<double>(weight);
#endif
  }
  held[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kScanThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < static_cast<unsigned>(half)) join(held[threadIdx.x], held[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = held[0];
}
