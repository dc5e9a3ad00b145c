// Loads that see the writes of other blocks, and the device clock: all inline assembly is in this file.
//
// A distance that atomics of other blocks lower must not be read through L1, which is not kept coherent: a
// plain read has returned stale values. A relaxed load at GPU scope reads L2 and costs the same as a miss.
#pragma once

__device__ __forceinline__ int load_relaxed(const int* p) {
  int value;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
__device__ __forceinline__ unsigned int load_relaxed(const unsigned int* p) {
  unsigned int value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
__device__ __forceinline__ long long load_relaxed(const long long* p) {
  long long value;
  asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
  return value;
}
__device__ __forceinline__ unsigned long long load_relaxed(const unsigned long long* p) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
  return value;
}
__device__ __forceinline__ float load_relaxed(const float* p) {
  float value;
  asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(value) : "l"(p) : "memory");
  return value;
}
__device__ __forceinline__ double load_relaxed(const double* p) {
  double value;
  asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(value) : "l"(p) : "memory");
  return value;
}

// Loads read-only data in a way that the compiler may not move past an atomic, so that the two
// overlap.
__device__ __forceinline__ int load_early(const int* p) {
  int value;
  asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(value) : "l"(p));
  return value;
}
__device__ __forceinline__ long long load_early(const long long* p) {
  long long value;
  asm volatile("ld.global.nc.s64 %0, [%1];" : "=l"(value) : "l"(p));
  return value;
}

__device__ __forceinline__ int4 load_early(const int4* p) {
  int4 value;
  asm volatile("ld.global.nc.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(p));
  return value;
}
__device__ __forceinline__ longlong2 load_early(const longlong2* p) {
  longlong2 value;
  asm volatile("ld.global.nc.v2.s64 {%0, %1}, [%2];" : "=l"(value.x), "=l"(value.y) : "l"(p));
  return value;
}

// Loads a distance from this multiprocessor's L1 if cached. It may be older, and so greater, than
// the present one: enough to decide that an atomic would change nothing, never to decide that an
// entry is stale.
__device__ __forceinline__ int load_stale(const int* p) {
  int value;
  asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(value) : "l"(p));
  return value;
}
__device__ __forceinline__ long long load_stale(const long long* p) {
  long long value;
  asm volatile("ld.global.ca.s64 %0, [%1];" : "=l"(value) : "l"(p));
  return value;
}
__device__ __forceinline__ float load_stale(const float* p) {
  float value;
  asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(value) : "l"(p));
  return value;
}
__device__ __forceinline__ double load_stale(const double* p) {
  double value;
  asm volatile("ld.global.ca.f64 %0, [%1];" : "=d"(value) : "l"(p));
  return value;
}

// Loads read-only data that will not be reused soon, which does not displace other data from L1.
__device__ __forceinline__ int load_once(const int* p) {
  int value;
  asm volatile("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(value) : "l"(p));
  return value;
}
__device__ __forceinline__ long long load_once(const long long* p) {
  long long value;
  asm volatile("ld.global.nc.L1::no_allocate.s64 %0, [%1];" : "=l"(value) : "l"(p));
  return value;
}

// Returns the nanoseconds of a clock that all blocks share.
__device__ __forceinline__ unsigned long long clock_nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
