// Sum, maximum and number of excluded distances that a thread has read per source.
//
// Integers are added modulo 2^64: the caller knows from the maximum whether they can have
// overflowed. Sums of floats depend on their order and are not computed. Distances are not
// negative, so the maximum of none is 0.
//
// Macros: COLUMNS; WHOLE (integers).
// requires: prepared/cuda/values.cuh
// requires: prepared/cuda/columns.cuh
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
  uint32 missed[COLUMNS];  // distances that do not count: mostly none
  value_t greatest[COLUMNS];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      sum[i] = 0;
      missed[i] = 0;
      greatest[i] = value_t(0);
    }
  }
  __device__ __forceinline__ void look(const Columns& a, value_t bound) {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const value_t x = a.x[i];
      if (x <= bound) {
        if (WHOLE) sum[i] += static_cast<uint64>(x);
        greatest[i] = x > greatest[i] ? x : greatest[i];
      } else {
        ++missed[i];
      }
    }
  }
  __device__ __forceinline__ void join(const Figures& other) {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      sum[i] += other.sum[i];
      missed[i] += other.missed[i];
      greatest[i] = other.greatest[i] > greatest[i] ? other.greatest[i] : greatest[i];
    }
  }
  __device__ __forceinline__ void leave(uint64* sums, uint32* all_missed, value_t* most) const {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      if (missed[i] != 0) atomicAdd(all_missed + i, missed[i]);
      if (WHOLE && sum[i] != 0) atomicAdd(sums + i, sum[i]);
      if (greatest[i] > most[i]) raise(most + i, greatest[i]);
    }
  }
};
