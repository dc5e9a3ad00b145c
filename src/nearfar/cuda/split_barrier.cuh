// A barrier over all blocks of a cooperative launch, in two halves.
//
// Between arrive() and wait() a block may do what depends on nothing that other blocks write before they arrive:
// loads of what comes next are then under way while the barrier is. Each block counts how often it arrived, so that
// nobody waits for an atomic to come back. The counter starts at 0 and would wrap after 2^32 / blocks rounds.
// Every thread of every block must call both, one after the other. Writes before arrive() are seen by all after wait().
// requires: cuda/grid_barrier.cuh
#pragma once

struct SplitBarrier {
  uint32* arrivals;
  uint32 goal;

  __device__ __forceinline__ explicit SplitBarrier(uint32* counter) : arrivals(counter), goal(0) {}

  __device__ __forceinline__ void arrive() {
    __syncthreads();
    goal += gridDim.x;
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrivals, 1u);
    }
  }
  __device__ __forceinline__ void wait() const {
    if (threadIdx.x == 0)
      while (load_acquire(arrivals) < goal) {
      }
    __syncthreads();
  }
};
