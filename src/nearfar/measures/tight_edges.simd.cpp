// The loop of tight_edges.hpp: a branch per edge would be as good as random, so all are written and
// those that are not tight are written over. Processors with gathers and compressing stores look at
// 16 edges at once, or at 8 where weights take 64 bits.
#include "measures/tight_edges.hpp"

#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "cpu/arithmetic.hpp"
#include "cpu/registers.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

#if defined(__AVX512VL__) && defined(__AVX512DQ__)
NEARFAR_INLINE __m512i load(const int32_t* from) {
  return _mm512_loadu_si512(from);
}
NEARFAR_INLINE __m256i load_half(const int32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// Which of the next edges are tight.
NEARFAR_INLINE __mmask16 tight(const int32_t* tails, const int32_t* heads, const int32_t* w,
                               const int32_t* d) {
  const __m512i here = _mm512_i32gather_epi32(load(tails), d, 4);
  const __m512i there = _mm512_i32gather_epi32(load(heads), d, 4);
  const __mmask16 reached = _mm512_cmpneq_epi32_mask(here, _mm512_set1_epi32(unreached<int32_t>()));
  return _mm512_mask_cmpeq_epi32_mask(reached, _mm512_add_epi32(here, load(w)), there);
}
NEARFAR_INLINE __mmask16 tight(const int32_t* tails, const int32_t* heads, const float* w,
                               const float* d) {
  const __m512 here = _mm512_i32gather_ps(load(tails), d, 4);
  const __m512 there = _mm512_i32gather_ps(load(heads), d, 4);
  const __mmask16 reached =
      _mm512_cmp_ps_mask(here, _mm512_set1_ps(unreached<float>()), _CMP_NEQ_OQ);
  const __m512 sum = _mm512_add_ps(here, _mm512_loadu_ps(w));
  return _mm512_mask_cmp_ps_mask(reached, sum, there, _CMP_EQ_OQ);
}
NEARFAR_INLINE __mmask8 tight(const int32_t* tails, const int32_t* heads, const int64_t* w,
                              const int64_t* d) {
  const __m512i here = _mm512_i32gather_epi64(load_half(tails), d, 8);
  const __m512i there = _mm512_i32gather_epi64(load_half(heads), d, 8);
  const __mmask8 reached = _mm512_cmpneq_epi64_mask(here, _mm512_set1_epi64(unreached<int64_t>()));
  const __m512i sum = _mm512_add_epi64(here, _mm512_loadu_si512(w));
  return _mm512_mask_cmpeq_epi64_mask(reached, sum, there);
}
NEARFAR_INLINE __mmask8 tight(const int32_t* tails, const int32_t* heads, const double* w,
                              const double* d) {
  const __m512d here = _mm512_i32gather_pd(load_half(tails), d, 8);
  const __m512d there = _mm512_i32gather_pd(load_half(heads), d, 8);
  const __mmask8 reached =
      _mm512_cmp_pd_mask(here, _mm512_set1_pd(unreached<double>()), _CMP_NEQ_OQ);
  const __m512d sum = _mm512_add_pd(here, _mm512_loadu_pd(w));
  return _mm512_mask_cmp_pd_mask(reached, sum, there, _CMP_EQ_OQ);
}

// Writes what is in the mask to the front, and something behind it.
NEARFAR_INLINE void write(__mmask16 mask, const int32_t* from, int32_t* to) {
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(mask, load(from)));
}
NEARFAR_INLINE void write(__mmask8 mask, const int32_t* from, int32_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_maskz_compress_epi32(mask, load_half(from)));
}
#endif

}  // namespace

template <class Index, class Weight>
std::size_t tight_edges(const measures::EdgeColumns<Index, Weight>& edges, const Weight* distance,
                        Index* from, Index* to) {
  const auto& [n, tails, heads, weights] = edges;
  std::size_t count = 0;
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
  if constexpr (sizeof(Index) == 4) {
    for (std::size_t e = 0; e < n; e += 64 / sizeof(Weight)) {
      const auto mask = tight(tails + e, heads + e, weights + e, distance);
      write(mask, tails + e, from + count);
      write(mask, heads + e, to + count);
      count += static_cast<std::size_t>(__builtin_popcount(mask));
    }
    return count;
  }
#endif
  for (std::size_t e = 0; e < n; ++e) {
    const Index u = tails[e], t = heads[e];
    const Weight here = distance[u];
    from[count] = u;
    to[count] = t;
    count += static_cast<std::size_t>(
        (here != unreached<Weight>()) &
        (candidate(here, weights[e]) == static_cast<SumOf<Weight>>(distance[t])));
  }
  return count;
}

#define NEARFAR_TIGHT_EDGES(Index, Weight)                                                     \
  template std::size_t tight_edges(const measures::EdgeColumns<Index, Weight>&, const Weight*, \
                                   Index*, Index*);
NEARFAR_FOR_EACH_CSR(NEARFAR_TIGHT_EDGES)

}  // namespace nearfar::NEARFAR_ISA
