// Launches that may begin before the previous launch of the stream ends (system/devices/early.py).
//
// Such a kernel may run once all blocks of the previous one have called let_next_begin() or ended. After
// await_launch_before() it sees the writes of the previous launch, and those of earlier launches if the
// previous one awaited them before let_next_begin(). Every block must await, else a later launch might
// begin too early. In other launches, and before compute capability 9.0, both functions do nothing.
#pragma once

__device__ __forceinline__ void await_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
