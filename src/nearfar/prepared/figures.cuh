// How many distances a thread has seen per source, their sum and the greatest of them.
//
// Whole numbers are added modulo 2^64: the caller sees from the greatest whether that can have happened. Sums of floats
// depend on their order and are not made. No distance is negative, so that 0 is the greatest of none.
//
// Macros: COLUMNS; WHOLE (integers).
// requires: prepared/values.cuh
// requires: prepared/columns.cuh
#pragma once

#if WHOLE
typedef value_t edge_t;
#else
typedef double edge_t;
#endif

__device__ __forceinline__ void raise(uint32* at, uint32 x) { atomicMax(at, x); }
__device__ __forceinline__ void raise(uint64* at, uint64 x) { atomicMax(at, x); }
// The bits of floats that are not negative order like the numbers.
__device__ __forceinline__ void raise(float* at, float x) {
  atomicMax(reinterpret_cast<int*>(at), __float_as_int(x));
}
__device__ __forceinline__ void raise(double* at, double x) {
  atomicMax(reinterpret_cast<long long*>(at), __double_as_longlong(x));
}

struct Figures {
  uint64 sum[COLUMNS];
  uint32 count[COLUMNS];
  value_t greatest[COLUMNS];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      sum[i] = 0;
      count[i] = 0;
      greatest[i] = value_t(0);
    }
  }
  __device__ __forceinline__ void look(const Columns& a, value_t bound) {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const bool counts = a.x[i] <= bound;
      const value_t x = counts ? a.x[i] : value_t(0);
      count[i] += counts;
      if (WHOLE) sum[i] += static_cast<uint64>(x);
      greatest[i] = x > greatest[i] ? x : greatest[i];
    }
  }
  __device__ __forceinline__ void join(const Figures& other) {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      sum[i] += other.sum[i];
      count[i] += other.count[i];
      greatest[i] = other.greatest[i] > greatest[i] ? other.greatest[i] : greatest[i];
    }
  }
  // Of so many distances that were looked at; how many do not count is written down, since mostly all do.
  __device__ __forceinline__ void leave(uint32 seen, uint64* sums, uint32* missed,
                                        value_t* most) const {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      if (count[i] < seen) atomicAdd(missed + i, seen - count[i]);
      if (count[i] == 0) continue;
      if (WHOLE) atomicAdd(sums + i, sum[i]);
      if (greatest[i] > most[i]) raise(most + i, greatest[i]);
    }
  }
};
