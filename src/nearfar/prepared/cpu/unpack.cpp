// Paths: the arcs of a walk are traced back, and every shortcut is replaced by its two sides until
// only edges are left.
//
// An arc weighs as much as its lightest edge, or as the two sides of a lower triangle. `origin`
// says which: it is computed for all arcs on the first request for a path, by visiting the
// triangles as customization does. Weights are compared for equality, floats included, because an
// arc's weight was computed as the same sum.
//
// Shortcuts are unpacked in order of discovery, not of the path: the next ones are prefetched while
// others are unpacked, because each origin is a cache miss. A list keeps the edges in the order of
// the path.
#include "prepared/cpu/unpack.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"
#include "prepared/cpu/walks.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

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

template <class Value>
class Unpacker {
 public:
  Unpacker(const Metric<Value>& metric, const WalkRows<Value>& rows, const Origin* origin,
           const int32_t* heads)
      : metric_(metric), rows_(rows), arcs_(metric.arcs), origin_(origin), heads_(heads) {}

  // Returns the length of a shortest path between two labels and its edges in order; far() without
  // a path.
  Value find(int32_t source, int32_t target, std::vector<int32_t>& edges) {
    if (source == target) return 0;
    WalkSpace<Value> space(arcs_.height);
    int32_t meeting;
    const Value length = NEARFAR_PICK_ISA(distance<Value>)(
        metric_, rows_, source, target, space.forward(), space.backward(), meeting);
    if (meeting < 0) return far<Value>();
    trace(metric_, metric_.up, source, space.forward(), meeting, false, path_, steps_);
    std::reverse(steps_.begin(), steps_.end());
    trace(metric_, metric_.down, target, space.backward(), meeting, true, path_, steps_);
    open(edges);
    return length;
  }

 private:
  const Origin& origin_of(const Step& step) const {
    return origin_[metric_.sides == 1 ? step.arc : 2 * step.arc + step.down];
  }

  // Replaces arcs by edges.
  void open(std::vector<int32_t>& edges) {
    struct Place {
      int32_t next, edge;
    };
    constexpr int32_t kEnd = -1;
    std::vector<Place> list;  // known parts of the path, in any order
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
        if (heads_ != nullptr) prefetch(heads_ + place.edge);
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
  const WalkRows<Value>& rows_;
  const Arcs& arcs_;
  const Origin* origin_;
  const int32_t* heads_;  // heads of the edges, if requested
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

// Counts the edges that each arc represents; arcs of lower labels come first.
void path_lengths(const Ints& origin, int sides,
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

// Returns the edges of a walk without its cycles: each vertex continues with its last step.
Owned<int32_t> simple_path(const Ints& edges, const Ints& heads, int32_t source) {
  const std::size_t count = edges.size();
  std::size_t slots = 16;
  while (slots < 2 * (count + 1)) slots *= 2;
  struct Visit {
    int32_t vertex = -1, left = 0;  // the last step from the vertex
  };
  std::vector<Visit> visits(slots);
  const auto visit = [&](int32_t vertex) -> Visit& {
    std::size_t slot = (static_cast<uint32_t>(vertex) * 2654435761u) & (slots - 1);
    while (visits[slot].vertex != vertex && visits[slot].vertex >= 0)
      slot = (slot + 1) & (slots - 1);
    visits[slot].vertex = vertex;
    return visits[slot];
  };
  const auto head = [&](std::size_t step) { return heads.data()[edges.data()[step]]; };
  visit(source).left = 0;
  for (std::size_t i = 0; i < count; ++i) visit(head(i)).left = static_cast<int32_t>(i + 1);
  std::vector<int32_t> kept;
  kept.reserve(count);
  for (std::size_t i = at(visit(source).left); i < count; i = at(visit(head(i)).left))
    kept.push_back(edges.data()[i]);
  return as_numpy(std::move(kept));
}

// Returns (edges, vertices, length) of a shortest path, or None; vertices only with the edges'
// `heads`, the length only if it fits the dtype of `like`.
nb::object path(const Walks& walks, const Ints& origin, int64_t source, int64_t target,
                const std::optional<Ints>& heads, const nb::dlpack::dtype& type) {
  nb::object found = nb::none();
  walks.visit([&](const auto& metric, const auto& rows) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    if (origin.size() != at(2 * metric.sides * metric.arcs.n_arcs))
      throw nb::type_error("origins: wrong size");
    const int64_t ends[2] = {source, target};
    const auto labels = labels_of(metric.arcs, ends, 2);
    const int32_t* head = heads ? heads->data() : nullptr;
    std::vector<int32_t> edges, vertices;
    Value length;
    {
      nb::gil_scoped_release release;
      Unpacker<Value> unpacker(metric, rows, reinterpret_cast<const Origin*>(origin.data()), head);
      length = unpacker.find(labels[0], labels[1], edges);
      if (head != nullptr && !is_far(length)) {
        vertices.reserve(edges.size() + 1);
        vertices.push_back(static_cast<int32_t>(source));
        for (const int32_t e : edges) vertices.push_back(head[e]);
      }
    }
    if (is_far(length)) return;
    with_distances<Value>(type, [&](auto result) {
      using Out = decltype(result);
      const Out fitting = distance_of<Out>(length, metric.step);
      const bool fits = fitting != unreached<Out>() && fitting != -unreached<Out>();
      found = nb::make_tuple(as_numpy(std::move(edges)), as_numpy(std::move(vertices)),
                             fits ? nb::cast(fitting) : nb::none());
    });
  });
  return found;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_origins", &prepared::origins, arg("metric"), arg("edge_weights"), arg("out"),
        arg("threads"));
  m.def("prepared_simple_path", &prepared::simple_path, arg("edges"), arg("heads"), arg("source"));
  m.def("prepared_path_lengths", &prepared::path_lengths, arg("origins"), arg("sides"), arg("out"));
  m.def(
      "prepared_path",
      [](const prepared::Walks& walks, const Ints& origins, int64_t source, int64_t target,
         std::optional<Ints> heads, const ConstArray& like) {
        return prepared::path(walks, origins, source, target, heads, like.dtype());
      },
      arg("walks"), arg("origins"), arg("source"), arg("target"), arg("heads").none(), arg("like"));
}
}  // namespace nearfar
