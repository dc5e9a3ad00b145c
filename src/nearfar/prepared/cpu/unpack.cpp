// Paths: the walk once more with what led where, and every shortcut replaced by its two sides until
// only edges are left.
//
// An arc weighs as much as its lightest edge, or as the two sides of a lower triangle. Which, is
// looked up in `origin`: found for all arcs the first time that a path is asked for, by going
// through the triangles as customization does and comparing. The numbers are compared for
// equality: an arc's weight was computed as the very sum that it is compared with, floats included.
//
// Shortcuts are opened in the order in which they turn up, not from the first to the last of the
// path: what one leads to is then fetched while others are opened, and an origin is a visit to
// memory. A list keeps the edges in the order of the path.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"
#include "prepared/cpu/walk.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

// Where an arc has its weight from: the two arcs that replace it, the first of them followed down
// and the second up, or edges. With two values per arc there is one for each direction, edges being
// {~edge, -1}. With one, both directions have theirs from the same place: a way down takes the arcs
// in exchanged roles, and edges are {~edge up, ~edge down}. Of several edges the first counts, of
// triangles the lowest.
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
        for (int64_t j = begin; j < end; ++j) {
          const Origin* of = found.data() + 2 * arcs.head_depth[j];
          if (sides == 1) {
            origin[j] = of[0].down < 0 ? Origin{of[0].down, of[1].down} : of[0];
          } else {
            origin[2 * j] = of[0];
            origin[2 * j + 1] = of[1];
          }
        }
      }
  });
}

struct Step {
  int64_t arc;
  bool down;          // from its upper to its lower end
  int32_t place = 0;  // on the path
};

template <class Value>
class Unpacker {
 public:
  Unpacker(const Metric<Value>& metric, const Origin* origin)
      : metric_(metric), arcs_(metric.arcs), origin_(origin) {}

  // The edges of a shortest path between two labels, in order; false if there is none.
  bool find(int32_t source, int32_t target, std::vector<int32_t>& edges) {
    edges.clear();
    if (source == target) return true;
    std::vector<Value> forward(at(arcs_.height) + 64), backward(forward.size());
    int32_t meeting;
    NEARFAR_PICK_ISA(distance<Value>)
    (metric_, source, target, forward.data(), backward.data(), meeting);
    if (meeting < 0) return false;
    trace(metric_.up, source, forward.data(), meeting, false);
    std::reverse(steps_.begin(), steps_.end());
    trace(metric_.down, target, backward.data(), meeting, true);
    open(edges);
    return true;
  }

 private:
  // The arcs from the meeting label down to `v`, in this order. What led where, the walk did not
  // write down: nearly none of it is on the path. An arc that can have led to a label explains its
  // distance to the last bit.
  void trace(const Upward<Value>& up, int32_t v, const Value* space, int32_t meeting, bool down) {
    path_.clear();  // labels by falling depth
    for (int32_t a = v; arcs_.depth[a] > meeting; a = arcs_.parent[a]) path_.push_back(a);
    int32_t to = meeting;
    for (std::size_t i = path_.size(); i-- > 0;) {
      const int32_t x = path_[i], depth = meeting + static_cast<int32_t>(path_.size() - i);
      if (is_far(space[depth]) || (metric_.prunes && space[depth] > space[to])) continue;
      const int64_t j = arc(up.head_depth, up.first[x], up.first[x + 1], to);
      if (j < 0 || space[depth] + up.weight[j] != space[to]) continue;
      steps_.push_back({arc(arcs_.head_depth, arcs_.first[x], arcs_.first[x + 1], to), down});
      to = depth;
    }
  }

  // Which of the arcs [from, end) leads to `depth`; -1 if none does.
  static int64_t arc(const int32_t* depths, int64_t from, int64_t end, int32_t depth) {
    int64_t length = end - from;
    if (length == 0) return -1;
    while (length > 1) {
      const int64_t half = length / 2;
      from += depths[from + half] <= depth ? half : 0;
      length -= half;
    }
    return depths[from] == depth ? from : -1;
  }

  const Origin& origin_of(const Step& step) const {
    return origin_[metric_.sides == 1 ? step.arc : 2 * step.arc + step.down];
  }

  // From steps over arcs to edges.
  void open(std::vector<int32_t>& edges) {
    struct Place {
      int32_t next, edge;
    };
    constexpr int32_t kEnd = -1;
    std::vector<Place> list;  // of the path as far as it is known, not in its order
    list.reserve(1024);
    steps_.reserve(2048);
    for (Step& step : steps_) {
      step.place = static_cast<int32_t>(list.size());
      list.push_back({step.place + 1, -1});
      prefetch(&origin_of(step));
    }
    list.back().next = kEnd;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step step = steps_[i];
      Origin from = origin_of(step);
      if (metric_.sides == 1 && step.down) std::swap(from.down, from.up);
      Place& place = list[at(step.place)];
      if (from.down < 0) {
        place.edge = ~from.down;
        continue;
      }
      const auto second = static_cast<int32_t>(list.size());
      const int32_t next = std::exchange(place.next, second);
      list.push_back({next, -1});
      for (const Step& part : {Step{from.down, true, step.place}, Step{from.up, false, second}}) {
        prefetch(&origin_of(part));
        steps_.push_back(part);
      }
    }
    edges.reserve(list.size());
    for (int32_t i = 0; i != kEnd; i = list[at(i)].next) edges.push_back(list[at(i)].edge);
  }

  const Metric<Value>& metric_;
  const Arcs& arcs_;
  const Origin* origin_;
  std::vector<int32_t> path_;
  std::vector<Step> steps_;
};

void origins(const MetricView& view, const ConstArray& edge_weights, const Array& out,
             int threads) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    auto* origin = reinterpret_cast<Origin*>(
        checked<int32_t>(out, at(2 * metric.sides * metric.arcs.n_arcs), "origins"));
    with_edge_weights<Value>(edge_weights.dtype(), [&](auto tag) {
      using Weight = decltype(tag);
      const auto* weights = static_cast<const Weight*>(edge_weights.data());
      nb::gil_scoped_release release;
      find_origins(metric, weights, origin, threads);
    });
  });
}

// How many edges each arc stands for; the arcs of a lower label come first.
void path_lengths(const ArcsView::Ints& origin, int sides,
                  const nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& out) {
  if (origin.size() != 2 * out.size() || (sides != 1 && sides != 2))
    throw nb::type_error("lengths: wrong size");
  const auto* origins = reinterpret_cast<const Origin*>(origin.data());
  int32_t* length = out.data();
  const std::size_t count = out.size();
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [down, up] = origins[i];
    const bool is_edge = down < 0;
    length[i] = is_edge ? 1 : length[at(sides * down + sides - 1)] + length[at(sides * up)];
  }
}

// The edges of a shortest path, or None.
nb::object path(const MetricView& view, const ArcsView::Ints& origin, int64_t source,
                int64_t target) {
  std::vector<int32_t> edges;
  bool found = false;
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    if (origin.size() != at(2 * metric.sides * metric.arcs.n_arcs))
      throw nb::type_error("origins: wrong size");
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
  m.def("prepared_path_lengths", &prepared::path_lengths, arg("origins"), arg("sides"), arg("out"));
  m.def("prepared_path", &prepared::path, arg("metric"), arg("origins"), arg("source"),
        arg("target"));
}
}  // namespace nearfar
