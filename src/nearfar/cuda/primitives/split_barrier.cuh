// A barrier over all blocks of a cooperative launch, in two halves.
//
// Between arrive() and wait() a block may do work that needs no other block's writes, such as the loads of
// the next step, while the barrier completes. Each block counts its own arrivals, so no thread waits for an
// atomic to return. The counter starts at 0 and wraps after 2^32 / blocks rounds. Every thread of every
// block must call both, in turns. Writes before arrive() are seen by all after wait().
// requires: cuda/primitives/grid_barrier.cuh
#pragma once

// Adds with release and acquire: a thread that reads the sum sees the writes this thread has made or seen.
__device__ __forceinline__ void add_released(uint32* p, uint32 by) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(p), "r"(by) : "memory");
}

struct SplitBarrier {
  uint32* arrivals;
  uint32 goal;

  __device__ __forceinline__ explicit SplitBarrier(uint32* counter) : arrivals(counter), goal(0) {}

  __device__ __forceinline__ void arrive() {
    __syncthreads();
    goal += gridDim.x;
    if (threadIdx.x == 0) add_released(arrivals, 1u);
  }
  // Waits; called by the first thread. The others follow by the next __syncthreads().
  __device__ __forceinline__ void wait_alone() const {
    while (load_acquire(arrivals) < goal) {
    }
  }
  __device__ __forceinline__ void wait() const {
    if (threadIdx.x == 0) wait_alone();
    __syncthreads();
  }
  __device__ __forceinline__ void meet() {
    arrive();
    wait();
  }
};
