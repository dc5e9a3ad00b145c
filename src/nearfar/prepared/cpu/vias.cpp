// Vertices over which ways of a pair lead that are not much longer than the shortest.
//
// Both search spaces of a pair are paths to the root, and what they have in common are separators
// between the ends: the ways over these are where alternatives are found (Abraham, Delling,
// Goldberg and Werneck 2013, on hierarchies; Bacherle, Blaesius and Zuendorf 2025, on separators).
#include <algorithm>
#include <vector>

#include "prepared/cpu/walk.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

// (vertices, lengths): common ancestors over which a way is at most `stretch` times as long as the
// shortest, the shortest first; of ways of one length one. Lengths are in units of the weights.
nb::tuple vias(const MetricView& view, int64_t source, int64_t target, double stretch) {
  std::vector<int64_t> vertices;
  std::vector<double> lengths;
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const Arcs& arcs = metric.arcs;
    const int64_t ends[2] = {source, target};
    const auto labels = labels_of(arcs, ends, 2);
    nb::gil_scoped_release release;
    int32_t v = common_ancestor(arcs, labels[0], labels[1]);
    if (v < 0) return;
    std::vector<Value> forward(at(arcs.height) + 64), backward(forward.size());
    const auto space = NEARFAR_PICK_ISA(upward_space<Value>);
    space(arcs, metric.up, labels[0], forward.data());
    space(arcs, metric.down, labels[1], backward.data());
    struct Via {
      Value length;
      int32_t label;
    };
    std::vector<Via> found;
    Value best = far<Value>();
    for (; v >= 0; v = arcs.parent[v]) {
      const Value f = forward[at(arcs.depth[v])], b = backward[at(arcs.depth[v])];
      if (is_far(f) || is_far(b) || is_far(f + b)) continue;
      found.push_back({static_cast<Value>(f + b), v});
      best = std::min(best, found.back().length);
    }
    const double most = stretch * static_cast<double>(best);
    std::erase_if(found, [&](const Via& via) { return static_cast<double>(via.length) > most; });
    std::stable_sort(found.begin(), found.end(),
                     [](const Via& a, const Via& b) { return a.length < b.length; });
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (i > 0 && found[i].length == found[i - 1].length) continue;
      vertices.push_back(arcs.vertex[found[i].label]);
      const auto length = static_cast<double>(found[i].length);
      lengths.push_back(std::is_floating_point_v<Value> ? length : length * metric.step);
    }
  });
  return nb::make_tuple(as_numpy(std::move(vertices)), as_numpy(std::move(lengths)));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_vias", &prepared::vias, arg("metric"), arg("source"), arg("target"),
        arg("stretch"));
}
}  // namespace nearfar
