// The loops of array_checks.hpp.
#include "cpu/graph/array_checks.hpp"

#include <limits>

#include "cpu/instructions/registers.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

template <class Vector, class T>
NEARFAR_INLINE void load(Vector& out, const T* from) {
  __builtin_memcpy(&out, from, sizeof(out));
}

template <class Vector, class T>
NEARFAR_INLINE void store(const Vector& lanes, T* to) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}

template <bool kCopies, class U>
NEARFAR_INLINE U greatest(const U* in, U* out, std::size_t count) {
  constexpr std::size_t kLanes = kRegister / sizeof(U), kAtOnce = 4;
  typedef U Lanes __attribute__((vector_size(kRegister)));
  Lanes top[kAtOnce] = {};
  std::size_t i = 0;
  for (; i + kAtOnce * kLanes <= count; i += kAtOnce * kLanes)
    for (std::size_t g = 0; g < kAtOnce; ++g) {
      Lanes values;
      load(values, in + i + g * kLanes);
      if constexpr (kCopies) store(values, out + i + g * kLanes);
      top[g] = values > top[g] ? values : top[g];
    }
  U most = 0;
  for (; i < count; ++i) {
    const U value = in[i];
    if constexpr (kCopies) out[i] = value;
    most = value > most ? value : most;
  }
  for (const Lanes& lanes : top)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      most = lanes[lane] > most ? lanes[lane] : most;
  return most;
}

// Eight sums, in as many double registers as needed; weights of four bytes fill half a register.
template <bool kCopies, class W>
NEARFAR_INLINE Extent<W> extent(const W* in, W* out, std::size_t count) {
  constexpr std::size_t kSums = 8, kLanes = kRegister / sizeof(double), kGroups = kSums / kLanes;
  typedef W Weights __attribute__((vector_size(kLanes * sizeof(W))));
  typedef double Doubles __attribute__((vector_size(kRegister)));
  Extent<W> found{std::numeric_limits<W>::max(), std::numeric_limits<W>::lowest(), 0};
  Weights least[kGroups], most[kGroups];
  Doubles sum[kGroups] = {};
  for (std::size_t g = 0; g < kGroups; ++g)
    least[g] = found.least - Weights{}, most[g] = found.most - Weights{};
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (std::size_t g = 0; g < kGroups; ++g) {
      Weights values;
      load(values, in + i + g * kLanes);
      if constexpr (kCopies) store(values, out + i + g * kLanes);
      least[g] = values < least[g] ? values : least[g];
      most[g] = values > most[g] ? values : most[g];
      sum[g] += __builtin_convertvector(values, Doubles);
    }
  for (; i < count; ++i) {
    const W value = in[i];
    if constexpr (kCopies) out[i] = value;
    least[0][0] = value < least[0][0] ? value : least[0][0];
    most[0][0] = value > most[0][0] ? value : most[0][0];
    sum[0][0] += static_cast<double>(value);
  }
  for (std::size_t g = 0; g < kGroups; ++g)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      found.least = least[g][lane] < found.least ? least[g][lane] : found.least;
      found.most = most[g][lane] > found.most ? most[g][lane] : found.most;
      found.sum += sum[g][lane];
    }
  return found;
}

}  // namespace

template <class I>
bool never_falls(const I* in, std::size_t count) {
  constexpr std::size_t kLanes = kRegister / sizeof(I);
  typedef I Lanes __attribute__((vector_size(kRegister)));
  Lanes fell = {};
  std::size_t i = 1;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes before, values;
    load(before, in + i - 1);
    load(values, in + i);
    fell |= values < before;
  }
  bool falls = false;
  for (; i < count; ++i) falls |= in[i] < in[i - 1];
  for (std::size_t lane = 0; lane < kLanes; ++lane) falls |= fell[lane] != 0;
  return !falls;
}

template <class U>
U greatest_of(const U* in, U* out, std::size_t count) {
  return out == nullptr ? greatest<false>(in, out, count) : greatest<true>(in, out, count);
}

template <class W>
Extent<W> extent_of(const W* in, W* out, std::size_t count) {
  return out == nullptr ? extent<false>(in, out, count) : extent<true>(in, out, count);
}

template bool never_falls(const int32_t*, std::size_t);
template bool never_falls(const int64_t*, std::size_t);
template uint32_t greatest_of(const uint32_t*, uint32_t*, std::size_t);
template uint64_t greatest_of(const uint64_t*, uint64_t*, std::size_t);
template Extent<int32_t> extent_of(const int32_t*, int32_t*, std::size_t);
template Extent<int64_t> extent_of(const int64_t*, int64_t*, std::size_t);
template Extent<float> extent_of(const float*, float*, std::size_t);
template Extent<double> extent_of(const double*, double*, std::size_t);

}  // namespace nearfar::NEARFAR_ISA
