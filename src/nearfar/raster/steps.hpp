// The steps of a raster: targets and costs.
//
// All sums are left to right in the distances' dtype, and a step's cost is rounded in one order:
//   mean   factor * (cost[u] + cost[v]), where factor is half the length
//   enter  factor * cost[v]
//   slope  the same as mean, times a function of (elevation[v] - elevation[u]) / length
// so every engine has the same bits. No product may be contracted with a sum into one rounding:
// CMakeLists.txt compiles this folder with -ffp-contract=off.
#pragma once

#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

enum class StepRule : int { mean = 0, enter = 1, slope = 2 };

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

template <class T, StepRule Rule>
NEARFAR_INLINE T step_cost(T from, T to, T height_from, T height_to, T factor, T inverse,
                           const SlopeTable<T>& table) {
  if constexpr (std::is_integral_v<T>) {
    return to;
  } else if constexpr (Rule == StepRule::enter) {
    return factor * to;
  } else {
    const T flat = factor * (from + to);
    if constexpr (Rule == StepRule::mean) return flat;
    return flat * table.at((height_to - height_from) * inverse);
  }
}

// A distance after one more step; never below `here` where it saturates or is not a number.
template <class T>
NEARFAR_INLINE T lesser(T distance, T cost, T here) {
  const SumOf<T> sum = candidate(distance, cost);
  return improves(sum, here) ? static_cast<T>(sum) : here;
}

}  // namespace nearfar
