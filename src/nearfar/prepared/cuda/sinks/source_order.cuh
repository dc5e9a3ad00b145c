// Sorts sources approximately in the order of the tree: those whose labels are in one bin of
// 2^shift labels become adjacent.
//
// The order within a bin depends on atomics; no distance depends on it. A full sort gains nothing
// more and takes several launches that the host waits for.
//
// Arrays: sources[count], vertices; label[n] of vertices; ordered[count], the sources in that
// order; order[count], their places among the sources. Launch: one block of 1024 threads; (n - 1)
// >> shift < kBins.
// Races: atomics in shared memory.
// requires: cuda/primitives/types.cuh
// requires: cuda/primitives/warp.cuh

constexpr int kThreads = 1024, kBins = 8192, kEach = kBins / kThreads;

extern "C" __global__ void __launch_bounds__(kThreads)
    source_order(const int* sources, const int* label, int count, int shift, long long* ordered,
                 int* order) {
  __shared__ int bins[kBins];
  __shared__ int sums[33];
  for (int b = threadIdx.x; b < kBins; b += kThreads) bins[b] = 0;
  __syncthreads();
#pragma unroll 8
  for (int i = threadIdx.x; i < count; i += kThreads)
    atomicAdd(bins + (label[sources[i]] >> shift), 1);
  __syncthreads();
  int found[kEach], mine = 0, total;
#pragma unroll
  for (int b = 0; b < kEach; ++b) {
    found[b] = bins[threadIdx.x * kEach + b];
    mine += found[b];
  }
  int before = block_exclusive_sum(mine, sums, &total);
#pragma unroll
  for (int b = 0; b < kEach; ++b) {
    bins[threadIdx.x * kEach + b] = before;
    before += found[b];
  }
  __syncthreads();
#pragma unroll 8
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int source = sources[i];
    const int at = atomicAdd(bins + (label[source] >> shift), 1);
    ordered[at] = source;
    order[at] = i;
  }
}
