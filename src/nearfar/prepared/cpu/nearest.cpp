// The k nearest places of every vertex, by moving lists up the elimination tree and down.
//
// A vertex's list has the k nearest places known so far, nearest first, ties by place number. Up:
// the lists of ancestors are merged with those of lower labels over the arcs. Down: a vertex's list
// is merged with those of its ancestors. A shortest path goes up and then down, and a place that is
// not among the k nearest of a vertex is not among those of vertices reached through it either: k
// others are at least as near. O(k arcs), for any number of places.
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/interrupt.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

template <class Value>
class Lists {
 public:
  struct Entry {
    Value distance;
    int32_t place;
    bool before(const Entry& other) const {
      return distance < other.distance || (distance == other.distance && place < other.place);
    }
  };

  Lists(int64_t count, int32_t k) : k_(k), entries_(at(count * k)), size_(at(count), 0) {}

  int32_t size(int32_t v) const { return size_[at(v)]; }
  const Entry* of(int32_t v) const { return entries_.data() + int64_t{v} * k_; }
  Entry* of(int32_t v) { return entries_.data() + int64_t{v} * k_; }

  // Returns whether the entry was inserted; if not, no farther entry would be.
  bool put(int32_t v, const Entry& entry) {
    Entry* list = of(v);
    int32_t& size = size_[at(v)];
    if (size == k_ && !entry.before(list[size - 1])) return false;
    int32_t end = 0;  // the place's present position, or the list's end
    while (end < size && list[end].place != entry.place) ++end;
    if (end < size && !entry.before(list[end])) return true;
    if (end == size) {
      if (size < k_)
        ++size;
      else
        end = k_ - 1;  // the farthest is dropped
    }
    while (end > 0 && entry.before(list[end - 1])) {
      list[end] = list[end - 1];
      --end;
    }
    list[end] = entry;
    return true;
  }

  // Merges the list of u, over an arc to or from v.
  void pass(int32_t u, int32_t v, Value weight) {
    const Entry* from = of(u);
    for (int32_t i = 0; i < size_[at(u)]; ++i) {
      const Value sum = from[i].distance + weight;
      if (is_far(sum) || !put(v, {sum, from[i].place})) return;
    }
  }

 private:
  const int32_t k_;
  std::vector<Entry> entries_;
  std::vector<int32_t> size_;
};

template <class Value>
void fill_lists(const Metric<Value>& metric, const std::vector<int32_t>& places,
                Lists<Value>& lists) {
  const Arcs& arcs = metric.arcs;
  Interrupt interrupt;
  for (std::size_t i = 0; i < places.size(); ++i)
    lists.put(places[i], {Value{0}, static_cast<int32_t>(i)});
  std::vector<int32_t> path(at(arcs.height), -1);  // the ancestors by depth
  for (int32_t x = 0; x < arcs.n; ++x) {
    for (int32_t a = x; a >= 0 && path[at(arcs.depth[a])] != a; a = arcs.parent[a])
      path[at(arcs.depth[a])] = a;
    if (lists.size(x) == 0) continue;
    const int64_t first = metric.up.first[x], last = metric.up.first[x + 1];
    interrupt.poll(at(last - first) * at(lists.size(x)) + 1);
    for (int64_t j = first; j < last; ++j)
      lists.pass(x, path[at(metric.up.head_depth[j])], metric.up.weight[j]);
  }
  for (int32_t x = arcs.n - 1; x >= 0; --x) {
    path[at(arcs.depth[x])] = x;
    const int64_t first = metric.down.first[x], last = metric.down.first[x + 1];
    interrupt.poll(at(last - first) * 4 + 1);
    for (int64_t j = first; j < last; ++j)
      lists.pass(path[at(metric.down.head_depth[j])], x, metric.down.weight[j]);
  }
}

// Fills row v of `distances` and `found`, which has places, for each vertex v, padded with
// unreached and -1.
void nearest(const MetricView& view, const Ids& places, int64_t k, const Array& distances,
             const Array& found) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const Arcs& arcs = metric.arcs;
    const auto labels = labels_of(arcs, places.data(), places.size());
    if (k < 1 || k > std::numeric_limits<int32_t>::max()) throw nb::index_error("k");
    auto* place_of = checked<int64_t>(found, at(arcs.n * k), "found");
    with_distances<Value>(distances.dtype(), [&](auto tag) {
      using Out = decltype(tag);
      Out* out = checked<Out>(distances, at(arcs.n * k), "distances");
      nb::gil_scoped_release release;
      Lists<Value> lists(arcs.n, static_cast<int32_t>(k));
      fill_lists(metric, labels, lists);
      for (int32_t v = 0; v < arcs.n; ++v) {
        const int64_t row = int64_t{arcs.vertex[v]} * k;
        const auto* list = lists.of(v);
        for (int64_t i = 0; i < k; ++i) {
          const bool is = i < lists.size(v);
          out[row + i] = is ? distance_of<Out>(list[i].distance, metric.step) : unreached<Out>();
          place_of[row + i] = is ? places.data()[list[i].place] : -1;
        }
      }
    });
  });
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_nearest", &prepared::nearest, arg("metric"), arg("places"), arg("k"),
        arg("distances"), arg("found"));
}
}  // namespace nearfar
