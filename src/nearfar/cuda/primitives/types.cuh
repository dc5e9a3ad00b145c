// Types of a compiled program, from macros, and the values that distances saturate at.
//
// Macros given by the host (see device_graph.py): INDEX_T (a vertex: int or long long), OFFSET_T (a
// position in the edge array: int or long long), WEIGHT_T (int, long long, float or double), WEIGHTED
// (0: every edge counts 1 and no weights are stored).
// The host's structured types rely on this: every field of a parameter block takes 8 bytes.
#pragma once

typedef INDEX_T vertex_t;
typedef OFFSET_T offset_t;
typedef WEIGHT_T weight_t;
typedef unsigned int uint32;
typedef unsigned long long uint64;

// A counter with the width of a type of this many bytes.
template <bool Wide>
struct CountOf {
  typedef uint32 type;
};
template <>
struct CountOf<true> {
  typedef uint64 type;
};

template <class T>
struct Unreached;
template <>
struct Unreached<int> {
  __device__ static int value() { return 0x7fffffff; }
};
template <>
struct Unreached<long long> {
  __device__ static long long value() { return 0x7fffffffffffffffll; }
};
template <>
struct Unreached<float> {
  __device__ static float value() { return __int_as_float(0x7f800000); }
};
template <>
struct Unreached<double> {
  __device__ static double value() { return __longlong_as_double(0x7ff0000000000000ll); }
};

// Distance of an unreached vertex; sums saturate at it.
__device__ __forceinline__ weight_t unreached() { return Unreached<weight_t>::value(); }
