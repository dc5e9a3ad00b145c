// The steps of a raster: targets and costs.
//
// All sums are left to right in the distances' dtype, and a step's cost is rounded in one order:
//   mean   factor * (cost[u] + cost[v]), where factor is half the length
//   enter  factor * cost[v]
//   slope  the same as mean, times a function of (elevation[v] - elevation[u]) / length
//   corner the same as mean, but NaN, which improves nothing, if one of the two cells beside a
//          diagonal step is a barrier
// so every engine has the same bits. No product may be contracted with a sum into one rounding:
// CMakeLists.txt compiles this folder with -ffp-contract=off.
#pragma once

#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

enum class StepRule : int { mean = 0, enter = 1, slope = 2, corner = 3 };

constexpr int kMostSteps = 26;

// A function of the slope: linear between equally spaced slopes, constant beyond them.
template <class T>
struct SlopeTable {
  const T* values = nullptr;  // one more than intervals + 1, the last one twice
  T low = 0;                  // the first slope
  T scale = 0;                // intervals per unit of slope
  T last = 0;                 // number of intervals

  NEARFAR_INLINE T at(T slope) const {
    T place = (slope - low) * scale;
    place = place > 0 ? place : T{0};
    place = place < last ? place : last;
    const int32_t i = static_cast<int32_t>(place);
    const T part = place - static_cast<T>(i);
    const T difference = values[i + 1] - values[i];
    return values[i] + part * difference;
  }
};

// `more`: with slopes the elevation of each end, with corners the costs of the two cells beside.
template <class T, StepRule Rule>
NEARFAR_INLINE T step_cost(T from, T to, T more_from, T more_to, T factor, T inverse,
                           const SlopeTable<T>& table) {
  if constexpr (std::is_integral_v<T>) {
    return to;
  } else if constexpr (Rule == StepRule::enter) {
    return factor * to;
  } else {
    const T flat = factor * (from + to);
    if constexpr (Rule == StepRule::mean) return flat;
    if constexpr (Rule == StepRule::corner) return flat + T{0} * (more_from + more_to);
    return flat * table.at((more_to - more_from) * inverse);
  }
}

// A distance after one more step; never below `here` where it saturates or is not a number.
template <class T>
NEARFAR_INLINE T lesser(T distance, T cost, T here) {
  const SumOf<T> sum = candidate(distance, cost);
  return improves(sum, here) ? static_cast<T>(sum) : here;
}

}  // namespace nearfar
