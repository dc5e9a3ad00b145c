// Edge records: target and weight adjacent, read by one load of 8 (or 16) bytes.
//
// The array is built once per graph by pack.cuh. Without weights a record is only the target.
// requires: cuda/primitives/types.cuh
#pragma once

#if WEIGHTED
struct alignas(2 * (sizeof(vertex_t) > sizeof(weight_t) ? sizeof(vertex_t) : sizeof(weight_t))) Edge {
  vertex_t target;
  weight_t weight;
};
#else
struct Edge {
  vertex_t target;
};
#endif

// Record i, through the read-only path: edges never change while a kernel runs.
__device__ __forceinline__ Edge load_edge(const Edge* __restrict__ edges, offset_t i) {
  Edge edge;
  if constexpr (sizeof(Edge) == 16) {
    const longlong2 raw = __ldg(reinterpret_cast<const longlong2*>(edges + i));
    memcpy(&edge, &raw, 16);
  } else if constexpr (sizeof(Edge) == 8) {
    const long long raw = __ldg(reinterpret_cast<const long long*>(edges + i));
    memcpy(&edge, &raw, 8);
  } else {
    const int raw = __ldg(reinterpret_cast<const int*>(edges + i));
    memcpy(&edge, &raw, 4);
  }
  return edge;
}

__device__ __forceinline__ weight_t edge_weight(const Edge& edge) {
#if WEIGHTED
  return edge.weight;
#else
  return static_cast<weight_t>(1);
#endif
}
