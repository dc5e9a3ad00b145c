// Inner loops of blocked Floyd-Warshall.
//
// update_tile is a matrix product over (min, +), blocked accordingly: 4 rows by kWide registers of
// c stay in registers while the middle index covers the whole tile, so a step costs kWide + 4 loads
// for 8 * kWide additions and minima, and is limited by the vector units, not by memory.
#include "algorithms/floyd_warshall/tiles.hpp"

#include "cpu/instructions/registers.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar::floyd_warshall::NEARFAR_ISA {
namespace {

using nearfar::NEARFAR_ISA::kRegister;
constexpr int kWide = kRegister == 64 ? 4 : 2;  // v4 has 32 registers, not 16
constexpr int kRows = 4;

template <class Value>
struct Register {
  static constexpr int kLanes = static_cast<int>(kRegister / sizeof(Value));
  typedef Value Type __attribute__((vector_size(kRegister)));
};

// The compiler turns `a < b ? a : b` of vectors into a comparison and a blend; where the processor
// has a single instruction, it is used explicitly.
template <class Value, class Vector>
NEARFAR_INLINE Vector minimum(Vector a, Vector b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<Value, int32_t>)
    return (Vector)_mm512_min_epi32((__m512i)a, (__m512i)b);
  if constexpr (std::is_same_v<Value, int64_t>)
    return (Vector)_mm512_min_epi64((__m512i)a, (__m512i)b);
  if constexpr (std::is_same_v<Value, float>) return (Vector)_mm512_min_ps((__m512)a, (__m512)b);
  if constexpr (std::is_same_v<Value, double>) return (Vector)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<Value, int32_t>)
    return (Vector)_mm256_min_epi32((__m256i)a, (__m256i)b);
  if constexpr (std::is_same_v<Value, float>) return (Vector)_mm256_min_ps((__m256)a, (__m256)b);
  if constexpr (std::is_same_v<Value, double>) return (Vector)_mm256_min_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE4_1__)
  if constexpr (std::is_same_v<Value, int32_t>)
    return (Vector)_mm_min_epi32((__m128i)a, (__m128i)b);
  if constexpr (std::is_same_v<Value, float>) return (Vector)_mm_min_ps((__m128)a, (__m128)b);
  if constexpr (std::is_same_v<Value, double>) return (Vector)_mm_min_pd((__m128d)a, (__m128d)b);
#endif
  return a < b ? a : b;
}

// kRows rows by kWide registers of a product of tiles.
template <class Value>
struct Block {
  using Vector = typename Register<Value>::Type;
  static constexpr int kParts = kTile / Register<Value>::kLanes;
  Vector best[kRows][kWide];

  // Merges the sums over every intermediate vertex: rows of the first tile from a on, registers of
  // the second from b on.
  NEARFAR_INLINE void lower(const Value* a, const Vector* b) {
    for (int k = 0; k < kTile; ++k) {
      Vector through[kWide];
      for (int w = 0; w < kWide; ++w) through[w] = b[k * kParts + w];
      for (int r = 0; r < kRows; ++r) {
        const Value first = a[r * kTile + k];
        for (int w = 0; w < kWide; ++w) best[r][w] = minimum<Value>(through[w] + first, best[r][w]);
      }
    }
  }
};

}  // namespace

template <class Value>
void close_tile(Value* tile) {
  using Vector = typename Register<Value>::Type;
  constexpr int kParts = kTile / Register<Value>::kLanes;
  auto* rows = reinterpret_cast<Vector*>(tile);
  for (int k = 0; k < kTile; ++k) {
    Vector through[kParts];
    for (int p = 0; p < kParts; ++p) through[p] = rows[k * kParts + p];
    for (int i = 0; i < kTile; ++i) {
      const Value first = tile[i * kTile + k];
      for (int p = 0; p < kParts; ++p) {
        Vector& c = rows[i * kParts + p];
        c = minimum<Value>(through[p] + first, c);
      }
    }
  }
}

template <class Value>
void update_tile(Value* c, const Value* a, const Value* b) {
  using Vector = typename Register<Value>::Type;
  constexpr int kParts = Block<Value>::kParts;
  auto* c_rows = reinterpret_cast<Vector*>(c);
  const auto* b_rows = reinterpret_cast<const Vector*>(b);
  for (int j = 0; j < kParts; j += kWide) {
    for (int i = 0; i < kTile; i += kRows) {
      Block<Value> block;
      for (int r = 0; r < kRows; ++r)
        for (int w = 0; w < kWide; ++w) block.best[r][w] = c_rows[(i + r) * kParts + j + w];
      block.lower(a + i * kTile, b_rows + j);
      for (int r = 0; r < kRows; ++r)
        for (int w = 0; w < kWide; ++w) c_rows[(i + r) * kParts + j + w] = block.best[r][w];
    }
  }
}

// An entry has a tight edge from this tile only if the least sum over the tile equals its distance,
// which is rare: so sums are computed as in update_tile, and the vertex is searched afterwards, for
// the few entries where they are equal.
template <class Value>
void tight_tile(int32_t* before, const Value* c, const Value* a, const Value* b, int32_t first) {
  using Vector = typename Register<Value>::Type;
  constexpr int kLanes = Register<Value>::kLanes, kParts = Block<Value>::kParts;
  const auto* b_rows = reinterpret_cast<const Vector*>(b);
  for (int j = 0; j < kParts; j += kWide) {
    for (int i = 0; i < kTile; i += kRows) {
      Block<Value> block;
      for (int r = 0; r < kRows; ++r)
        for (int w = 0; w < kWide; ++w) block.best[r][w] = Vector{} + far_value<Value>();
      const Value* column = a + i * kTile;
      block.lower(column, b_rows + j);
      for (int r = 0; r < kRows; ++r) {
        for (int x = j * kLanes; x < (j + kWide) * kLanes; ++x) {
          const Value wanted = c[(i + r) * kTile + x];
          if (block.best[r][x / kLanes - j][x % kLanes] != wanted) continue;
          for (int k = 0; k < kTile; ++k) {
            const Value from = column[r * kTile + k];
            if (from + b[k * kTile + x] != wanted || !(from < wanted)) continue;
            before[(i + r) * kTile + x] = first + k;
            break;
          }
        }
      }
    }
  }
}

#define NEARFAR_TILES(Value)                                            \
  template void close_tile<Value>(Value*);                              \
  template void update_tile<Value>(Value*, const Value*, const Value*); \
  template void tight_tile<Value>(int32_t*, const Value*, const Value*, const Value*, int32_t);
NEARFAR_TILES(int32_t)
NEARFAR_TILES(int64_t)
NEARFAR_TILES(float)
NEARFAR_TILES(double)

}  // namespace nearfar::floyd_warshall::NEARFAR_ISA
