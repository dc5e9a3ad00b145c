// One pass over the edges of an unvalidated matrix, at the speed of memory.
//
// It takes a small part of the search that follows (search_matrix.cpp). With long rows it also
// copies small integer weights into one or two bytes each: the search then reads less than half of
// the memory, in int32.
#include "solve/matrix/check_matrix.hpp"

#include <limits>

namespace nearfar::NEARFAR_ISA {
namespace {

// No wider than the registers, because compilers split wider vectors into scalars.
#if defined(__AVX__)
constexpr std::size_t kLanes = 4;
#else
constexpr std::size_t kLanes = 2;
#endif
typedef double Doubles __attribute__((vector_size(8 * kLanes)));
typedef int64_t Masks __attribute__((vector_size(8 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
typedef uint32_t Targets __attribute__((vector_size(4 * kLanes)));

template <class Vector, class T>
NEARFAR_INLINE void load(Vector& out, const T* from) {
  __builtin_memcpy(&out, from, sizeof(out));
}

template <class Vector>
NEARFAR_INLINE auto greatest_lane(const Vector& lanes) {
  auto most = lanes[0];
  for (std::size_t i = 1; i < kLanes; ++i) most = lanes[i] > most ? lanes[i] : most;
  return most;
}

}  // namespace

EdgeFacts check_edges(const BareCsr& csr) {
  const auto m = static_cast<std::size_t>(csr.m);
  Doubles low = {}, high = {};
  Targets top = {};
  std::size_t e = 0;
  for (; e + kLanes <= m; e += kLanes) {
    Doubles w;
    Targets t;
    load(w, csr.weights + e);
    load(t, csr.indices + e);
    low = w < low ? w : low;
    high = w > high ? w : high;
    top = t > top ? t : top;
  }
  EdgeFacts found{greatest_lane(top), -greatest_lane(-low), greatest_lane(high)};
  for (; e < m; ++e) {
    const double w = csr.weights[e];
    const auto t = static_cast<uint32_t>(csr.indices[e]);
    found.least = w < found.least ? w : found.least;
    found.greatest = w > found.greatest ? w : found.greatest;
    found.top = t > found.top ? t : found.top;
  }
  return found;
}

EdgeFacts check_weights(const double* weights, std::size_t m) {
  Doubles low = {}, high = {};
  std::size_t e = 0;
  for (; e + kLanes <= m; e += kLanes) {
    Doubles w;
    load(w, weights + e);
    low = w < low ? w : low;
    high = w > high ? w : high;
  }
  EdgeFacts found{0, -greatest_lane(-low), greatest_lane(high)};
  for (; e < m; ++e) {
    found.least = weights[e] < found.least ? weights[e] : found.least;
    found.greatest = weights[e] > found.greatest ? weights[e] : found.greatest;
  }
  return found;
}

template <class Small>
bool check_and_narrow(const BareCsr& csr, Small* out, EdgeFacts& facts) {
  constexpr std::size_t kBlock = 128;  // edges between two checks
  const auto m = static_cast<std::size_t>(csr.m);
  Targets top = {};
  std::size_t e = 0;
  for (; e + kBlock <= m; e += kBlock) {
    int32_t block[kBlock];
    Masks odd = {};
    Ints all = {};  // union of the bits of all weights
    for (std::size_t i = 0; i < kBlock; i += kLanes) {
      Doubles w;
      Targets t;
      load(w, csr.weights + e + i);
      load(t, csr.indices + e + i);
      const Ints whole = __builtin_convertvector(w, Ints);
      odd |= __builtin_convertvector(whole, Doubles) != w;  // a fraction, NaN, or out of range
      all |= whole;
      top = t > top ? t : top;
      __builtin_memcpy(block + i, &whole, sizeof(whole));
    }
    for (std::size_t i = 0; i < kLanes; ++i)
      if (odd[i] != 0 || (all[i] & ~int32_t{std::numeric_limits<Small>::max()}) != 0) return false;
    for (std::size_t i = 0; i < kBlock; ++i) out[e + i] = static_cast<Small>(block[i]);
  }
  facts = {greatest_lane(top), 0, static_cast<double>(std::numeric_limits<Small>::max())};
  for (; e < m; ++e) {
    const double w = csr.weights[e];
    if (!(w >= 0 && w <= facts.greatest)) return false;
    out[e] = static_cast<Small>(w);
    if (static_cast<double>(out[e]) != w) return false;
    const auto t = static_cast<uint32_t>(csr.indices[e]);
    facts.top = t > facts.top ? t : facts.top;
  }
  return true;
}

uint64_t narrow_indices(const int64_t* from, std::size_t count, int32_t* to) {
  Masks all = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Masks values;
    load(values, from + i);
    all |= values;
    const Ints small = __builtin_convertvector(values, Ints);
    __builtin_memcpy(to + i, &small, sizeof(small));
  }
  int64_t bits = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) bits |= all[lane];
  for (; i < count; ++i) bits |= from[i], to[i] = static_cast<int32_t>(from[i]);
  return static_cast<uint64_t>(bits);
}

template bool check_and_narrow(const BareCsr&, uint8_t*, EdgeFacts&);
template bool check_and_narrow(const BareCsr&, uint16_t*, EdgeFacts&);

}  // namespace nearfar::NEARFAR_ISA
