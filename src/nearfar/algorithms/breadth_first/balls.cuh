// Balls: the targets within a few hops of a vertex with their hops, for searches that run ahead.
//
// balls[n][BALL_WIDTH]: a word per target, vertex in the low kVertexBits bits, hops above, and the sign
// for targets whose own edges may lead out of the ball. Unused words are kNone; a vertex without a ball has
// kLonger in its first word: its row does not fit, or other rows skip it (row_shortcuts.cuh).
//
// requires: cuda/graph/head_edges.cuh
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

// An edge of a row with shortcuts, with its length in hops.
struct alignas(2 * sizeof(vertex_t)) RowEdge {
  vertex_t target;
  int weight;
};

// Prefetches the ball of a vertex into L2; a hint, where the device supports it.
__device__ __forceinline__ void expect_ball(const uint32* balls, vertex_t v) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
               :
               : "l"(balls + static_cast<long long>(v) * BALL_WIDTH), "r"(BALL_WIDTH * 4)
               : "memory");
#endif
}
