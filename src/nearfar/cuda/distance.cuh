// Distances: saturating sums and the atomic minimum.
//
// For non-negative floats the bit pattern orders like the number (Graph has no -0.0), so an integer
// atomicMin on the bits is the minimum of the numbers. Every candidate is a sum of non-negative terms, so
// the order in which threads arrive changes who wins when, never the final value.
// requires: cuda/types.cuh
// requires: cuda/memory.cuh
#pragma once

__device__ __forceinline__ int add_saturating(int d, int w) {
  return d > 0x7fffffff - w ? 0x7fffffff : d + w;
}
__device__ __forceinline__ long long add_saturating(long long d, long long w) {
  return d > 0x7fffffffffffffffll - w ? 0x7fffffffffffffffll : d + w;
}
__device__ __forceinline__ float add_saturating(float d, float w) { return d + w; }
__device__ __forceinline__ double add_saturating(double d, double w) { return d + w; }

// Lower *p to `value` if that is less; returns what was there before. Values are non-negative.
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

// The next greater value, for thresholds that must move on.
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
