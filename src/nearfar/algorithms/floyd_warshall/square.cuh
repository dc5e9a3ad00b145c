// Shared by both products of Floyd-Warshall: the values a thread keeps, the sum with minimum, and the
// copies of slices of stops to shared memory. Macros: VALUE_T (int, long long, float, double), USE_DPX.
// requires: cuda/primitives/copy_async.cuh
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

// Positions of a thread's values in the block's square: kEach rows from y, 16 apart, and as many
// columns in vectors from x, 16 vectors apart. A warp covers 8 x 4 places, so its reads of either
// side have few bank conflicts.
struct Place {
  int x, y;
};

__device__ __forceinline__ Place own_place() {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return Place{lane % 8 + 8 * (warp % 2), lane / 8 + 4 * (warp / 2)};
}

// Loads a thread's values of a square of the matrix from its first value on.
__device__ __forceinline__ void load_square(const value_t* first, long long side,
                                            value_t (&held)[kEach][kEach]) {
#pragma unroll
  for (int r = 0; r < kEach; ++r)
#pragma unroll
    for (int c = 0; c < kEach; c += kVector) {
      const Vector some = *reinterpret_cast<const Vector*>(first + 16 * r * side + c * 16);
#pragma unroll
      for (int i = 0; i < kVector; ++i) held[r][c + i] = some.at[i];
    }
}

// best = min(best, sums through the stops of one slice).
__device__ __forceinline__ void add_slice(const value_t (*left)[kSlice], const value_t (*top)[kBlock],
                                          Place own, value_t (&best)[kEach][kEach]) {
#pragma unroll kUnrolled
  for (int k = 0; k < kSlice; k += kVector) {
    Vector a[kEach];
#pragma unroll
    for (int r = 0; r < kEach; ++r) a[r] = *reinterpret_cast<const Vector*>(&left[own.y + 16 * r][k]);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      Vector b[kEach / kVector];
#pragma unroll
      for (int c = 0; c < kEach / kVector; ++c)
        b[c] = *reinterpret_cast<const Vector*>(&top[k + i][(own.x + 16 * c) * kVector]);
#pragma unroll
      for (int r = 0; r < kEach; ++r)
#pragma unroll
        for (int c = 0; c < kEach; ++c)
          best[r][c] = add_min(a[r].at[i], b[c / kVector].at[c % kVector], best[r][c]);
    }
  }
}
