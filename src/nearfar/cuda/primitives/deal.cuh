// Distribution of work among the warps of a grid.
// requires: cuda/primitives/types.cuh
#pragma once

// Number of warps of the grid, and the caller's index among them.
template <class Count>
__device__ __forceinline__ Count grid_warps() {
  return static_cast<Count>(gridDim.x) * (blockDim.x >> 5);
}

template <class Count>
__device__ __forceinline__ Count grid_warp() {
  return static_cast<Count>(blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
}

// Number of pieces that a warp takes at a time, one per lane: 32 if there are many; few pieces are
// spread over all warps.
template <class Count>
__device__ __forceinline__ Count warp_share(Count pieces, Count warps) {
  const Count even = (pieces + warps - 1) / warps;
  return even < 1 ? 1 : even > 32 ? 32 : even;
}

// The number of threads of the grid, and the index of the first thread of the caller's warp: for loops over
// elements in which the lanes stay converged.
__device__ __forceinline__ long long grid_threads() {
  return static_cast<long long>(gridDim.x) * blockDim.x;
}

__device__ __forceinline__ long long first_thread_of_warp() {
  return (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) & ~31ll;
}
