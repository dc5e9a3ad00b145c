// Launches that begin before the one before them on a stream is over (system/devices/early.py).
//
// A kernel that is launched so may run while the one before still does, once all blocks of that have called
// let_next_begin() or have ended. What the one before writes is there after await_launch_before(), and so is what
// launches before that have written, if it awaited those itself before it let the next begin. Every block awaits,
// or a launch after it might begin too early. In other launches, and before compute capability 9.0, both do nothing.
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
