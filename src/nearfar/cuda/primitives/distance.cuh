// Distances: saturating sums and the atomic minimum.
//
// For non-negative floats the bit pattern orders like the number (Graph has no -0.0), so an integer
// atomicMin on the bits is the minimum of the numbers. The order in which threads arrive does not change
// the final value.
// requires: cuda/primitives/types.cuh
// requires: cuda/primitives/memory.cuh
#pragma once

__device__ __forceinline__ int add_saturating(int d, int w) {
  return d > 0x7fffffff - w ? 0x7fffffff : d + w;
}
__device__ __forceinline__ long long add_saturating(long long d, long long w) {
  return d > 0x7fffffffffffffffll - w ? 0x7fffffffffffffffll : d + w;
}
__device__ __forceinline__ float add_saturating(float d, float w) { return d + w; }
__device__ __forceinline__ double add_saturating(double d, double w) { return d + w; }

// Lowers *p to `value` if that is less; returns the former *p. Values are non-negative.
__device__ __forceinline__ int atomic_minimum(int* p, int value) { return atomicMin(p, value); }
__device__ __forceinline__ long long atomic_minimum(long long* p, long long value) {
  return atomicMin(p, value);
}
__device__ __forceinline__ float atomic_minimum(float* p, float value) {
  return __int_as_float(atomicMin(reinterpret_cast<int*>(p), __float_as_int(value)));
}
__device__ __forceinline__ double atomic_minimum(double* p, double value) {
  return __longlong_as_double(
      atomicMin(reinterpret_cast<long long*>(p), __double_as_longlong(value)));
}

// The same for values of either sign. The bits of negative floats have the opposite order, as
// unsigned integers.
__device__ __forceinline__ int add_saturating_signed(int d, int w) {
  if (w < 0) return d < -0x7fffffff - w ? -0x7fffffff : d + w;
  return add_saturating(d, w);
}
__device__ __forceinline__ long long add_saturating_signed(long long d, long long w) {
  if (w < 0) return d < -0x7fffffffffffffffll - w ? -0x7fffffffffffffffll : d + w;
  return add_saturating(d, w);
}
__device__ __forceinline__ float add_saturating_signed(float d, float w) { return d + w; }
__device__ __forceinline__ double add_saturating_signed(double d, double w) { return d + w; }

__device__ __forceinline__ int atomic_minimum_signed(int* p, int value) { return atomicMin(p, value); }
__device__ __forceinline__ long long atomic_minimum_signed(long long* p, long long value) {
  return atomicMin(p, value);
}
__device__ __forceinline__ float atomic_minimum_signed(float* p, float value) {
  if (value >= 0) return atomic_minimum(p, value);
  return __uint_as_float(atomicMax(reinterpret_cast<unsigned int*>(p), __float_as_uint(value)));
}
__device__ __forceinline__ double atomic_minimum_signed(double* p, double value) {
  if (value >= 0) return atomic_minimum(p, value);
  return __longlong_as_double(static_cast<long long>(
      atomicMax(reinterpret_cast<unsigned long long*>(p),
                static_cast<unsigned long long>(__double_as_longlong(value)))));
}

// Returns the next greater value, for thresholds that must advance.
__device__ __forceinline__ int next_above(int d) { return d == 0x7fffffff ? d : d + 1; }
__device__ __forceinline__ long long next_above(long long d) {
  return d == 0x7fffffffffffffffll ? d : d + 1;
}
__device__ __forceinline__ float next_above(float d) {
  return d == unreached() ? d : __int_as_float(__float_as_int(d) + 1);
}
__device__ __forceinline__ double next_above(double d) {
  return d == unreached() ? d : __longlong_as_double(__double_as_longlong(d) + 1);
}
