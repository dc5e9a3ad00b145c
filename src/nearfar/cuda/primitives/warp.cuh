// Sums, minima and shares of spans over a warp and over a block. Every thread of the warp (block) must call them.
// requires: cuda/primitives/types.cuh
#pragma once

constexpr uint32 kAllLanes = 0xffffffffu;

__device__ __forceinline__ int lane_id() { return threadIdx.x & 31; }

// Returns a value of another lane; overload it for values that are structures.
template <class Value>
__device__ __forceinline__ Value of_lane(Value value, int lane) {
  return __shfl_sync(kAllLanes, value, lane);
}

// Returns the inclusive prefix sum over the lanes.
template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T value) {
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    const T below = __shfl_up_sync(kAllLanes, value, step);
    if (lane_id() >= step) value += below;
  }
  return value;
}

// Returns the sum over the lanes, valid in lane 0.
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) value += __shfl_down_sync(kAllLanes, value, step);
  return value;
}

// Returns the minimum over the lanes, valid in lane 0.
template <class T>
__device__ __forceinline__ T warp_min(T value) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    const T other = __shfl_down_sync(kAllLanes, value, step);
    value = other < value ? other : value;
  }
  return value;
}

// Returns the lane whose span contains position t of all spans laid end to end; `before`: the sum
// of earlier sizes.
__device__ __forceinline__ int lane_of(int t, int before) {
  int lane = 0;
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) {
    const int there = __shfl_sync(kAllLanes, before, (lane + step) & 31);
    if (lane + step < 32 && there <= t) lane += step;
  }
  return lane;
}

// Returns the exclusive prefix sum over a block of at most 1024 threads; *total receives the
// block's sum. `scratch` holds 33 values and may be used again after the call.
template <class T>
__device__ __forceinline__ T block_exclusive_sum(T value, T* scratch, T* total) {
  const int warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
  const T inclusive = warp_inclusive_sum(value);
  if (lane_id() == 31) scratch[warp] = inclusive;
  __syncthreads();
  if (warp == 0) {
    const T mine = lane_id() < warps ? scratch[lane_id()] : T(0);
    const T upto = warp_inclusive_sum(mine);
    if (lane_id() < warps) scratch[lane_id()] = upto - mine;
    if (lane_id() == 31) scratch[32] = upto;
  }
  __syncthreads();
  const T before = scratch[warp] + inclusive - value;
  *total = scratch[32];
  __syncthreads();
  return before;
}
