// The compound frontier's policy on the device: the minimum of the unsettled distances, and the
// vertices that equal it. Martin et al. (2009), Fig. 4.
//
// requires: cuda/primitives/types.cuh
#pragma once

struct EqualMinimum {
  static constexpr int kValues = 1;

  __device__ void see(long long, weight_t d, weight_t* least) const {
    least[0] = d < least[0] ? d : least[0];
  }
  __device__ bool settles(long long, weight_t d, weight_t least, weight_t) const {
    return d == least;
  }
};
