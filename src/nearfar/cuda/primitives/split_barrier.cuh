// A barrier over all blocks of a cooperative launch, in two halves.
//
// Between arrive() and wait() a block may do what depends on nothing that other blocks write before they arrive:
// loads of what comes next are then under way while the barrier is. Each block counts how often it arrived, so that
// no thread waits for an atomic to return. The counter starts at 0 and would wrap after 2^32 / blocks rounds.
// Every thread of every block must call both, one after the other. Writes before arrive() are seen by all after wait().
// requires: cuda/primitives/grid_barrier.cuh
#pragma once

// Adds, and whoever reads the sum sees what this thread has written and seen so far.
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
  // By the first thread; the others know it by the next __syncthreads().
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
