// Point queries on floats, with the bits of the distance that a search finds.
//
// A search adds from left to right along a path, and its distance is the least such sum. Sums over
// shortcuts are added in another order, so a walk is off by rounding and cannot tell which of
// several nearly equal paths has the least sum. So the walk is done over all arcs, every arc on a
// path at most slightly longer than the shortest is replaced by all its edges and triangles within
// that allowance, and a search over the few remaining edges adds them as a search over the graph
// would.
//
// The allowance: k numbers of one sign added in any order differ from their true sum by less than k
// units of roundoff, relatively (Higham 2002, section 4.2), and no relevant path has more edges
// than the graph has vertices, or than the distance divided by the least weight. Four times that
// bound covers the walk, the search, and the sums made here.
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

#include "cpu/threads/spread.hpp"
#include "prepared/cpu/walk.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

template <class Value>
class ExactWalk {
 public:
  // least: the least weight of an edge.
  ExactWalk(const Metric<Value>& metric, const Value* edge_weights, Value least,
            Interrupt& interrupt)
      : metric_(metric),
        arcs_(metric.arcs),
        edge_weights_(edge_weights),
        least_(least),
        interrupt_(interrupt) {
    for (auto* space : {&forward_, &backward_, &rest_forward_, &rest_backward_})
      space->assign(at(arcs_.height), far<Value>());
    path_[0].resize(at(arcs_.height));
    path_[1].resize(at(arcs_.height));
  }

  // Returns the exact distance and, if requested, the edges of a path of that length. NaN if too
  // many paths are nearly as short (in float32 on large graphs): the caller then searches.
  Value find(int32_t source, int32_t target, std::vector<int32_t>* edges) {
    if (edges != nullptr) edges->clear();
    if (source == target) return 0;
    const int32_t common = common_ancestor(arcs_, source, target);
    if (common < 0) return far<Value>();
    climb(source, false, forward_, path_[0]);
    climb(target, true, backward_, path_[1]);
    const int32_t meet = arcs_.depth[common];
    Value best = far<Value>();
    for (int32_t d = 0; d <= meet; ++d) best = std::min(best, forward_[at(d)] + backward_[at(d)]);
    if (is_far(best)) return best;
    bound_ = best + slack(best);
    opened_.clear();
    edges_.clear();
    waiting_.clear();
    rest(source, meet, false, backward_, path_[0], rest_forward_);
    rest(target, meet, true, forward_, path_[1], rest_backward_);
    gather(source, false, forward_, rest_forward_, path_[0]);
    gather(target, true, backward_, rest_backward_, path_[1]);
    while (!waiting_.empty()) {
      if (opened_.size() > kMostParts) return std::numeric_limits<Value>::quiet_NaN();
      const Part part = waiting_.back();
      waiting_.pop_back();
      open(part);
    }
    return search(source, target, edges);
  }

 private:
  static constexpr std::size_t kMostParts = 20000;

  // An arc in one direction, and the length limit for paths that replace it.
  struct Part {
    int64_t arc;
    int32_t low, high;
    bool down;
    Value most;
  };
  struct Link {
    int32_t from, to, edge;
  };

  Value weight(int64_t j, bool down) const {
    return metric_.weights[metric_.sides * j + (down ? metric_.sides - 1 : 0)];
  }

  Value slack(Value best) const {
    double hops = arcs_.n;
    if (least_ > 0) hops = std::min(hops, static_cast<double>(best) / least_ + 2);
    const double unit = std::numeric_limits<Value>::epsilon();
    // A denormal sum is exact, but its relative bound underflows.
    return static_cast<Value>(4 * hops * unit * static_cast<double>(best)) +
           std::numeric_limits<Value>::denorm_min();
  }

  // Walks over all arcs; path[d] is the ancestor at depth d.
  void climb(int32_t v, bool down, std::vector<Value>& space, std::vector<int32_t>& path) {
    for (int32_t d = 0; d < arcs_.depth[v]; ++d) space[at(d)] = far<Value>();
    space[at(arcs_.depth[v])] = 0;
    for (int32_t depth = arcs_.depth[v]; v >= 0; v = arcs_.parent[v], --depth) {
      path[at(depth)] = v;
      const Value d = space[at(depth)];
      if (is_far(d)) continue;
      for (int64_t j = arcs_.first[v]; j < arcs_.first[v + 1]; ++j) {
        Value& slot = space[at(arcs_.head_depth[j])];
        slot = std::min<Value>(slot, d + weight(j, down));
      }
    }
  }

