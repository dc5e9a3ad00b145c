// What lies around a vertex, for searches that run ahead: the targets within a few hops of it, with their hops.
//
// balls[n][BALL_WIDTH]: a word per target, vertex in the low kVertexBits bits, hops above, and the sign for the
// farthest ones. The radius is each vertex's own: as many whole hops as fit, at most kMostHops. kNone
// fills up; a row that does not fit by itself has kLonger in its first word.
//
// requires: cuda/types.cuh
#pragma once

#ifndef BALL_WIDTH
#define BALL_WIDTH 64
#endif

constexpr int kVertexBits = 27, kMostHops = 14;
constexpr uint32 kVertexMask = (1u << kVertexBits) - 1;
constexpr uint32 kFarthest = 1u << 31;
constexpr uint32 kNone = 0x7fffffffu, kLonger = 0x7ffffffeu;  // 15 hops: of no target

__device__ __forceinline__ int hops_of(uint32 word) {
  return static_cast<int>(word >> kVertexBits & 15u);
}

// Brings the ball of a vertex into L2 before it is read; a hint, for devices that take one.
__device__ __forceinline__ void expect_ball(const uint32* balls, vertex_t v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
               :
               : "l"(balls + static_cast<long long>(v) * BALL_WIDTH), "r"(BALL_WIDTH * 4)
               : "memory");
#endif
}
