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

}  // namespace nearfar::NEARFAR_ISA