  // Remaining distance from each label on the path: from the meeting labels downwards.
  void rest(int32_t v, int32_t meet, bool down, const std::vector<Value>& other,
            const std::vector<int32_t>& path, std::vector<Value>& out) {
    for (int32_t d = 0; d <= arcs_.depth[v]; ++d) {
      Value least = d <= meet ? other[at(d)] : far<Value>();
      const int32_t x = path[at(d)];
      for (int64_t j = arcs_.first[x]; j < arcs_.first[x + 1]; ++j)
        least = std::min<Value>(least, weight(j, down) + out[at(arcs_.head_depth[j])]);
      out[at(d)] = least;
    }
  }

  void gather(int32_t v, bool down, const std::vector<Value>& space, const std::vector<Value>& rest,
              const std::vector<int32_t>& path) {
    for (int32_t d = arcs_.depth[v]; d >= 0; --d) {
      if (!(space[at(d)] + rest[at(d)] <= bound_)) continue;
      const int32_t x = path[at(d)];
      for (int64_t j = arcs_.first[x]; j < arcs_.first[x + 1]; ++j) {
        const int32_t h = arcs_.head_depth[j];
        const Value others = space[at(d)] + rest[at(h)];
        if (others + weight(j, down) <= bound_) put({j, x, path[at(h)], down, bound_ - others});
      }
    }
  }

  void put(const Part& part) {
    // Rounding may have made the allowance less than the arc itself.
    const Value most = std::max(part.most, weight(part.arc, part.down));
    Value& before = opened_.try_emplace(2 * part.arc + part.down, Value{-1}).first->second;
    if (most <= before) return;
    before = most;
    waiting_.push_back(part);
    waiting_.back().most = most;
  }

  void open(const Part& part) {
    const auto [j, x, y, down, most] = part;
    interrupt_.poll(64);
    const int32_t depth = arcs_.depth[y], place = 2 * depth + (down ? 1 : 0);
    for (int64_t i = arcs_.edge_first[x]; i < arcs_.edge_first[x + 1]; ++i)
      if (arcs_.edge_place[i] == place && edge_weights_[arcs_.edge[i]] <= most)
        edges_.push_back({down ? y : x, down ? x : y, arcs_.edge[i]});
    for (int64_t q = arcs_.lower_first[x]; q < arcs_.lower_first[x + 1]; ++q) {
      const int32_t z = arcs_.lower_tail[q];
      const int64_t to_x = arcs_.lower_arc[q];
      const auto* end = arcs_.head_depth + to_x;
      const auto* found = std::lower_bound(arcs_.head_depth + arcs_.first[z], end, depth);
      if (found == end || *found != depth) continue;
      const int64_t to_y = found - arcs_.head_depth;
      const Value first = weight(down ? to_y : to_x, true);
      const Value second = weight(down ? to_x : to_y, false);
      if (!(first + second <= most)) continue;
      put({down ? to_y : to_x, z, down ? y : x, true, most - second});
      put({down ? to_x : to_y, z, down ? x : y, false, most - first});
    }
  }

