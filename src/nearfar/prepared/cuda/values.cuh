// Values of the arcs of a prepared graph, and the one that means "no path": value.hpp on the device.
//
// Macros: VALUE_T, the type of the arcs' weights (unsigned int, unsigned long long, long long for negative
// weights, float, double), and OUT_T, the type of the answer (int, long long, float, double). Floats are mostly added as
// integers, multiples of a power of two, and then only OUT_T is a float.
// Without negative weights integers are unsigned and "no path" is the greatest value of the signed type: the sum of two
// of them does not overflow, and a sum that is too large never improves anything, so saturation costs nothing.
#pragma once

typedef VALUE_T value_t;
typedef OUT_T out_t;
typedef unsigned int uint32;
typedef unsigned long long uint64;

template <class T>
struct Far;
template <>
struct Far<uint32> {
  __device__ static uint32 value() { return 0x7fffffffu; }
};
template <>
struct Far<uint64> {
  __device__ static uint64 value() { return 0x7fffffffffffffffull; }
};
template <>
struct Far<long long> {
  __device__ static long long value() { return 0x3fffffffffffffffll; }
};
template <>
struct Far<float> {
  __device__ static float value() { return __int_as_float(0x7f800000); }
};
template <>
struct Far<double> {
  __device__ static double value() { return __longlong_as_double(0x7ff0000000000000ll); }
};
__device__ __forceinline__ value_t far_value() { return Far<value_t>::value(); }

// Returns the lesser of `best` and `from` + `way`; one instruction on Hopper for 32-bit integers.
template <class T>
__device__ __forceinline__ T add_min(T from, T way, T best) {
  const T sum = from + way;
  return sum < best ? sum : best;
}
__device__ __forceinline__ uint32 add_min(uint32 from, uint32 way, uint32 best) {
  return __viaddmin_u32(from, way, best);
}

// Returns a distance in the type of the graph's weights, or "no path" if it does not fit. Steps are
// rounded once, to the type of the answer: multiplying by a power of two does not round.
template <class Out, class Value>
struct Distance {
  __device__ static __forceinline__ Out of(Value x, double) { return static_cast<Out>(x); }
};
template <class Out, class Value>
struct Steps {
  __device__ static __forceinline__ Out of(Value x, double step) {
    const double found = static_cast<double>(static_cast<Out>(static_cast<long long>(x))) * step;
    const bool none = static_cast<Value>(-1) < 0 ? x >= Far<Value>::value() / 2 : x >= Far<Value>::value();
    return none ? static_cast<Out>(__longlong_as_double(0x7ff0000000000000ll)) : static_cast<Out>(found);
  }
};
template <>
struct Distance<float, uint32> : Steps<float, uint32> {};
template <>
struct Distance<double, uint32> : Steps<double, uint32> {};
template <>
struct Distance<float, uint64> : Steps<float, uint64> {};
template <>
struct Distance<double, uint64> : Steps<double, uint64> {};
template <>
struct Distance<float, long long> : Steps<float, long long> {};
template <>
struct Distance<double, long long> : Steps<double, long long> {};
template <>
struct Distance<long long, long long> {
  __device__ static __forceinline__ long long of(long long x, double) {
    return x >= Far<long long>::value() / 2 ? 0x7fffffffffffffffll : x;
  }
};
template <>
struct Distance<int, long long> {
  __device__ static __forceinline__ int of(long long x, double) {
    if (x >= 0x7fffffff) return 0x7fffffff;
    return x <= -0x7fffffffll - 1 ? -0x7fffffff : static_cast<int>(x);
  }
};
template <class Out>
__device__ __forceinline__ Out as_distance(value_t x, double step) {
  return Distance<Out, value_t>::of(x, step);
}
