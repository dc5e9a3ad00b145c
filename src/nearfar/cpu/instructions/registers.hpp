// Vector registers of the instruction set that a *.simd.cpp is compiled for.
//
// Included only by *.simd.cpp; everything is in the namespace of the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/search/arithmetic.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nearfar::NEARFAR_ISA {

// Bytes of the widest register.
#if defined(__AVX512F__)
constexpr std::size_t kRegister = 64;
#elif defined(__AVX2__)
constexpr std::size_t kRegister = 32;
#else
constexpr std::size_t kRegister = 16;
#endif

// Whether any element of a vector of comparisons is true.
template <class Mask>
NEARFAR_INLINE bool any_lane(Mask mask) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(Mask) == 64)
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(Mask) == 32) return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#endif
#if defined(__SSE4_1__)
  if constexpr (sizeof(Mask) == 16) return !_mm_testz_si128((__m128i)mask, (__m128i)mask);
#endif
  uint64_t words[sizeof(Mask) / 8];
  std::memcpy(words, &mask, sizeof(mask));
  uint64_t all = 0;
  for (uint64_t word : words) all |= word;
  return all != 0;
}

// Elements of two vectors by position; GCC has the other builtin from 12 on.
#if defined(__clang__)
#define NEARFAR_ELEMENTS(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define NEARFAR_ELEMENTS(x, y, ...) __builtin_shuffle(x, y, Places{__VA_ARGS__})
#endif

// Interleaves the first half of some vectors with the second. Two rounds transpose four
// vectors of four elements, three rounds eight of eight.
template <class Vector>
NEARFAR_INLINE void interleave(const Vector (&from)[4], Vector (&to)[4]) {
  [[maybe_unused]] typedef decltype(from[0] < from[0]) Places;
  for (int i = 0; i < 2; ++i) {
    to[2 * i] = NEARFAR_ELEMENTS(from[i], from[i + 2], 0, 4, 1, 5);
    to[2 * i + 1] = NEARFAR_ELEMENTS(from[i], from[i + 2], 2, 6, 3, 7);
  }
}
template <class Vector>
NEARFAR_INLINE void interleave(const Vector (&from)[8], Vector (&to)[8]) {
  [[maybe_unused]] typedef decltype(from[0] < from[0]) Places;
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = NEARFAR_ELEMENTS(from[i], from[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    to[2 * i + 1] = NEARFAR_ELEMENTS(from[i], from[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
}
#undef NEARFAR_ELEMENTS

}  // namespace nearfar::NEARFAR_ISA
