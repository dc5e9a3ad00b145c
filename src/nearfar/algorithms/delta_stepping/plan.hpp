// Initial width of the buckets of a search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "algorithms/delta_stepping/delta_stepping.hpp"

namespace nearfar {

template <class C>
inline double weight_at(const C& csr, std::size_t e) {
  if constexpr (Narrow<C>)
    return static_cast<double>(csr.small[e]);
  else
    return static_cast<double>(csr.weights[e]);
}

// Chooses the first delta from a sample of the weights: mean weight / mean degree, which measured
// within a tenth of the best fixed value on grids, roads, meshes, random and Kronecker graphs. The
// mean is capped at twice the median, so that a few huge weights do not put all others into one
// bucket. Delta is capped so that a vertex has about one positive edge below it: only edges that
// stay within a bucket repeat work, and if weights span many orders of magnitude, most would.
template <class C>
inline double first_delta(const C& csr) {
  constexpr std::size_t kSample = 256;
  const auto m = static_cast<std::size_t>(csr.m);
  if (m == 0) return 1;
  double sample[kSample];
  // A search of a small graph takes no longer than a large sample would.
  const std::size_t step =
      std::max<std::size_t>(1, m / std::clamp<std::size_t>(m / 32, 32, kSample));
  std::size_t seen = 0;
  double mean = 0;
  for (std::size_t e = 0; e < m && seen < kSample; e += step)
    mean += sample[seen++] = weight_at(csr, e);
  mean /= static_cast<double>(seen);
  const auto nth = [&](std::size_t i) {
    std::nth_element(sample, sample + i, sample + seen);
    return sample[i];
  };
  if (const double median = nth(seen / 2); median > 0) mean = std::min(mean, 2 * median);
  const double degree = std::max(1.0, static_cast<double>(m) / static_cast<double>(csr.n));
  double delta = mean / degree;
  const auto zeros = std::count(sample, sample + seen, 0.0);
  const auto light = static_cast<std::size_t>(zeros + 1) +
                     static_cast<std::size_t>(static_cast<double>(seen) / degree);
  if (light < seen) delta = std::min(delta, nth(light));
  return delta > 0 ? delta : 1;
}

// `delta`: a width that stays. `start`: the first of those that adapt.
template <class C>
inline DeltaPlan plan_for(const C& csr, std::optional<double> delta,
                          std::optional<double> start = std::nullopt) {
  DeltaPlan plan{delta ? *delta : start ? *start : first_delta(csr), !delta, false};
  // Delta and its inverse must not overflow.
  plan.delta = std::clamp(plan.delta, 1e-300, 1e300);
  return plan;
}

}  // namespace nearfar
