// The three flag arrays of the compound-frontier loop and its minimum and update steps, as
// device functions over a policy. Families instantiate them in their own kernel files.
//
// Martin et al. (2009), Figs. 2 and 4; Ortega-Arranz et al. (2015), Alg. 2. A policy says what
// the minimum gathers (kValues values, each a minimum over the unsettled vertices) and which
// vertex those values settle; frontier/ and crauser/ hold one each. Departures: update asks for
// an unsettled vertex (zero-weight edges need it, see cpu/search/settle_loop.hpp), the block's
// reduction uses warp shuffles and so takes any multiple of 32 threads, and both kernels count
// what they do.
//
// Arrays: distance[n] (weight_t), frontier[n], unsettled[n] (one byte each),
// counts[kCountSlots].
// Races: none. Every thread writes its own vertex; the steps are separate launches.
//
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/warp.cuh
#pragma once

typedef unsigned char flag_t;

// Work counters, spread over slots in different memory sectors so that warps seldom wait for each
// other.
struct SettleCounts {
  uint64 settled;
  uint64 working;
  uint64 edges;
  uint64 unused;
};
constexpr uint32 kCountSlots = 64;

__device__ __forceinline__ long long global_thread() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// Adds one warp's share; all 32 lanes must call. A warp with nothing to add pays one ballot.
__device__ __forceinline__ void count_work(SettleCounts* counts, bool working, uint64 edges) {
  const uint32 lanes = __ballot_sync(kAllLanes, working);
  if (lanes == 0) return;
  const uint64 sum = warp_sum(working ? edges : uint64(0));
  if (lane_id() == 0) {
    SettleCounts* slot = counts + (blockIdx.x * 7u + (threadIdx.x >> 5)) % kCountSlots;
    atomicAdd(&slot->working, uint64(__popc(lanes)));
    atomicAdd(&slot->edges, sum);
  }
}

// Returns the minimum over the block, valid in thread 0; scratch holds 32 values.
__device__ __forceinline__ weight_t block_min(weight_t value, weight_t* scratch) {
  value = warp_min(value);
  if (lane_id() == 0) scratch[threadIdx.x >> 5] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = lane_id() < (blockDim.x + 31) / 32 ? scratch[lane_id()] : unreached();
    value = warp_min(value);
  }
  return value;
}

// minimum1 of the paper: a block reduces two elements per thread; partial[k * gridDim.x + block]
// receives the k-th minimum of each block.
template <class Policy>
__device__ __forceinline__ void settle_minimum(const Policy& policy, long long n,
                                               const weight_t* distance, const flag_t* unsettled,
                                               weight_t* partial) {
  __shared__ weight_t scratch[Policy::kValues][32];
  const long long i = static_cast<long long>(blockIdx.x) * 2 * blockDim.x + threadIdx.x;
  const long long j = i + blockDim.x;
  weight_t least[Policy::kValues];
#pragma unroll
  for (int k = 0; k < Policy::kValues; ++k) least[k] = unreached();
  if (i < n && unsettled[i]) policy.see(i, distance[i], least);
  if (j < n && unsettled[j]) policy.see(j, distance[j], least);
#pragma unroll
  for (int k = 0; k < Policy::kValues; ++k) {
    const weight_t found = block_min(least[k], scratch[k]);
    if (threadIdx.x == 0) partial[static_cast<long long>(k) * gridDim.x + blockIdx.x] = found;
  }
}

template <class Policy>
__device__ __forceinline__ void settle_update(const Policy& policy, long long n,
                                              const weight_t* distance, flag_t* frontier,
                                              flag_t* unsettled, SettleCounts* counts,
                                              weight_t first, weight_t second) {
  const long long i = global_thread();
  const bool settles = i < n && unsettled[i] && policy.settles(i, distance[i], first, second);
  if (i < n) {
    frontier[i] = settles;
    if (settles) unsettled[i] = 0;
  }
  const int settled = __syncthreads_count(settles);
  if (threadIdx.x == 0 && settled)
    atomicAdd(&counts[blockIdx.x % kCountSlots].settled, uint64(settled));
}
