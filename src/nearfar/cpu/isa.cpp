// Detects the processor's level once.
#include "cpu/isa.hpp"

#include <cstdlib>
#include <cstring>

#include "cpu/bindings.hpp"

namespace nearfar {
namespace {

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  Isa best = Isa::v2;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe") &&
      __builtin_cpu_supports("f16c"))
    best = Isa::v3;
  if (best == Isa::v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    best = Isa::v4;
  if (const char* asked = std::getenv("NEARFAR_CPU_LEVEL")) {
    if (std::strcmp(asked, "v2") == 0) return Isa::v2;
    if (std::strcmp(asked, "v3") == 0 && best >= Isa::v3) return Isa::v3;
  }
  return best;
#else
  return Isa::baseline;
#endif
}

}  // namespace

Isa isa() {
  static const Isa level = detect();
  return level;
}

NEARFAR_BIND(m) {
  m.def("isa", [] {
    switch (isa()) {
      case Isa::v4:
        return "v4";
      case Isa::v3:
        return "v3";
      case Isa::v2:
        return "v2";
      default:
        return "baseline";
    }
  });
}

}  // namespace nearfar
