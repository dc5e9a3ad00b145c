// Distances of one source as a block keeps them: 16 or 32 bits that order like the number.
//
// Macros: SLOT_BITS (16 or 32), FLOATING (1: WEIGHT_T is float and a slot holds its bits). A distance of
// `cap` or more counts as unreached; the array starts at cap, so no sum that reaches it ever improves
// anything and no sum overflows (32 bits: cap < 2^31 and weights < 2^31; 16 bits: sums are made in 32).
// requires: cuda/edges.cuh
// requires: cuda/warp.cuh
#pragma once

#if SLOT_BITS == 16
typedef unsigned short slot_t;
#else
typedef uint32 slot_t;
#endif

// d plus the weight of an edge.
__device__ __forceinline__ uint32 extend(uint32 d, const Edge& edge) {
#if FLOATING
  return __float_as_uint(__uint_as_float(d) + static_cast<float>(edge_weight(edge)));
#elif SLOT_BITS == 16
  const uint32 w = static_cast<uint32>(edge_weight(edge));
  return d + (w < 65535u ? w : 65535u);
#else
  return d + static_cast<uint32>(edge_weight(edge));
#endif
}

// d plus delta, at most cap.
__device__ __forceinline__ uint32 widen(uint32 d, uint32 delta, uint32 cap) {
#if FLOATING
  const uint32 sum = __float_as_uint(__uint_as_float(d) + __uint_as_float(delta));
  return sum > d && sum < cap ? sum : cap;
#else
  return delta < cap - d ? d + delta : cap;
#endif
}

__device__ __forceinline__ weight_t as_weight(uint32 d, uint32 cap) {
  if (d >= cap) return unreached();
#if FLOATING
  return __uint_as_float(d);
#else
  return static_cast<weight_t>(d);
#endif
}

// Lower *slot to `value`; whether that was less than before. Reads first: most candidates improve nothing.
__device__ __forceinline__ bool lower(slot_t* slot, uint32 value) {
#if SLOT_BITS == 16
  slot_t old = *const_cast<volatile slot_t*>(slot);
  while (value < old) {
    const slot_t found = atomicCAS(slot, old, static_cast<slot_t>(value));
    if (found == old) return true;
    old = found;
  }
  return false;
#else
  return value < *const_cast<volatile slot_t*>(slot) && value < atomicMin(slot, value);
#endif
}
