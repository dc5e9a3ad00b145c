// Copies from global to shared memory that run while the thread computes, without registers.
//
// Before compute capability 8.0 the copy is done at once. Both addresses are multiples of the copied size.
// A thread waits for its own copies; a barrier makes them visible to the block.
#pragma once

__device__ __forceinline__ void copy_async_16(void* to_shared, const void* from) {
#if __CUDA_ARCH__ >= 800
  const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(to_shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#else
  *static_cast<int4*>(to_shared) = *static_cast<const int4*>(from);
#endif
}

// The same for one value of 4 or 8 bytes.
template <class T>
__device__ __forceinline__ void copy_async_value(T* to_shared, const T* from) {
#if __CUDA_ARCH__ >= 800
  const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(to_shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(sizeof(T)) : "memory");
#else
  *to_shared = *from;
#endif
}

// Ends a group of copies, which may be empty.
__device__ __forceinline__ void copy_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all groups of copies but the last `Left` that this thread has ended.
template <int Left>
__device__ __forceinline__ void copy_async_wait_but() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
#endif
}

// Waits for all copies that this thread has begun.
__device__ __forceinline__ void copy_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
