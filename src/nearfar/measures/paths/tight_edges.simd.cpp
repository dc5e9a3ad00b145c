// The loop of tight_edges.hpp. A branch per edge would be mispredicted, so every edge is written
// and overwritten by the next if it is not tight. Processors with gathers and compressing stores
// process 16 edges at once, or 8 with weights of 64 bits.
#include "measures/paths/tight_edges.hpp"

#include "cpu/instructions/registers.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

#if defined(__AVX512VL__) && defined(__AVX512DQ__)
// A register of weights of a given size, and as many 32-bit targets.
template <std::size_t kBytes>
struct Lanes;

template <>
struct Lanes<4> {
  static NEARFAR_INLINE __m512i load(const int32_t* from) { return _mm512_loadu_si512(from); }
  static NEARFAR_INLINE __m512i gather(const void* from, const int32_t* at) {
    return _mm512_i32gather_epi32(load(at), from, 4);
  }
  static NEARFAR_INLINE __mmask16 mask(__m512i lanes) { return _mm512_movepi32_mask(lanes); }
  // Writes the elements in the mask to the front; what follows them is undefined.
  static NEARFAR_INLINE void write(__mmask16 mask, const int32_t* from, int32_t* to) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(mask, load(from)));
  }
};

template <>
struct Lanes<8> {
  static NEARFAR_INLINE __m256i load(const int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static NEARFAR_INLINE __m512i gather(const void* from, const int32_t* at) {
    return _mm512_i32gather_epi64(load(at), from, 8);
  }
  static NEARFAR_INLINE __mmask8 mask(__m512i lanes) { return _mm512_movepi64_mask(lanes); }
  static NEARFAR_INLINE void write(__mmask8 mask, const int32_t* from, int32_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_maskz_compress_epi32(mask, load(from)));
  }
};

// Returns which of the next edges are tight.
template <class Weight>
NEARFAR_INLINE auto tight(const int32_t* tails, const int32_t* heads, const Weight* weights,
                          const Weight* distance) {
  using L = Lanes<sizeof(Weight)>;
  typedef SumOf<Weight> Sums __attribute__((vector_size(64)));
  const Sums here = (Sums)L::gather(distance, tails), there = (Sums)L::gather(distance, heads);
  const Sums sum = here + (Sums)_mm512_loadu_si512(weights);
  return L::mask(
      (__m512i)((here != static_cast<SumOf<Weight>>(unreached<Weight>())) & (sum == there)));
}
#endif

}  // namespace

template <class Weight>
std::size_t tight_edges(const measures::EdgeColumns<Weight>& edges, const Weight* distance,
                        int32_t* from, int32_t* to) {
  const auto& [n, tails, heads, weights] = edges;
  std::size_t count = 0;
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
  for (std::size_t e = 0; e < n; e += 64 / sizeof(Weight)) {
    const auto mask = tight(tails + e, heads + e, weights + e, distance);
    Lanes<sizeof(Weight)>::write(mask, tails + e, from + count);
    Lanes<sizeof(Weight)>::write(mask, heads + e, to + count);
    count += static_cast<std::size_t>(__builtin_popcount(mask));
  }
#else
  for (std::size_t e = 0; e < n; ++e) {
    const int32_t u = tails[e], t = heads[e];
    const Weight here = distance[u];
    from[count] = u;
    to[count] = t;
    count += static_cast<std::size_t>(
        int{here != unreached<Weight>()} &
        int{candidate(here, weights[e]) == static_cast<SumOf<Weight>>(distance[t])});
  }
#endif
  return count;
}

#define NEARFAR_TIGHT_EDGES(Weight)                                                               \
  template std::size_t tight_edges(const measures::EdgeColumns<Weight>&, const Weight*, int32_t*, \
                                   int32_t*);
NEARFAR_FOR_EACH_WEIGHT(NEARFAR_TIGHT_EDGES)

}  // namespace nearfar::NEARFAR_ISA
