// Sums without rounding, for weights of every dtype.
//
// A float is an integer times a power of two, so a sum of floats is an integer in units of the
// least bit that occurs. Fixed stores it in two's complement, in as many 64-bit limbs as the caller
// needs: two for weights of similar size, 34 for the whole range of doubles.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace nearfar {

template <int kLimbs>
struct Fixed {
  uint64_t limbs[kLimbs] = {};

  bool negative() const { return static_cast<int64_t>(limbs[kLimbs - 1]) < 0; }

  // Adds value * 2^shift, shift >= 0.
  void add(int64_t value, int shift) {
    const int first = shift / 64;
    const auto moved = static_cast<unsigned __int128>(static_cast<__int128>(value)) << (shift % 64);
    const uint64_t sign = value < 0 ? ~uint64_t{0} : 0;
    unsigned __int128 carry = 0;
    for (int i = first; i < kLimbs; ++i) {
      const uint64_t part = i == first       ? static_cast<uint64_t>(moved)
                            : i == first + 1 ? static_cast<uint64_t>(moved >> 64)
                                             : sign;
      carry += limbs[i];
      carry += part;
      limbs[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }

  friend Fixed operator+(const Fixed& a, const Fixed& b) {
    Fixed sum;
    unsigned __int128 carry = 0;
    for (int i = 0; i < kLimbs; ++i) {
      carry += a.limbs[i];
      carry += b.limbs[i];
      sum.limbs[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    return sum;
  }
  friend bool operator<(const Fixed& a, const Fixed& b) {
    constexpr int top = kLimbs - 1;
    if (a.limbs[top] != b.limbs[top])
      return static_cast<int64_t>(a.limbs[top]) < static_cast<int64_t>(b.limbs[top]);
    for (int i = top; i-- > 0;)
      if (a.limbs[i] != b.limbs[i]) return a.limbs[i] < b.limbs[i];
    return false;
  }
  friend bool operator==(const Fixed& a, const Fixed& b) = default;
};

// A number as mantissa * 2^exponent; the mantissa of a float is odd or zero.
struct Dyadic {
  int64_t mantissa = 0;
  int exponent = 0;

  Dyadic() = default;
  template <class Weight>
  explicit Dyadic(Weight w) {
    if constexpr (std::is_floating_point_v<Weight>) {
      if (w == 0) return;
      int scale = 0;
      mantissa = static_cast<int64_t>(std::ldexp(std::frexp(static_cast<double>(w), &scale), 53));
      const int zeros = std::countr_zero(static_cast<uint64_t>(mantissa));
      mantissa >>= zeros;
      exponent = scale - 53 + zeros;
    } else {
      mantissa = w;
    }
  }
  // Returns one above the highest bit of the magnitude.
  int top() const {
    const auto bits = static_cast<uint64_t>(mantissa);
    return exponent + static_cast<int>(std::bit_width(mantissa < 0 ? ~bits : bits)) + 1;
  }
};

// The exact sum of numbers of one dtype, at most 2^62 of them.
template <class Weight>
class ExactSum {
  static constexpr bool kFloat = std::is_floating_point_v<Weight>;
  using Limits = std::numeric_limits<Weight>;
  static constexpr int kLow = kFloat ? Limits::min_exponent - Limits::digits : 0;
  static constexpr int kHigh = kFloat ? Limits::max_exponent : 64;

 public:
  void add(Weight w) {
    const Dyadic exact(w);
    if (exact.mantissa != 0) sum_.add(exact.mantissa, exact.exponent - kLow);
  }
  bool negative() const { return sum_.negative(); }

 private:
  Fixed<(kHigh - kLow + 64 + 63) / 64> sum_;
};

template <int kLimbs>
class ExactSum<Fixed<kLimbs>> {
 public:
  void add(const Fixed<kLimbs>& w) { sum_ = sum_ + w; }
  bool negative() const { return sum_.negative(); }

 private:
  Fixed<kLimbs> sum_;
};

}  // namespace nearfar
