// Distances of the one-launch engines during a solve: one weight_t each, or packed.
//
// With DISTANCE_BITS of 8 or 16 four or two of them share a 32-bit word, so that those of a large
// graph fit the L2 cache, where the random reads and atomics are then served. A word is lowered by
// compare-and-swap; all ones mean "unreached". A sum that would need more bits is not stored:
// `fits` is false, the caller marks the solve as failed, and the host repeats it with full-width
// distances. Weights must be integers.
// requires: cuda/primitives/distance.cuh
#pragma once

#ifndef DISTANCE_BITS
#define DISTANCE_BITS 0
#endif
#ifndef SEEN_FROM_L1
#define SEEN_FROM_L1 1
#endif

#if DISTANCE_BITS
typedef uint32 slot_t;
constexpr int kInSlot = 32 / DISTANCE_BITS;
constexpr uint32 kAllOnes = (1u << DISTANCE_BITS) - 1;
#else
typedef weight_t slot_t;
constexpr int kInSlot = 1;
#endif

// A distance as read, and its slot.
struct Seen {
#if DISTANCE_BITS
  slot_t slot;
#endif
  weight_t value;
};

struct Distances {
  slot_t* slots;

  // The pointer comes from shared memory: this tells the compiler that its target is global memory, since an
  // atomic on an address that might be in shared memory takes longer.
  __device__ __forceinline__ slot_t* slot_of(vertex_t v) const {
    slot_t* const slot = slots + v / kInSlot;
    __builtin_assume(__isGlobal(slot));
    return slot;
  }

#if DISTANCE_BITS
  __device__ __forceinline__ static int shift(vertex_t v) {
    return static_cast<int>(v & (kInSlot - 1)) * DISTANCE_BITS;
  }
  __device__ __forceinline__ static weight_t value(slot_t slot, vertex_t v) {
    const uint32 held = slot >> shift(v) & kAllOnes;
    return held == kAllOnes ? unreached() : static_cast<weight_t>(held);
  }
  __device__ __forceinline__ static slot_t with(slot_t slot, vertex_t v, weight_t d) {
    return (slot & ~(kAllOnes << shift(v))) | static_cast<uint32>(d) << shift(v);
  }
  __device__ __forceinline__ static bool fits(weight_t d) {
    return d < static_cast<weight_t>(kAllOnes);
  }
  __device__ __forceinline__ static slot_t none() { return ~0u; }
  // Returns the slot at place i of a new solve.
  __device__ __forceinline__ static slot_t first(long long i, long long source) {
    const bool here = i == source / kInSlot;
    return here ? with(none(), static_cast<vertex_t>(source), weight_t(0)) : none();
  }
  // Returns true if a vertex of the slot is reached, but not nearer than `from`. All vertices of
  // the slot are compared at once: the result of each is in its highest bit.
  __device__ __forceinline__ static bool waits(slot_t slot, weight_t from) {
    constexpr uint32 kLowest = ~0u / kAllOnes, kHighest = kLowest << (DISTANCE_BITS - 1);
    const uint32 bound = (fits(from) ? static_cast<uint32>(from) : kAllOnes) * kLowest;
    const uint32 rest = (slot | kHighest) - (bound & ~kHighest);
    const uint32 not_nearer = (slot & ~bound) | ((slot | ~bound) & rest);
    const uint32 reached = ((~slot & ~kHighest) + ~kHighest) | ~slot;
    return (not_nearer & reached & kHighest) != 0;
  }
  __device__ __forceinline__ Seen now(vertex_t v) const {
    const slot_t slot = load_relaxed(slots + v / kInSlot);
    return Seen{slot, value(slot, v)};
  }
  // Reads a possibly older value from L1: enough to decide that an atomic would change nothing.
  __device__ __forceinline__ Seen seen(vertex_t v) const {
#if SEEN_FROM_L1
    const slot_t slot =
        static_cast<slot_t>(load_stale(reinterpret_cast<const int*>(slots + v / kInSlot)));
    return Seen{slot, value(slot, v)};
#else
    return now(v);
#endif
  }
  // Starts an attempt to lower a distance; several may be in flight.
  __device__ __forceinline__ slot_t try_lower(vertex_t v, const Seen& seen, weight_t d) const {
    return atomicCAS(slot_of(v), seen.slot, with(seen.slot, v, d));
  }
  // Completes an attempt: returns the distance before it, which is at most d if it was not lowered.
  __device__ __forceinline__ weight_t lowered(vertex_t v, const Seen& seen, slot_t found,
                                              weight_t d) const {
    slot_t expected = seen.slot;
    while (found != expected && d < value(found, v)) {
      expected = found;
      found = atomicCAS(slot_of(v), expected, with(expected, v, d));
    }
    return value(found, v);
  }
  __device__ __forceinline__ weight_t lower(vertex_t v, weight_t d) const {
    const Seen seen = now(v);
    return d < seen.value ? lowered(v, seen, try_lower(v, seen, d), d) : seen.value;
  }
#else
  __device__ __forceinline__ static weight_t value(slot_t slot, vertex_t) { return slot; }
  __device__ __forceinline__ static bool fits(weight_t) { return true; }
  __device__ __forceinline__ static slot_t none() { return unreached(); }
  __device__ __forceinline__ static slot_t first(long long i, long long source) {
    return i == source ? weight_t(0) : none();
  }
  __device__ __forceinline__ static bool waits(slot_t slot, weight_t from) {
    return slot < unreached() && !(slot < from);
  }
  __device__ __forceinline__ Seen now(vertex_t v) const { return Seen{load_relaxed(slots + v)}; }
  __device__ __forceinline__ Seen seen(vertex_t v) const {
#if SEEN_FROM_L1
    return Seen{load_stale(slots + v)};
#else
    return now(v);
#endif
  }
  __device__ __forceinline__ slot_t try_lower(vertex_t v, const Seen&, weight_t d) const {
    return atomic_minimum(slot_of(v), d);
  }
  __device__ __forceinline__ weight_t lowered(vertex_t, const Seen&, slot_t found,
                                              weight_t) const {
    return found;
  }
  __device__ __forceinline__ weight_t lower(vertex_t v, weight_t d) const {
    return atomic_minimum(slot_of(v), d);
  }
#endif

  __device__ __forceinline__ weight_t at(vertex_t v) const { return now(v).value; }
  __device__ __forceinline__ static long long count(long long n) {
    return (n + kInSlot - 1) / kInSlot;
  }
};
