// The compound frontier's policy: settle every vertex whose distance equals the minimum.
#pragma once

#include <cstddef>

#include "cpu/graph/graph_view.hpp"

namespace nearfar {

template <class W>
struct EqualMinimum {
  W least = unreached<W>();

  void begin() { least = unreached<W>(); }
  void see(std::size_t, W d) {
    if (d < least) least = d;
  }
  bool exhausted() const { return least == unreached<W>(); }
  bool settles(std::size_t, W d) const { return d == least; }
  W bound() const { return least; }
};

}  // namespace nearfar
