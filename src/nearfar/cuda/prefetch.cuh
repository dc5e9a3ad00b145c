// Memory brought into the cache between a device's memory and its multiprocessors before it is read.
//
// Devices before compute capability 9.0 cannot be asked for more than a line at a time: nothing is done there.
#pragma once

constexpr int kPrefetched = 4096;  // bytes per request

// By `some` threads of a launch, of which this is the `number`-th; bytes: a multiple of 16, as is the address.
__device__ __forceinline__ void prefetch(const void* from, long long bytes, int number, int some) {
#if __CUDA_ARCH__ >= 900
  for (long long at = static_cast<long long>(number) * kPrefetched; at < bytes;
       at += static_cast<long long>(some) * kPrefetched) {
    const unsigned int part = static_cast<unsigned int>(bytes - at < kPrefetched ? bytes - at : kPrefetched);
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(static_cast<const char*>(from) + at), "r"(part)
                 : "memory");
  }
#endif
}
