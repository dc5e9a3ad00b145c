// Selection among the builds for several instruction sets.
//
// CMake compiles every *.simd.cpp once per level, with NEARFAR_ISA naming the level. Such a file
// defines everything in `namespace nearfar::NEARFAR_ISA`, and callers select with NEARFAR_PICK_ISA.
// Rules that keep instructions that an old processor lacks out of its code:
// - a template or inline function shared by the levels is NEARFAR_INLINE (never emitted out of
//   line), or is in a header that opens `namespace nearfar::NEARFAR_ISA` itself (one symbol per
//   level);
// - hot files use no std:: containers: their members would be emitted as weak symbols that the
//   linker merges between levels;
// - if one is emitted nevertheless, CMake links the plain objects first, then the levels in
//   ascending order, and the first definition of a weak symbol, that of the oldest level, is used.
//
// A local build has one level, that of its processor (NEARFAR_ONLY_ISA); wheels have them all.
#pragma once

#include "cpu/instructions/processor_level.hpp"

#if defined(NEARFAR_ONLY_ISA)
#define NEARFAR_FOR_EACH_ISA(X) X(NEARFAR_ONLY_ISA)
#define NEARFAR_PICK_ISA(...) (NEARFAR_ONLY_ISA::__VA_ARGS__)
#elif defined(__x86_64__)
#define NEARFAR_FOR_EACH_ISA(X) X(v2) X(v3) X(v4)
#define NEARFAR_PICK_ISA(...)                                 \
  (::nearfar::isa() == ::nearfar::Isa::v4   ? v4::__VA_ARGS__ \
   : ::nearfar::isa() == ::nearfar::Isa::v3 ? v3::__VA_ARGS__ \
                                            : v2::__VA_ARGS__)
#else
#define NEARFAR_FOR_EACH_ISA(X) X(baseline)
#define NEARFAR_PICK_ISA(...) (baseline::__VA_ARGS__)
#endif

namespace nearfar {

// Returns the highest compiled level that this processor supports, or the one named by the
// environment variable NEARFAR_CPU_LEVEL, for tests and comparisons. Read once, on import of the
// module, which fails if there is none.
Isa isa();

}  // namespace nearfar
