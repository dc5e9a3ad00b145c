// A barrier over all blocks of a cooperative launch.
//
// Cheaper than the library's grid group: one atomic per block on a counter that only grows, so nothing is
// reset, and a block cannot take one round's state for another's. The counter starts at 0 and wraps after
// 2^32 / blocks rounds, far beyond any watchdog. Every thread of every block must call it. Writes before it
// are seen by all after it.
// requires: cuda/primitives/types.cuh
#pragma once

__device__ __forceinline__ uint32 load_acquire(const uint32* p) {
  uint32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}

__device__ __forceinline__ void grid_barrier(uint32* arrivals) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const uint32 goal = (atomicAdd(arrivals, 1u) / gridDim.x + 1u) * gridDim.x;
    while (load_acquire(arrivals) < goal) {
    }
    __threadfence();
  }
  __syncthreads();
}
