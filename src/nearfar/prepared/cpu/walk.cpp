// A customized tree's binding, and distances of pairs by walking on several workers.
#include "cpu/threads/spread.hpp"
#include "prepared/cpu/walks.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/metric/with_value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {

MetricView::MetricView(const ArcsView& arcs, ConstArray weights, int sides, bool prunes,
                       Longs up_first, Ints up_depth, ConstArray up_weight, Longs down_first,
                       Ints down_depth, ConstArray down_weight, double step)
    : arcs_(arcs),
      arrays_{weights, up_weight, down_weight},
      longs_{up_first, down_first},
      ints_{up_depth, down_depth} {
  const Arcs& a = arcs.arcs();
  if ((sides != 1 && sides != 2) || weights.size() != at(sides * a.n_arcs))
    throw nb::type_error("weights: wrong size");
  for (int i = 0; i < 2; ++i) {
    const auto& first = longs_[at(i)];
    if (first.size() != at(a.n) + 1 || at(first.data()[a.n]) != ints_[at(i)].size() ||
        arrays_[at(i + 1)].size() != ints_[at(i)].size() ||
        arrays_[at(i + 1)].dtype() != weights.dtype())
      throw nb::type_error("arcs of queries: wrong size or dtype");
  }
  with_value(weights.dtype(), [&](auto value) {
    using Value = decltype(value);
    auto pointer = [](const ConstArray& array) { return static_cast<const Value*>(array.data()); };
    metric_ = Metric<Value>{a,
                            {up_first.data(), up_depth.data(), pointer(up_weight)},
                            {down_first.data(), down_depth.data(), pointer(down_weight)},
                            pointer(weights),
                            sides,
                            prunes,
                            step};
  });
}

namespace {

void distances_of_pairs(const Walks& walks, const Ids& sources, const Ids& targets,
                        const Array& out, int threads) {
  walks.visit([&](const auto& metric, const auto& rows) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const std::size_t count = sources.size();
    const auto labels = labels_of_pairs(metric.arcs, sources, targets);
    with_distances<Value>(out.dtype(), [&](auto result) {
      using Out = decltype(result);
      Out* found = checked<Out>(out, count, "out");
      nb::gil_scoped_release release;
      spread_blocks(static_cast<int64_t>(count), 64, threads,
                    [&](const auto& each_block, Interrupt& interrupt) {
                      WalkSpace<Value> space(metric.arcs.height);
                      const auto walk = NEARFAR_PICK_ISA(distance<Value>);
                      each_block([&](int64_t first, int64_t last) {
                        for (std::size_t i = at(first); i < at(last); ++i) {
                          interrupt.poll(at(metric.arcs.height) * 8);
                          int32_t meeting;
                          found[i] =
                              distance_of<Out>(walk(metric, rows, labels[0][i], labels[1][i],
                                                    space.forward(), space.backward(), meeting),
                                               metric.step);
                        }
                      });
                    });
    });
  });
}

// Returns the distance of one pair as a Python number, or None if the graph's dtype has no such
// value.
nb::object distance_of_pair(const Walks& walks, int64_t source, int64_t target,
                            const nb::dlpack::dtype& type) {
  nb::object number = nb::none();
  walks.visit([&](const auto& metric, const auto& rows) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    for (const int64_t v : {source, target})
      if (v < 0 || v >= metric.arcs.n) throw nb::index_error("not a vertex");
    with_distances<Value>(type, [&](auto result) {
      using Out = decltype(result);
      Out found;
      {
        nb::gil_scoped_release release;
        WalkSpace<Value> space(metric.arcs.height);
        const int32_t* label = metric.arcs.label;
        int32_t meeting;
        const auto walk = NEARFAR_PICK_ISA(distance<Value>);
        found = distance_of<Out>(walk(metric, rows, label[source], label[target], space.forward(),
                                      space.backward(), meeting),
                                 metric.step);
      }
      if (found != unreached<Out>() && found != -unreached<Out>()) number = nb::cast(found);
    });
  });
  return number;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  using prepared::ArcsView;
  using prepared::MetricView;
  using prepared::Walks;
  nb::class_<MetricView>(m, "PreparedMetric")
      .def(nb::init<const ArcsView&, ConstArray, int, bool, Longs, Ints, ConstArray, Longs, Ints,
                    ConstArray, double>(),
           nb::keep_alive<1, 2>(), arg("arcs"), arg("weights"), arg("sides"), arg("prunes"),
           arg("up_first"), arg("up_depth"), arg("up_weight"), arg("down_first"), arg("down_depth"),
           arg("down_weight"), arg("step"));
  nb::class_<Walks>(m, "PreparedWalks")
      .def(nb::init<const MetricView&>(), nb::keep_alive<1, 2>(), arg("metric"));
  m.def(
      "prepared_distance",
      [](const Walks& walks, int64_t source, int64_t target, const ConstArray& like) {
        return prepared::distance_of_pair(walks, source, target, like.dtype());
      },
      arg("walks"), arg("source"), arg("target"), arg("like"));
  m.def("prepared_pairs", &prepared::distances_of_pairs, arg("walks"), arg("sources"),
        arg("targets"), arg("out"), arg("threads"));
}
}  // namespace nearfar
