// Decides from the processed buckets when to change delta, and by how much.
//
// Delta is too wide if vertices or edges are processed again within their bucket: if all hubs are
// in one bucket, a few vertices have most of the edges. It is too narrow if buckets are too short
// to fill the prefetch stages although nothing is repeated. In between, the run time is nearly
// flat, so steps are factors of two and a width that proved too wide is not tried again.
#pragma once

#include <cmath>
#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar::delta_stepping {

constexpr uint64_t kWanted = 32;    // vertices per bucket that fill the prefetch stages
constexpr uint64_t kBuckets = 256;  // buckets needed to judge "too narrow"

// Improvements of vertices already in the current bucket, and the edges of those less the edges of
// stale entries: if an improved vertex was not relaxed yet, its older entry is stale and nothing is
// repeated.
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
  // `share`: edges needed to judge repeated edges.
  Adapter(bool on, uint64_t share) : on_(on), share_(share) {}

  // Returns the factor for delta after a bucket of `rows` vertices and `edges` edges, `repeated` of
  // them again. `apiece`: vertices that take as long as the fixed cost of a bucket, 0 for one
  // worker. `buckets`: number needed to judge "too narrow".
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
    // The decision is clear, and every further bucket costs time.
    const bool very_thin = 4 * rows_ < (apiece_ == 0 ? kWanted * buckets_ : apiece_);
    const uint64_t few = apiece_ == 0 ? buckets / 16 : buckets / 4;
    if (buckets_ < (very_thin ? few : buckets)) return 1;
    const bool narrow = rows_ < kWanted * buckets_ && repeated_ * 32 < rows_;
    // Halving the number of buckets saves more time than doubling the repeats costs.
    const bool thin = rows_ < apiece_ && repeated_ * 2 < apiece_;
    return changed((narrow || thin) && 2 * delta < too_wide_ ? 2 : 1);
  }

  // Whether a bucket repeats so much work that it should be abandoned for a narrower one.
  bool hopeless(uint64_t rows, uint64_t edges, const Repeated& repeated) const {
    return on_ && ((repeated.rows * 2 > rows && rows > kEnough) ||
                   (repeated.edges * 2 > static_cast<int64_t>(edges) && edges > share_));
  }

 private:
  static constexpr uint64_t kEnough = 1024;  // vertices needed to judge "too wide"

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
  int64_t again_ = 0;  // edges of repeated vertices
  uint64_t apiece_ = 0;
  uint64_t buckets_ = 0;
  double too_wide_ = 1e308;
};

// Geometric mean of the widths with which rows were relaxed.
struct MeanWidth {
  void note(uint64_t rows, double delta) {
    if (delta != noted) [[unlikely]] {
      noted = delta;
      log = std::log2(delta);
    }
    sum += static_cast<double>(rows) * log;
    count += static_cast<double>(rows);
  }
  void operator+=(const MeanWidth& more) {
    sum += more.sum;
    count += more.count;
  }
  // The mean, or `last` before any row.
  double mean(double last) const { return count > 0 ? std::exp2(sum / count) : last; }

  double sum = 0, count = 0;
  double noted = 1, log = 0;
};

}  // namespace nearfar::delta_stepping
