// The level of x86-64 that this processor supports; CMake uses it for a local build.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nearfar {

// Numbered like the levels of x86-64; a processor also runs the code of lower levels.
enum class Isa { baseline = 1, v2, v3, v4 };

inline Isa processor_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  // Compilers name these three differently, so the CPUID bits are read.
  const bool movbe = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_MOVBE);
  const bool f16c = (c & bit_F16C) != 0;
  const bool lzcnt = __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & (1u << 5));
  if (!(__builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
        __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")))
    return Isa::baseline;
  if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && movbe && f16c && lzcnt))
    return Isa::v2;
  if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")))
    return Isa::v3;
  return Isa::v4;
#else
  return Isa::baseline;
#endif
}

}  // namespace nearfar
