// Crauser's policies: the distance beyond the minimum up to which vertices settle now.
//
// Out-criterion: any other path to v leaves the unsettled set by an out-edge of some u, so its
// length is at least min(distance(u) + lightest out-edge of u); v settles up to that threshold.
// In-criterion: any other path to v ends with one of v's in-edges from an unsettled vertex, so its
// length is at least the minimum distance plus v's lightest in-edge. Both are written as sums
// compared with d, not as differences: floating-point addition is monotone, so the test is exact
// for rounded distances too, while d - lightest is not.
#pragma once

#include <cstddef>

#include "cpu/graph/graph_view.hpp"

namespace nearfar {

template <class W>
struct OutCriterion {
  const W* lightest_out;  // unreached() for a vertex without out-edges
  W threshold = unreached<W>();

  void begin() { threshold = unreached<W>(); }
  void see(std::size_t v, W d) {
    if (d == unreached<W>()) return;
    const W reach = saturating_add(d, lightest_out[v]);
    if (reach < threshold) threshold = reach;
  }
  // Without a finite threshold no reached, unsettled vertex has an edge: all distances are final.
  bool exhausted() const { return threshold == unreached<W>(); }
  bool settles(std::size_t, W d) const { return d <= threshold; }
  W bound() const { return threshold; }
};

template <class W>
struct InCriterion {
  const W* lightest_in;  // unreached() for a vertex without in-edges
  W least = unreached<W>();

  void begin() { least = unreached<W>(); }
  void see(std::size_t, W d) {
    if (d < least) least = d;
  }
  bool exhausted() const { return least == unreached<W>(); }
  bool settles(std::size_t v, W d) const {
    return d != unreached<W>() && d <= saturating_add(least, lightest_in[v]);
  }
  W bound() const { return least; }
};

template <class W>
struct InOutCriterion {
  OutCriterion<W> out;
  InCriterion<W> in;

  void begin() {
    out.begin();
    in.begin();
  }
  void see(std::size_t v, W d) {
    out.see(v, d);
    in.see(v, d);
  }
  bool exhausted() const { return out.exhausted(); }
  bool settles(std::size_t v, W d) const { return out.settles(v, d) || in.settles(v, d); }
  W bound() const { return out.bound(); }
};

}  // namespace nearfar
