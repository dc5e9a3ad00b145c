// Crauser's policies on the device, the same as those of policy.hpp (which has the proof).
// A null array means that the criterion does not use it.
//
// requires: cuda/primitives/distance.cuh
#pragma once

struct OutCriterion {
  static constexpr int kValues = 1;
  const weight_t* lightest_out;

  __device__ void see(long long v, weight_t d, weight_t* least) const {
    if (d == unreached()) return;
    const weight_t reach = add_saturating(d, lightest_out[v]);
    least[0] = reach < least[0] ? reach : least[0];
  }
  __device__ bool settles(long long, weight_t d, weight_t threshold, weight_t) const {
    return d <= threshold;
  }
};

struct InCriterion {
  static constexpr int kValues = 1;
  const weight_t* lightest_in;

  __device__ void see(long long, weight_t d, weight_t* least) const {
    least[0] = d < least[0] ? d : least[0];
  }
  __device__ bool settles(long long v, weight_t d, weight_t least, weight_t) const {
    return d != unreached() && d <= add_saturating(least, lightest_in[v]);
  }
};

// Values: the out-criterion's threshold, then the minimum.
struct InOutCriterion {
  static constexpr int kValues = 2;
  OutCriterion out;
  InCriterion in;

  __device__ void see(long long v, weight_t d, weight_t* least) const {
    out.see(v, d, least);
    in.see(v, d, least + 1);
  }
  __device__ bool settles(long long v, weight_t d, weight_t threshold, weight_t least) const {
    return out.settles(v, d, threshold, threshold) || in.settles(v, d, least, least);
  }
};
