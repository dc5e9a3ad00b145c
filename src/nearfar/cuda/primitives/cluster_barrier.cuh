// A barrier over the blocks of a launch that is one cluster, in two halves as SplitBarrier has them.
//
// Hardware counts arrivals, so no atomic and no polling delays a block. Devices without clusters
// (before compute capability 9.0) use SplitBarrier, which needs a cooperative launch.
// Every thread must call wait() first, then arrive() and wait() in turns. Writes before arrive() are seen
// by all after wait().
// requires: cuda/primitives/split_barrier.cuh
#pragma once

#if __CUDA_ARCH__ >= 900
#define ONE_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)

struct ClusterBarrier {
  __device__ __forceinline__ explicit ClusterBarrier(uint32*) { arrive(); }
  __device__ __forceinline__ void arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
  __device__ __forceinline__ void wait() const { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
};
#else
#define ONE_CLUSTER(blocks)
typedef SplitBarrier ClusterBarrier;
#endif