  // Dijkstra's method over the edges found, with the graph's weights.
  Value search(int32_t source, int32_t target, std::vector<int32_t>* path) {
    // Among parallel edges the lightest comes first, even where the sums with both are equal.
    std::sort(edges_.begin(), edges_.end(), [&](const Link& a, const Link& b) {
      if (a.from != b.from) return a.from < b.from;
      const Value of_a = edge_weights_[a.edge], of_b = edge_weights_[b.edge];
      return of_a != of_b ? of_a < of_b : a.edge < b.edge;
    });
    struct Reached {
      Value distance;
      Link by;
      bool settled;
    };
    std::unordered_map<int32_t, Reached> reached;
    using Entry = std::pair<Value, int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    reached[source] = {0, {-1, source, -1}, false};
    queue.push({0, source});
    while (!queue.empty()) {
      const auto [d, v] = queue.top();
      queue.pop();
      auto& here = reached[v];
      if (here.settled) continue;
      here.settled = true;
      if (v == target) break;
      auto link = std::lower_bound(edges_.begin(), edges_.end(), v,
                                   [](const Link& a, int32_t key) { return a.from < key; });
      for (; link != edges_.end() && link->from == v; ++link) {
        const Value sum = d + edge_weights_[link->edge];
        auto [slot, fresh] = reached.try_emplace(link->to, Reached{sum, *link, false});
        if (!fresh && !(sum < slot->second.distance)) continue;
        slot->second = {sum, *link, false};
        queue.push({sum, link->to});
      }
    }
    const auto end = reached.find(target);
    if (end == reached.end()) return far<Value>();
    if (path != nullptr) {
      for (int32_t v = target; v != source; v = reached[v].by.from)
        path->push_back(reached[v].by.edge);
      std::reverse(path->begin(), path->end());
    }
    return end->second.distance;
  }

  const Metric<Value>& metric_;
  const Arcs& arcs_;
  const Value* edge_weights_;
  const Value least_;
  Interrupt& interrupt_;
  std::vector<Value> forward_, backward_, rest_forward_, rest_backward_;
  std::vector<int32_t> path_[2];
  std::unordered_map<int64_t, Value> opened_;
  std::vector<Part> waiting_;
  std::vector<Link> edges_;
  Value bound_ = 0;
};

// Calls f with the metric if its values are non-negative floats.
template <class F>
void with_floats(const MetricView& view, const ConstArray& edge_weights, F&& f) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    if constexpr (std::is_floating_point_v<Value>) {
      if (edge_weights.dtype() != nb::dtype<Value>())
        throw nb::type_error("edge_weights: wrong dtype");
      f(metric, static_cast<const Value*>(edge_weights.data()));
    } else {
      throw nb::type_error("integer distances are exact already");
    }
  });
}

void exact_pairs(const MetricView& view, const ConstArray& edge_weights, double least,
                 const Ids& sources, const Ids& targets, const Array& out, int threads) {
  with_floats(view, edge_weights, [&](const auto& metric, const auto* weights) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const std::size_t count = sources.size();
    const auto labels = labels_of_pairs(metric.arcs, sources, targets);
    Value* found = checked<Value>(out, count, "out");
    nb::gil_scoped_release release;
    spread_blocks(static_cast<int64_t>(count), 8, threads,
                  [&](const auto& each_block, Interrupt& interrupt) {
                    ExactWalk<Value> walk(metric, weights, static_cast<Value>(least), interrupt);
                    each_block([&](int64_t first, int64_t last) {
                      for (std::size_t i = at(first); i < at(last); ++i)
                        found[i] = walk.find(labels[0][i], labels[1][i], nullptr);
                    });
                  });
  });
}

// Returns the edges of a path of the exact distance; None if there is none, False if the query was
// abandoned.
nb::object exact_path(const MetricView& view, const ConstArray& edge_weights, double least,
                      int64_t source, int64_t target) {
  std::vector<int32_t> edges;
  bool found = false, given_up = false;
  with_floats(view, edge_weights, [&](const auto& metric, const auto* weights) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const int64_t ends[2] = {source, target};
    const auto labels = labels_of(metric.arcs, ends, 2);
    nb::gil_scoped_release release;
    Interrupt interrupt;
    ExactWalk<Value> walk(metric, weights, static_cast<Value>(least), interrupt);
    const Value length = walk.find(labels[0], labels[1], &edges);
    given_up = std::isnan(length);
    found = !is_far(length);
  });
  if (given_up) return nb::cast(false);
  if (!found) return nb::none();
  return nb::cast(as_numpy(std::move(edges)));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_exact_pairs", &prepared::exact_pairs, arg("metric"), arg("edge_weights"),
        arg("least"), arg("sources"), arg("targets"), arg("out"), arg("threads"));
  m.def("prepared_exact_path", &prepared::exact_path, arg("metric"), arg("edge_weights"),
        arg("least"), arg("source"), arg("target"));
}
}  // namespace nearfar
