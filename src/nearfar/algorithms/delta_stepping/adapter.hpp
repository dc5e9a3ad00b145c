// Watches the buckets go by and says when delta should change, and by how much.
//
// Too wide shows as vertices, or edges, that are processed again in the bucket that they were
// already in: where all hubs are in one bucket, a few vertices are most of the edges. Too narrow
// shows as buckets too short to fill the prefetch stages although nothing is repeated. Between the
// two the run time is nearly flat, so steps are factors of two and a width that proved too wide is
// not tried again.
#pragma once

#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar::delta_stepping {

constexpr uint64_t kWanted = 32;    // vertices per bucket that fill the prefetch stages
constexpr uint64_t kBuckets = 256;  // that a judgement of "too narrow" rests on

// Improvements of vertices that were in the current bucket already; and the edges of those, less
// the edges of stale entries: where an improved vertex had not been relaxed yet, its older entry is
// stale and nothing is repeated.
struct Repeated {
  uint64_t rows = 0;
  int64_t edges = 0;
  NEARFAR_INLINE void operator+=(const Repeated& more) {
    rows += more.rows;
    edges += more.edges;
  }
};

class Adapter {
 public:
  // `share`: edges that a judgement of repeated edges rests on.
  Adapter(bool on, uint64_t share) : on_(on), share_(share) {}

  // Factor for delta after a bucket in which so many vertices and edges were processed, `repeated`
  // of them again. `apiece`: as many vertices take the time that a bucket takes by itself, 0 for
  // one worker. `buckets`: that a judgement of "too narrow" rests on.
  double after_bucket(uint64_t rows, uint64_t edges, const Repeated& repeated, uint64_t apiece,
                      double delta, uint64_t buckets = kBuckets) {
    if (!on_) return 1;
    rows_ += rows;
    edges_ += edges;
    repeated_ += repeated.rows;
    again_ += repeated.edges;
    apiece_ += apiece;
    ++buckets_;
    if ((repeated_ * 4 > rows_ && rows_ > kEnough && repeated_ > apiece_) ||
        (again_ * 4 > static_cast<int64_t>(edges_) && edges_ > share_)) {
      too_wide_ = delta;
      return changed(0.5);
    }
    // Plain to see, and every bucket costs.
    const bool very_thin = 4 * rows_ < (apiece_ == 0 ? kWanted * buckets_ : apiece_);
    const uint64_t few = apiece_ == 0 ? buckets / 16 : buckets / 4;
    if (buckets_ < (very_thin ? few : buckets)) return 1;
    const bool narrow = rows_ < kWanted * buckets_ && repeated_ * 32 < rows_;
    // Half as many buckets save more time than twice as many repeats take.
    const bool thin = rows_ < apiece_ && repeated_ * 2 < apiece_;
    return changed((narrow || thin) && 2 * delta < too_wide_ ? 2 : 1);
  }

  // Whether a bucket is going so badly that it should not be finished as it is.
  bool hopeless(uint64_t rows, uint64_t edges, const Repeated& repeated) const {
    return on_ && ((repeated.rows * 2 > rows && rows > kEnough) ||
                   (repeated.edges * 2 > static_cast<int64_t>(edges) && edges > share_));
  }

 private:
  static constexpr uint64_t kEnough = 1024;  // vertices that a judgement of "too wide" rests on

  double changed(double factor) {
    rows_ = edges_ = repeated_ = apiece_ = buckets_ = 0;
    again_ = 0;
    return factor;
  }

  const bool on_;
  const uint64_t share_;
  uint64_t rows_ = 0;
  uint64_t edges_ = 0;
  uint64_t repeated_ = 0;
  int64_t again_ = 0;  // edges of repeated ones
  uint64_t apiece_ = 0;
  uint64_t buckets_ = 0;
  double too_wide_ = 1e308;
};

}  // namespace nearfar::delta_stepping
