// Sums and keys of distances, without a branch for saturation.
//
// The sum of two non-negative integers fits the unsigned type of the same width, and "unreached" is
// the signed maximum. So an overflowing sum compares greater than or equal to every distance and
// never improves one: saturation takes no instruction per edge. Floats saturate at infinity.
// Everything here is forced inline: builds for several instruction sets share this header, and no
// out-of-line copy compiled for a newer processor may be used on an older one (see
// cpu/instructions/isa.hpp).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/graph/graph_view.hpp"

#define NEARFAR_INLINE __attribute__((always_inline)) inline
#define NEARFAR_COLD __attribute__((noinline, cold))

namespace nearfar {

// Unsigned integer as wide as a weight.
template <class Weight>
using BitsOf = std::conditional_t<sizeof(Weight) == 4, uint32_t, uint64_t>;

template <class Weight>
using SumOf = std::conditional_t<std::is_floating_point_v<Weight>, Weight, BitsOf<Weight>>;

// d + w for d reached and w >= 0.
template <class Weight>
NEARFAR_INLINE SumOf<Weight> candidate(Weight d, Weight w) {
  return static_cast<SumOf<Weight>>(d) + static_cast<SumOf<Weight>>(w);
}

template <class Weight>
NEARFAR_INLINE bool improves(SumOf<Weight> sum, Weight current) {
  return sum < static_cast<SumOf<Weight>>(current);
}

// Bit patterns of non-negative numbers have the order of the numbers (a Graph never contains -0.0).
template <class Weight>
NEARFAR_INLINE BitsOf<Weight> ordered_bits(Weight d) {
  return std::bit_cast<BitsOf<Weight>>(d);
}

template <class Weight>
NEARFAR_INLINE Weight from_ordered_bits(BitsOf<Weight> bits) {
  return std::bit_cast<Weight>(bits);
}

__extension__ typedef unsigned __int128 Wide;

// (distance, vertex) in one integer ordered by distance first: one comparison and one move per heap
// step, and a defined order between equal distances.
template <class Weight>
struct PackedKey {
  static constexpr bool narrow = sizeof(Weight) == 4;
  static constexpr int shift = narrow ? 32 : 64;
  using Type = std::conditional_t<narrow, uint64_t, Wide>;

  static NEARFAR_INLINE Type make(Weight d, int32_t v) {
    return (static_cast<Type>(ordered_bits(d)) << shift) | static_cast<uint32_t>(v);
  }
  static NEARFAR_INLINE Weight distance(Type key) {
    return from_ordered_bits<Weight>(static_cast<BitsOf<Weight>>(key >> shift));
  }
  static NEARFAR_INLINE int32_t vertex(Type key) { return static_cast<int32_t>(key); }
};

// Returns `yes` if `which`, else `no`, without the branch that compilers may make of it.
template <class T>
NEARFAR_INLINE T* select(bool which, T* yes, T* no) {
  uintptr_t mask = 0 - uintptr_t{which};
  __asm__("" : "+r"(mask));  // hides the value from the compiler
  const auto from = reinterpret_cast<uintptr_t>(no);
  return reinterpret_cast<T*>(from + ((reinterpret_cast<uintptr_t>(yes) - from) & mask));
}

NEARFAR_INLINE void prefetch(const void* address) {
  __builtin_prefetch(address, 0, 3);
}

// Also takes the line from other cores, so that a store need not wait for it.
NEARFAR_INLINE void prefetch_to_write(const void* address) {
#if defined(__x86_64__)  // compilers leave the instruction out if told to support old processors
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1, 3);
#endif
}

}  // namespace nearfar
