// Paths: the walk once more with what led where, and every shortcut replaced by its two sides until
// only edges are left.
//
// An arc weighs as much as its lightest edge, or as the two sides of a lower triangle. Which, is
// looked up in `origin`: one number per arc and direction, found for all arcs the first time that a
// path is asked for, by going through the triangles as customization does and comparing. The
// numbers are compared for equality: an arc's weight was computed as the very sum that it is
// compared with, floats included.
#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/dtypes.hpp"
#include "cpu/spread.hpp"
#include "prepared/metric_view.hpp"
#include "prepared/structure.hpp"
#include "prepared/value.hpp"
#include "prepared/walk.hpp"

namespace nearfar::prepared {
namespace {

// Where an arc has its weight from: {~edge, -1}, or the two arcs that replace it, the first of them
// followed down and the second up. Of several edges the first, of triangles the lowest.
struct Origin {
  int32_t down, up;
};
constexpr int32_t kNowhere = std::numeric_limits<int32_t>::min();

template <class Value, class Weight>
void find_origins(const Metric<Value>& metric, const Weight* edge_weights, Origin* origin,
                  int threads) {
  const Arcs& arcs = metric.arcs;
  const int sides = metric.sides;
  constexpr int32_t block = 256;
  spread((arcs.n + block - 1) / block, threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    std::vector<Origin> found(at(2 * arcs.height));
    std::vector<Value> wanted(at(2 * arcs.height));
    for (int64_t b; (b = counter.take()) >= 0;)
      for (auto x = static_cast<int32_t>(b * block); x < std::min<int64_t>(arcs.n, (b + 1) * block);
           ++x) {
        const int64_t begin = arcs.first[x], end = arcs.first[x + 1];
        for (int64_t j = begin; j < end; ++j)
          for (int down = 0; down < 2; ++down) {
            const std::size_t slot = at(2 * arcs.head_depth[j] + down);
            wanted[slot] = metric.weights[sides * j + (down & (sides - 1))];
            found[slot] = {kNowhere, -1};
          }
        for (int64_t i = arcs.edge_first[x]; i < arcs.edge_first[x + 1]; ++i) {
          const int32_t e = arcs.edge[i];
          Origin& slot = found[at(arcs.edge_place[i])];
          if (static_cast<Value>(edge_weights[e]) == wanted[at(arcs.edge_place[i])] &&
              (slot.down == kNowhere || e < ~slot.down))
            slot.down = ~e;
        }
        for (int64_t q = arcs.lower_first[x]; q < arcs.lower_first[x + 1]; ++q) {
          const int32_t k = arcs.lower_arc[q];
          const int64_t from = arcs.first[arcs.lower_tail[q]];
          const Value here_up = metric.weights[int64_t{sides} * k];
          const Value here_down = metric.weights[int64_t{sides} * k + sides - 1];
          interrupt.poll(at(k - from) + 1);
          for (int64_t j = from; j < k; ++j) {
            // Up: x - z - y, so down to z and up from it. Down: y - z - x.
            const std::size_t slot = at(2 * arcs.head_depth[j]);
            const Value over_up = here_down + metric.weights[sides * j];
            const Value over_down = metric.weights[sides * j + sides - 1] + here_up;
            if (over_up == wanted[slot] && found[slot].down == kNowhere)
              found[slot] = {k, static_cast<int32_t>(j)};
            if (over_down == wanted[slot + 1] && found[slot + 1].down == kNowhere)
              found[slot + 1] = {static_cast<int32_t>(j), k};
          }
        }
        for (int64_t j = begin; j < end; ++j)
          for (int down = 0; down < 2; ++down)
            origin[2 * j + down] = found[at(2 * arcs.head_depth[j] + down)];
      }
  });
}

struct Step {
  int64_t arc;
  bool down;  // from its upper to its lower end
};

template <class Value>
class Unpacker {
 public:
  Unpacker(const Metric<Value>& metric, const Origin* origin)
      : metric_(metric),
        arcs_(metric.arcs),
        origin_(origin),
        forward_(at(arcs_.height)),
        backward_(at(arcs_.height)) {}

  // The edges of a shortest path between two labels, in order; false if there is none.
  bool find(int32_t source, int32_t target, std::vector<int32_t>& edges) {
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
    for (int32_t a = v; arcs_.depth[a] > meeting_; a = arcs_.parent[a]) path_.push_back(a);
    const int32_t depth = arcs_.depth[v];
    for (int32_t d = meeting_; space[at(d)].before >= 0; d = space[at(d)].before) {
      const int32_t x = path_[at(depth - space[at(d)].before)];
      stack_.push_back({arc(arcs_.first[x], arcs_.first[x + 1], d), down});
    }
  }

  // Position of the arc to the ancestor at `depth` among arcs [from, to).
  int64_t arc(int64_t from, int64_t to, int32_t depth) const {
    return std::lower_bound(arcs_.head_depth + from, arcs_.head_depth + to, depth) -
           arcs_.head_depth;
  }

  // An edge ends the unpacking; else the sides of the triangle take the arc's place.
  void open(const Step& step, std::vector<int32_t>& edges) {
    const Origin from = origin_[2 * step.arc + step.down];
    if (from.down < 0) {
      edges.push_back(~from.down);
      return;
    }
    stack_.push_back({from.up, false});
    stack_.push_back({from.down, true});
  }

  const Metric<Value>& metric_;
  const Arcs& arcs_;
  const Origin* origin_;
  std::vector<Slot> forward_, backward_;
  std::vector<int32_t> path_;
  std::vector<Step> stack_;
  int32_t meeting_ = -1;
};

void origins(const MetricView& view, const ConstArray& edge_weights, const Array& out,
             int threads) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    auto* origin =
        reinterpret_cast<Origin*>(checked<int32_t>(out, at(4 * metric.arcs.n_arcs), "origins"));
    with_distances<Value>(edge_weights.dtype(), [&](auto tag) {
      using Weight = decltype(tag);
      const auto* weights = static_cast<const Weight*>(edge_weights.data());
      nb::gil_scoped_release release;
      find_origins(metric, weights, origin, threads);
    });
  });
}

// The edges of a shortest path, or None.
nb::object path(const MetricView& view, const ArcsView::Ints& origin, int64_t source,
                int64_t target) {
  std::vector<int32_t> edges;
  bool found = false;
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    if (origin.size() != at(4 * metric.arcs.n_arcs)) throw nb::type_error("origins: wrong size");
    const int64_t ends[2] = {source, target};
    const auto labels = labels_of(metric.arcs, ends, 2);
    nb::gil_scoped_release release;
    found = Unpacker<Value>(metric, reinterpret_cast<const Origin*>(origin.data()))
                .find(labels[0], labels[1], edges);
  });
  if (!found) return nb::none();
  return nb::cast(as_numpy(std::move(edges)));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_origins", &prepared::origins, arg("metric"), arg("edge_weights"), arg("out"),
        arg("threads"));
  m.def("prepared_path", &prepared::path, arg("metric"), arg("origins"), arg("source"),
        arg("target"));
}
}  // namespace nearfar
