// Watches the buckets go by and says when delta should change, and by how much.
//
// Too wide shows as vertices that are processed again in the bucket that they were already in; too
// narrow as buckets too short to fill the prefetch stages although nothing is repeated. Between the
// two the run time is nearly flat, so steps are factors of two and a width that proved too wide is
// not tried again.
#pragma once

#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar::delta_stepping {

constexpr uint64_t kWanted = 32;    // vertices per bucket that fill the prefetch stages
constexpr uint64_t kBuckets = 256;  // that a judgement of "too narrow" rests on

class Adapter {
 public:
  explicit Adapter(bool on) : on_(on) {}

  // Factor for delta after a bucket in which `rows` vertices were processed, `repeated` of them
  // again. `apiece`: as many take the time that a bucket takes by itself. `buckets`: that a
  // judgement of "too narrow" rests on.
  double after_bucket(uint64_t rows, uint64_t repeated, uint64_t apiece, double delta,
                      uint64_t buckets = kBuckets) {
    if (!on_) return 1;
    rows_ += rows;
    repeated_ += repeated;
    apiece_ += apiece;
    ++buckets_;
    if (repeated_ * 4 > rows_ && rows_ > kEnough && repeated_ > apiece_) {
      too_wide_ = delta;
      return changed(0.5);
    }
    const bool very_thin = 4 * rows_ < apiece_;  // plain to see, and every bucket costs
    if (buckets_ < (very_thin ? buckets / 4 : buckets)) return 1;
    const bool narrow = rows_ < kWanted * buckets_ && repeated_ * 32 < rows_;
    // Half as many buckets save more time than twice as many repeats take.
    const bool thin = rows_ < apiece_ && repeated_ * 2 < apiece_;
    return changed((narrow || thin) && 2 * delta < too_wide_ ? 2 : 1);
  }

  // Whether a bucket is going so badly that it should not be finished as it is.
  bool hopeless(uint64_t rows, uint64_t repeated) const {
    return on_ && rows > kEnough && repeated * 2 > rows;
  }

 private:
  static constexpr uint64_t kEnough = 1024;  // vertices that a judgement of "too wide" rests on

  double changed(double factor) {
    rows_ = repeated_ = apiece_ = buckets_ = 0;
    return factor;
  }

  const bool on_;
  uint64_t rows_ = 0;
  uint64_t repeated_ = 0;
  uint64_t apiece_ = 0;
  uint64_t buckets_ = 0;
  double too_wide_ = 1e308;
};

}  // namespace nearfar::delta_stepping
