// What both products of Floyd-Warshall share: the values a thread keeps, the sum with minimum, and slices
// of stops on their way to shared memory. Macros: VALUE_T (int, long long, float, double), USE_DPX.
// requires: cuda/copy_async.cuh
#pragma once

typedef VALUE_T value_t;

constexpr int kTile = 64;
constexpr int kVector = 16 / sizeof(value_t);        // values in 16 bytes
constexpr int kEach = sizeof(value_t) == 8 ? 4 : 8;  // values a thread keeps, in each direction
constexpr int kBlock = 16 * kEach;                   // rows and columns of a block's square
constexpr int kStops = 128, kSlice = 16;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
constexpr int kUnrolled = kSlice / kVector;  // a whole slice: faster on an H100 (int32 0.318 s for 0.332 s at 16,384)
#else
constexpr int kUnrolled = 1;  // newer devices would spill registers
#endif

struct alignas(16) Vector {
  value_t at[kVector];
};

__device__ __forceinline__ value_t add_min(value_t a, value_t b, value_t c) {
#if USE_DPX
  return __viaddmin_s32(a, b, c);
#else
  // No NaN can arise (there is no minus infinity), so the float minimum is one instruction.
  if constexpr (sizeof(value_t) == 4 && value_t(0.5) != value_t(0)) return fminf(a + b, c);
  const value_t sum = a + b;
  return sum < c ? sum : c;
#endif
}

// Begins the copies of one slice of stops: kBlock rows of kSlice values, and kSlice rows of kBlock values.
__device__ __forceinline__ void begin_slice(value_t (*left)[kSlice], value_t (*top)[kBlock],
                                            const value_t* rows, const value_t* columns, long long side) {
  for (int p = threadIdx.x; p < kBlock * kSlice / kVector; p += 256) {
    const int r = p / (kSlice / kVector), c = p % (kSlice / kVector) * kVector;
    copy_async_16(&left[r][c], rows + r * side + c);
    const int k = p / (kBlock / kVector), t = p % (kBlock / kVector) * kVector;
    copy_async_16(&top[k][t], columns + k * side + t);
  }
}
