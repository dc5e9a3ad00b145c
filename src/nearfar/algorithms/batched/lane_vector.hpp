// Vectors of lanes in the compiler's portable notation, and operations that it lacks.
//
// Included only by *.simd.cpp; everything is in the namespace of the instruction set.
#pragma once

#include <cstring>
#include <type_traits>

#include "cpu/instructions/registers.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar::batched::NEARFAR_ISA {

using nearfar::NEARFAR_ISA::any_lane;
using nearfar::NEARFAR_ISA::kRegister;

// The distances of one vertex: Width lanes in kParts registers.
template <class Lane, int Width>
struct LaneRow {
  static constexpr std::size_t kBytes =
      sizeof(Lane) * Width < kRegister ? sizeof(Lane) * Width : kRegister;
  static constexpr int kPerPart = static_cast<int>(kBytes / sizeof(Lane));
  static constexpr int kParts = Width / kPerPart;
  typedef Lane Vector __attribute__((vector_size(kBytes)));
  using Mask = decltype(Vector{} < Vector{});
};

template <class Lane, class Vector>
NEARFAR_INLINE Lane least_lane(Vector x) {
#if defined(__SSE4_1__)
  if constexpr (std::is_same_v<Lane, uint16_t>) {
    __m128i low;
#if defined(__AVX512BW__)
    if constexpr (sizeof(Vector) == 64) {
      const __m256i half = _mm256_min_epu16(_mm512_castsi512_si256((__m512i)x),
                                            _mm512_extracti64x4_epi64((__m512i)x, 1));
      low = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(Vector) == 32)
      low = _mm_min_epu16(_mm256_castsi256_si128((__m256i)x),
                          _mm256_extracti128_si256((__m256i)x, 1));
#endif
    if constexpr (sizeof(Vector) == 16) low = (__m128i)x;
    return static_cast<Lane>(_mm_cvtsi128_si32(_mm_minpos_epu16(low)));
  }
#endif
  constexpr int kLanes = sizeof(Vector) / sizeof(Lane);
  Lane least = x[0];
  for (int i = 1; i < kLanes; ++i) least = x[i] < least ? x[i] : least;
  return least;
}

// Copies lanes to rows: cap and more becomes "unreached". Tiles of kTile vertices by kTile lanes
// are transposed in registers.
template <class Lane, class Out>
class Writer {
 public:
  static constexpr int kTile = sizeof(Lane) == 2 ? 8 : 4;
  NEARFAR_INLINE explicit Writer(Lane cap) : cap_(cap) {}

  NEARFAR_INLINE Out one(Lane x) const {
    if (x >= cap_) return unreached<Out>();
    if constexpr (sizeof(Lane) > sizeof(Out))
      if (x >= static_cast<Lane>(unreached<Out>())) return unreached<Out>();
    return static_cast<Out>(x);
  }

  template <int Width>
  NEARFAR_INLINE void tile(const Lane* from, Out* const* rows, int32_t v) const {
    if constexpr (std::is_same_v<Lane, uint16_t> && std::is_same_v<Out, int32_t>)
      tile_16<Width>(from, rows, v);
    else if constexpr (sizeof(Lane) == 4 && std::is_same_v<Lane, Out>)
      tile_32<Width>(from, rows, v);
    else
      for (int l = 0; l < kTile; ++l)
        for (int i = 0; i < kTile; ++i) rows[l][v + i] = one(from[i * Width + l]);
  }

 private:
  template <int Width>
  NEARFAR_INLINE void tile_16(const Lane* from, Out* const* rows, int32_t v) const {
    typedef uint16_t Short __attribute__((vector_size(16)));
    typedef int32_t Long __attribute__((vector_size(32)));
    Short a[8], b[8];
    for (int i = 0; i < 8; ++i) std::memcpy(&a[i], from + i * Width, 16);
    nearfar::NEARFAR_ISA::interleave(a, b);
    nearfar::NEARFAR_ISA::interleave(b, a);
    nearfar::NEARFAR_ISA::interleave(a, b);
    for (int l = 0; l < 8; ++l) {
      const Long wide = __builtin_convertvector(b[l], Long);
      const Long out = wide | ((wide >= cap_) & unreached<Out>());
      std::memcpy(rows[l] + v, &out, sizeof(out));
    }
  }

  template <int Width>
  NEARFAR_INLINE void tile_32(const Lane* from, Out* const* rows, int32_t v) const {
    typedef Lane Quad __attribute__((vector_size(16)));
    Quad a[4], b[4];
    for (int i = 0; i < 4; ++i) std::memcpy(&a[i], from + i * Width, 16);
    nearfar::NEARFAR_ISA::interleave(a, b);
    nearfar::NEARFAR_ISA::interleave(b, a);
    const Quad cap = Quad{} + cap_, none = Quad{} + unreached<Out>();
    for (int l = 0; l < 4; ++l) {
      const Quad out = a[l] >= cap ? none : a[l];
      std::memcpy(rows[l] + v, &out, sizeof(out));
    }
  }

  Lane cap_;
};

}  // namespace nearfar::batched::NEARFAR_ISA
