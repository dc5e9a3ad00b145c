// Loops over the arcs of a label whose targets are slots of an array indexed by depth.
//
// Depths ascend within a label, and within a separator they are consecutive: there a whole register
// is added and compared at once. The next `count` arcs are such a run if and only if their first
// and last depth differ by count - 1.
//
// Included only by *.simd.cpp; everything is in the namespace of the instruction set.
#pragma once

#include <cstring>

#include "cpu/instructions/isa.hpp"
#include "cpu/instructions/registers.hpp"
#include "prepared/metric/value.hpp"

namespace nearfar::prepared::NEARFAR_ISA {

using nearfar::NEARFAR_ISA::kRegister;

template <class Value, std::size_t kBytes = kRegister>
struct Lanes {
  typedef Value Vector __attribute__((vector_size(kBytes)));
  static constexpr int kCount = static_cast<int>(kBytes / sizeof(Value));
  static NEARFAR_INLINE Vector load(const Value* from) {
    Vector x;
    std::memcpy(&x, from, sizeof(x));
    return x;
  }
  static NEARFAR_INLINE void store(Value* to, Vector x) { std::memcpy(to, &x, sizeof(x)); }
  // Stores past the caches; `to` is aligned to the vector's size. stream_end() makes such stores
  // visible.
  static NEARFAR_INLINE void stream(Value* to, Vector x) {
#if defined(__AVX512F__)
    if constexpr (kBytes == 64)
      return _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)x);
#endif
#if defined(__AVX2__)
    if constexpr (kBytes == 32)
      return _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)x);
#endif
#if defined(__SSE2__)
    if constexpr (kBytes == 16) return _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)x);
#endif
    store(to, x);
  }
  // Returns (pair[0], pair[1 % kSides], pair[0], ...).
  template <int kSides>
  static NEARFAR_INLINE Vector spread(const Value* pair) {
    if constexpr (kSides == 1) {
      return pair[0] + Vector{};
    } else if constexpr (sizeof(Value) == 4) {
      // As numbers of twice the size, because element-wise code takes one instruction per element.
      typedef uint64_t Pairs __attribute__((vector_size(kBytes)));
      uint64_t both;
      std::memcpy(&both, pair, sizeof(both));
      return (Vector)(both + Pairs{});
    } else {
      Vector x;
      for (int i = 0; i < kCount; ++i) x[i] = pair[i % kSides];
      return x;
    }
  }
  // Exchanges neighbours.
  template <int kSides>
  static NEARFAR_INLINE Vector exchanged(Vector x) {
    if constexpr (kSides == 1) return x;
    Vector y;
    for (int i = 0; i < kCount; ++i) y[i] = x[i ^ 1];
    return y;
  }
};

NEARFAR_INLINE void stream_end() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <class T>
NEARFAR_INLINE T lesser(T a, T b) {
  return a < b ? a : b;
}

// Calls wide(j, slot) for runs of kRegister bytes of arcs j.. that lead to slots slot.., and one(j,
// slot) for other arcs; `depths` are those of arcs 0 .. count.
template <class Value, int kSides, class Wide, class One>
NEARFAR_INLINE void for_arcs(const int32_t* depths, int64_t count, Wide&& wide, One&& one) {
  constexpr int kRun = Lanes<Value>::kCount / kSides;
  int64_t j = 0;
  while (j + kRun <= count) {
    if (depths[j + kRun - 1] - depths[j] == kRun - 1) {
      wide(j, depths[j]);
    } else {
      for (int i = 0; i < kRun; ++i) one(j + i, depths[j + i]);
    }
    j += kRun;
  }
  for (; j < count; ++j) one(j, depths[j]);
}

}  // namespace nearfar::prepared::NEARFAR_ISA
