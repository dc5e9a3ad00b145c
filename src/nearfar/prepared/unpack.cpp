// Paths: the walk once more with what led where, and every shortcut replaced by its two sides until
// only edges are left.
//
// An arc weighs as much as its lightest edge, or as the two sides of a lower triangle: the arcs into
// its lower end are looked through for one whose tail also has an arc to the upper end. Nothing is
// stored for that, and it works on any metric. The numbers are compared for equality: an arc's
// weight was computed as the very sum that it is compared with, floats included.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cpu/dtypes.hpp"
#include "cpu/interrupt.hpp"
#include "prepared/metric_view.hpp"
#include "prepared/structure.hpp"
#include "prepared/value.hpp"
#include "prepared/walk.hpp"

namespace nearfar::prepared {
namespace {

struct Step {
  int32_t low, high;
  bool down;  // from high to low
};

template <class Value, class Weight>
class Unpacker {
 public:
  Unpacker(const Metric<Value>& metric, const Weight* edge_weights)
      : metric_(metric),
        arcs_(metric.arcs),
        edge_weights_(edge_weights),
        forward_(at(arcs_.height)),
        backward_(at(arcs_.height)) {}

  // The edges of a shortest path between two labels, in order; false if there is none.
  bool find(int32_t source, int32_t target, std::vector<int32_t>& edges, Interrupt& interrupt) {
    edges.clear();
    if (source == target) return true;
    if (!walk(source, target)) return false;
    // What the stack gives first is pushed last: the way up from the source.
    stack_.clear();
    trace(target, backward_, true);
    std::reverse(stack_.begin(), stack_.end());
    trace(source, forward_, false);
    while (!stack_.empty()) {
      const Step step = stack_.back();
      stack_.pop_back();
      interrupt.poll(64);
      open(step, edges);
    }
    return true;
  }

 private:
  struct Slot {
    Value distance;
    int32_t before;  // depth of the label that led here
  };

  void climb(const Upward<Value>& up, int32_t v, std::vector<Slot>& space) {
    for (int32_t d = 0; d < arcs_.depth[v]; ++d) space[at(d)] = {far<Value>(), -1};
    space[at(arcs_.depth[v])] = {0, -1};
    for (int32_t depth = arcs_.depth[v]; v >= 0; v = arcs_.parent[v], --depth) {
      const Value d = space[at(depth)].distance;
      if (is_far(d)) continue;
      for (int64_t j = up.first[v]; j < up.first[v + 1]; ++j) {
        Slot& slot = space[at(up.head_depth[j])];
        const Value sum = d + up.weight[j];
        if (sum < slot.distance) slot = {sum, depth};
      }
    }
  }

  bool walk(int32_t source, int32_t target) {
    const int32_t common = common_ancestor(arcs_, source, target);
    if (common < 0) return false;
    climb(metric_.up, source, forward_);
    climb(metric_.down, target, backward_);
    Value best = far<Value>();
    meeting_ = -1;
    for (int32_t d = arcs_.depth[common]; d >= 0; --d) {
      const Value f = forward_[at(d)].distance, b = backward_[at(d)].distance;
      if (is_far(f) || is_far(b) || !(f + b < best)) continue;
      best = f + b;
      meeting_ = d;
    }
    return meeting_ >= 0;
  }

  // The arcs from the meeting label down to `v`, pushed in this order.
  void trace(int32_t v, const std::vector<Slot>& space, bool down) {
    path_.clear();  // labels by falling depth
    for (int32_t a = v; a >= 0; a = arcs_.parent[a]) path_.push_back(a);
    auto label = [&](int32_t depth) { return path_[path_.size() - 1 - at(depth)]; };
    for (int32_t d = meeting_; space[at(d)].before >= 0; d = space[at(d)].before)
      stack_.push_back({label(space[at(d)].before), label(d), down});
  }

  // Position of the arc from `low` to the ancestor at `depth` among arcs [from, to), or -1.
  int64_t arc(int64_t from, int64_t to, int32_t depth) const {
    const auto* begin = arcs_.head_depth + from;
    const auto* end = arcs_.head_depth + to;
    const auto* place = std::lower_bound(begin, end, depth);
    return place != end && *place == depth ? from + (place - begin) : -1;
  }

  Value weight(int64_t j, bool down) const {
    return metric_.weights[metric_.sides * j + (down ? metric_.sides - 1 : 0)];
  }

  // An edge of the arc's weight ends the unpacking; else its two sides take its place.
  void open(const Step& step, std::vector<int32_t>& edges) {
    const auto [x, y, down] = step;
    const int32_t depth = arcs_.depth[y];
    const int64_t j = arc(arcs_.first[x], arcs_.first[x + 1], depth);
    if (j < 0) throw std::logic_error("a path leads over an arc that is not there");
    const Value wanted = weight(j, down);
    const int32_t place = 2 * depth + (down ? 1 : 0);
    int32_t best = -1;
    for (int64_t i = arcs_.edge_first[x]; i < arcs_.edge_first[x + 1]; ++i)
      if (arcs_.edge_place[i] == place &&
          static_cast<Value>(edge_weights_[arcs_.edge[i]]) == wanted &&
          (best < 0 || arcs_.edge[i] < best))
        best = arcs_.edge[i];
    if (best >= 0) {
      edges.push_back(best);
      return;
    }
    for (int64_t q = arcs_.lower_first[x]; q < arcs_.lower_first[x + 1]; ++q) {
      const int32_t z = arcs_.lower_tail[q];
      const int64_t to_x = arcs_.lower_arc[q];
      const int64_t to_y = arc(arcs_.first[z], to_x, depth);
      if (to_y < 0) continue;
      // Up: x - z - y, so down to z and up from it. Down: y - z - x.
      const Value first = weight(down ? to_y : to_x, true);
      const Value second = weight(down ? to_x : to_y, false);
      if (is_far(first) || is_far(second) || first + second != wanted) continue;
      stack_.push_back({z, down ? x : y, false});
      stack_.push_back({z, down ? y : x, true});
      return;
    }
    throw std::logic_error("an arc has neither an edge nor a triangle of its weight");
  }

  const Metric<Value>& metric_;
  const Arcs& arcs_;
  const Weight* edge_weights_;
  std::vector<Slot> forward_, backward_;
  std::vector<int32_t> path_;
  std::vector<Step> stack_;
  int32_t meeting_ = -1;
};

// The edges of a shortest path, or None.
nb::object path(const MetricView& view, const ConstArray& edge_weights, int64_t source,
                int64_t target) {
  std::vector<int32_t> edges;
  bool found = false;
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const int64_t ends[2] = {source, target};
    const auto labels = labels_of(metric.arcs, ends, 2);
    with_distances<Value>(edge_weights.dtype(), [&](auto tag) {
      using Weight = decltype(tag);
      const auto* weights = static_cast<const Weight*>(edge_weights.data());
      nb::gil_scoped_release release;
      Interrupt interrupt;
      Unpacker<Value, Weight> unpacker(metric, weights);
      found = unpacker.find(labels[0], labels[1], edges, interrupt);
    });
  });
  if (!found) return nb::none();
  return nb::cast(as_numpy(std::move(edges)));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_path", &prepared::path, arg("metric"), arg("edge_weights"), arg("source"),
        arg("target"));
}
}  // namespace nearfar
