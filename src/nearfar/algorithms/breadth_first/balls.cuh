// What lies around a vertex, for searches that run ahead: the targets within a few hops of it, with
// their hops.
//
// balls[n][BALL_WIDTH]: a word per target, vertex in the low kVertexBits bits, hops above, and the sign
// for those whose own edges may lead out of the ball. kNone fills up; a vertex without a ball has
// kLonger in its first word: its row does not fit, or other rows lead past it (row_shortcuts.cuh).
//
// requires: cuda/graph/row_marks.cuh
// requires: cuda/primitives/types.cuh
#pragma once

#ifndef BALL_WIDTH
#define BALL_WIDTH 64
#endif

constexpr int kVertexBits = 26, kMostHops = 30;
constexpr uint32 kVertexMask = (1u << kVertexBits) - 1;
constexpr uint32 kTakenOn = 1u << 31;
constexpr uint32 kNone = 0x7fffffffu, kLonger = 0x7ffffffeu;  // 31 hops: of no target

__device__ __forceinline__ int hops_of(uint32 word) {
  return static_cast<int>(word >> kVertexBits & 31u);
}

constexpr int kRowEdges = 8;  // of a row with shortcuts

// An edge of such a row: as long as so many hops.
struct alignas(2 * sizeof(vertex_t)) RowEdge {
  vertex_t target;
  int weight;
};

// Brings the ball of a vertex into L2 before it is read; a hint, for devices that take one.
__device__ __forceinline__ void expect_ball(const uint32* balls, vertex_t v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
               :
               : "l"(balls + static_cast<long long>(v) * BALL_WIDTH), "r"(BALL_WIDTH * 4)
               : "memory");
#endif
}
