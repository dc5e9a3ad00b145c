// The numbers stored in arcs, and the one that means "no path".
//
// Without negative weights integers are unsigned and "no path" is the greatest value of the signed
// type, as in a search: the sum of two values always fits, and one that is too large never improves
// anything, so saturation costs nothing. With negative weights integers have 64 bits, and values of
// far() / 2 or more mean "no path": sums of far() and a negative path stay far above every path.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/search/arithmetic.hpp"

namespace nearfar::prepared {

template <class Value>
constexpr Value far() {
  if constexpr (std::is_floating_point_v<Value>)
    return std::numeric_limits<Value>::infinity();
  else
    return std::numeric_limits<Value>::max() / 2;
}

template <class Value>
NEARFAR_INLINE bool is_far(Value x) {
  if constexpr (std::is_signed_v<Value> && !std::is_floating_point_v<Value>)
    return x >= far<Value>() / 2;
  else
    return x >= far<Value>();
}

// Returns a distance in the type of the graph's weights; unreached if it does not fit. Floats that
// are summed as integers are a number of steps, rounded once, since a step is a power of two.
template <class Weight, class Value>
NEARFAR_INLINE Weight distance_of(Value x, [[maybe_unused]] double step) {
  if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<Weight>(x);
  } else if constexpr (std::is_floating_point_v<Weight>) {
    // Below 2^63 the value is the same as a signed integer, which one instruction converts.
    const auto steps = static_cast<Weight>(static_cast<std::make_signed_t<Value>>(x));
    const auto value = static_cast<Weight>(static_cast<double>(steps) * step);
    return is_far(x) ? unreached<Weight>() : value;
  } else {
    if (is_far(x)) return unreached<Weight>();
    if constexpr (std::is_signed_v<Value> && sizeof(Value) > sizeof(Weight)) {
      if (x >= static_cast<Value>(unreached<Weight>())) return unreached<Weight>();
      if (x <= static_cast<Value>(std::numeric_limits<Weight>::lowest()))
        return std::numeric_limits<Weight>::lowest() + 1;
    }
    return static_cast<Weight>(x);
  }
}

}  // namespace nearfar::prepared
