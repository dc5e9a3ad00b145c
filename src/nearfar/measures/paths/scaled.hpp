// A positive number of any size: mantissa * 2^exponent.
//
// The number of shortest paths doubles with every diamond of a ladder, so a thousand diamonds
// overflow a double. Path counts are doubles while they fit; a source whose counts overflow is
// processed again with this type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nearfar::measures {

// Largest count kept in a double: its inverse is still a normal number.
constexpr double kMostPaths = 0x1p960;

class Scaled {
 public:
  Scaled() = default;
  explicit Scaled(double value) { set(value, 0); }

  Scaled& operator+=(const Scaled& other) {
    if (other.mantissa_ == 0) return *this;
    if (mantissa_ == 0) return *this = other;
    const int64_t top = std::max(exponent_, other.exponent_);
    set(shifted(*this, top) + shifted(other, top), top);
    return *this;
  }
  friend Scaled operator*(const Scaled& a, const Scaled& b) {
    Scaled product;
    product.set(a.mantissa_ * b.mantissa_, a.exponent_ + b.exponent_);
    return product;
  }
  friend Scaled operator/(const Scaled& a, const Scaled& b) {
    Scaled quotient;
    quotient.set(a.mantissa_ / b.mantissa_, a.exponent_ - b.exponent_);
    return quotient;
  }
  explicit operator double() const { return shifted(*this, 0); }

  double mantissa() const { return mantissa_; }  // 0, or in [0.5, 1)
  int64_t exponent() const { return exponent_; }

 private:
  // mantissa * 2^(exponent - to)
  static double shifted(const Scaled& x, int64_t to) {
    const int64_t by = std::clamp<int64_t>(x.exponent_ - to, -4000, 4000);
    return std::ldexp(x.mantissa_, static_cast<int>(by));
  }
  void set(double value, int64_t exponent) {
    int more = 0;
    mantissa_ = std::frexp(value, &more);
    exponent_ = mantissa_ == 0 ? 0 : exponent + more;
  }

  double mantissa_ = 0;
  int64_t exponent_ = 0;
};

}  // namespace nearfar::measures
