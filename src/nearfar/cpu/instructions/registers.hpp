// Vector registers of the instruction set that a *.simd.cpp is compiled for.
//
// Included by *.simd.cpp only; everything lives in the namespace of the instruction set.
#pragma once

#include <cstddef>

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

}  // namespace nearfar::NEARFAR_ISA
