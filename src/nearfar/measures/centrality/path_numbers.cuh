// Numbers of shortest paths: doubles, or with SCALED a mantissa and its own exponent.
//
// Numbers of paths double with every diamond of a ladder, so a thousand diamonds overflow a double. A
// source whose counts pass kMostPaths is left out and solved again by the program with SCALED, in which
// nothing overflows.
// Macros: SCALED (0 or 1).
// requires: cuda/primitives/warp.cuh
#pragma once

#if SCALED

// mantissa * 2^exponent; the mantissa is 0, or from 0.5 up to 1.
struct alignas(16) Count {
  double mantissa;
  long long exponent;
};

__device__ __forceinline__ Count count_of(double value, long long exponent = 0) {
  int more = 0;
  const double mantissa = frexp(value, &more);
  return Count{mantissa, mantissa == 0 ? 0 : exponent + more};
}

// Returns mantissa * 2^(exponent - to); exponents far outside the range of a double are clamped.
__device__ __forceinline__ double shifted(const Count& x, long long to) {
  long long by = x.exponent - to;
  by = by < -4000 ? -4000 : by > 4000 ? 4000 : by;
  return ldexp(x.mantissa, static_cast<int>(by));
}

__device__ __forceinline__ Count sum_of(const Count& a, const Count& b) {
  if (b.mantissa == 0) return a;
  if (a.mantissa == 0) return b;
  const long long top = a.exponent > b.exponent ? a.exponent : b.exponent;
  return count_of(shifted(a, top) + shifted(b, top), top);
}

__device__ __forceinline__ double product_of(const Count& a, const Count& b) {
  return shifted(count_of(a.mantissa * b.mantissa, a.exponent + b.exponent), 0);
}

__device__ __forceinline__ Count quotient_of(double a, const Count& b) {
  return count_of(a / b.mantissa, -b.exponent);
}

__device__ __forceinline__ bool too_many(const Count&) { return false; }

__device__ __forceinline__ Count other_lane(const Count& value, int with) {
  return Count{__shfl_xor_sync(kAllLanes, value.mantissa, with),
               __shfl_xor_sync(kAllLanes, value.exponent, with)};
}

#else

typedef double Count;
constexpr double kMostPaths = 0x1p960;  // its inverse is still a normal number

__device__ __forceinline__ Count count_of(double value) { return value; }
__device__ __forceinline__ Count sum_of(Count a, Count b) { return a + b; }
__device__ __forceinline__ double product_of(Count a, Count b) { return a * b; }
__device__ __forceinline__ Count quotient_of(double a, Count b) { return a / b; }
__device__ __forceinline__ bool too_many(Count x) { return !(x < kMostPaths); }
__device__ __forceinline__ Count other_lane(Count value, int with) {
  return __shfl_xor_sync(kAllLanes, value, with);
}

#endif

// Returns the sum over groups of that many lanes, with the same bits in each lane: the order of
// additions is fixed, wherever the row is in the queue.
template <int Lanes>
__device__ __forceinline__ Count group_sum(Count value) {
#pragma unroll
  for (int step = Lanes / 2; step > 0; step >>= 1) value = sum_of(value, other_lane(value, step));
  return value;
}
