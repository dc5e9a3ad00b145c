// The tile operations of blocked Floyd-Warshall, one build for each instruction set.
//
// A tile is kTile x kTile values, row-major, 64-byte aligned. "Unreached" is kFar: it exceeds every
// path and kFar + kFar fits the type, so no operation needs a test for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/instructions/isa.hpp"

namespace nearfar::floyd_warshall {

constexpr int kTile = 64;

template <class Value>
constexpr Value far_value() {
  if constexpr (std::is_floating_point_v<Value>)
    return std::numeric_limits<Value>::infinity();
  else
    return std::numeric_limits<Value>::max() / 2;
}

#define NEARFAR_DECLARE_TILES(level)                                                               \
  namespace level {                                                                                \
  /* Shortest paths inside one tile (phase 1). */                                                  \
  template <class Value>                                                                           \
  void close_tile(Value* tile);                                                                    \
  /* c = min(c, a + b) over the middle index (phases 2 and 3); c must                              \
     overlap neither a nor b. */                                                                   \
  template <class Value>                                                                           \
  void update_tile(Value* c, const Value* a, const Value* b);                                      \
  /* before[i][j] = first + k for the smallest k of the tile with                                  \
     a[i][k] + b[k][j] = c[i][j] and a[i][k] < c[i][j], if any. */                                 \
  template <class Value>                                                                           \
  void tight_tile(int32_t* before, const Value* c, const Value* a, const Value* b, int32_t first); \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_TILES)
#undef NEARFAR_DECLARE_TILES

}  // namespace nearfar::floyd_warshall
