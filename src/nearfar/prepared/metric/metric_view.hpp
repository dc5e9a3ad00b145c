// A customized tree given by Python.
#pragma once

#include <array>
#include <stdexcept>
#include <variant>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "prepared/metric/metric.hpp"
#include "prepared/order/arcs_view.hpp"

namespace nearfar::prepared {

using AnyMetric = std::variant<Metric<uint32_t>, Metric<uint64_t>, Metric<int64_t>, Metric<float>,
                               Metric<double>>;

class MetricView {
 public:
  MetricView(const ArcsView& arcs, ConstArray weights, int sides, bool prunes, Longs up_first,
             Ints up_depth, ConstArray up_weight, Longs down_first, Ints down_depth,
             ConstArray down_weight, double step);

  const ArcsView& arcs() const { return arcs_; }
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), metric_);
  }

 private:
  const ArcsView& arcs_;  // Python keeps it alive
  std::vector<ConstArray> arrays_;
  std::vector<Longs> longs_;
  std::vector<Ints> ints_;
  AnyMetric metric_;
};

// Returns the label of each given vertex, after a bounds check.
inline std::vector<int32_t> labels_of(const Arcs& arcs, const int64_t* vertices,
                                      std::size_t count) {
  std::vector<int32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (vertices[i] < 0 || vertices[i] >= arcs.n) throw nb::index_error("not a vertex");
    out[i] = arcs.label[vertices[i]];
  }
  return out;
}

// The labels of the sources and of the targets of pairs.
inline std::array<std::vector<int32_t>, 2> labels_of_pairs(const Arcs& arcs, const Ids& sources,
                                                           const Ids& targets) {
  if (targets.size() != sources.size()) throw nb::type_error("targets: wrong size");
  return {labels_of(arcs, sources.data(), sources.size()),
          labels_of(arcs, targets.data(), targets.size())};
}

// Calls f(Weight{}) with the type of edge weights that belongs to an array's dtype, if arc values
// of this type are made from them.
template <class Value, class F>
void with_edge_weights(const nb::dlpack::dtype& type, F&& f) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (type == nb::dtype<Value>()) return f(Value{});
  } else if constexpr (std::is_unsigned_v<Value>) {
    using Out = std::make_signed_t<Value>;
    if (type == nb::dtype<Out>()) return f(Out{});
  } else {
    if (type == nb::dtype<int32_t>()) return f(int32_t{});
    if (type == nb::dtype<int64_t>()) return f(int64_t{});
  }
  throw nb::type_error("edge weights: wrong dtype");
}

// Calls f(Out{}) with the type of distances that belongs to an output array's dtype, if the
// metric's values can be converted to it: integers also to floats, as steps of their grid.
template <class Value, class F>
void with_distances(const nb::dlpack::dtype& type, F&& f) {
  if constexpr (!std::is_floating_point_v<Value>) {
    if (type == nb::dtype<float>()) return f(float{});
    if (type == nb::dtype<double>()) return f(double{});
  }
  with_edge_weights<Value>(type, f);
}

}  // namespace nearfar::prepared
