// Edges as the one-launch engines read them: records of edges.cuh, or 4 bytes per edge.
//
// With EDGE_BITS the target lies in the low EDGE_BITS bits of a word and the weight above it: half
// the bytes, where a vertex and the greatest weight fit 32 bits together.
// requires: cuda/edges.cuh
// requires: cuda/memory.cuh
#pragma once

#ifndef EDGE_BITS
#define EDGE_BITS 0
#endif
#ifndef EDGES_ONCE
#define EDGES_ONCE 1
#endif

#if EDGE_BITS
typedef uint32 StoredEdge;

__device__ __forceinline__ Edge unpacked(uint32 word) {
  Edge edge;
  edge.target = static_cast<vertex_t>(word & ((1u << EDGE_BITS) - 1));
  edge.weight = static_cast<weight_t>(word >> EDGE_BITS);
  return edge;
}
__device__ __forceinline__ Edge load_edge(const uint32* __restrict__ edges, offset_t i) {
  return unpacked(static_cast<uint32>(__ldg(reinterpret_cast<const int*>(edges + i))));
}
// An edge that will not be read again soon.
__device__ __forceinline__ Edge load_streamed(const uint32* edges, offset_t at) {
  return unpacked(static_cast<uint32>(load_once(reinterpret_cast<const int*>(edges + at))));
}
#else
typedef Edge StoredEdge;

__device__ __forceinline__ Edge load_streamed(const Edge* edges, offset_t at) {
#if EDGES_ONCE
  if constexpr (sizeof(Edge) == 8) {
    const long long raw = load_once(reinterpret_cast<const long long*>(edges + at));
    Edge edge;
    memcpy(&edge, &raw, sizeof(edge));
    return edge;
  }
#endif
  return load_edge(edges, at);
}
#endif
