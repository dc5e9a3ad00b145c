// The k nearest places of every vertex, by one search from all places.
//
// Dijkstra's method with labels (distance, place, vertex): a vertex is settled by up to k places,
// nearest first, ties by place number, and propagates each of them. A place that reaches a vertex
// after k others is dropped: everywhere beyond that vertex those k are at least as near. So are
// labels: a vertex has a list of its k least, whose first ones are settled, and only a label that
// enters the list enters the heap. O(k (n + m) (k + log n)) for non-negative weights.
#include <algorithm>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/fill.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {
namespace {

// Sums of int32 weights are kept in 64 bits, so they never overflow.
template <class Weight>
using Total = std::conditional_t<std::is_floating_point_v<Weight>, Weight, int64_t>;

// The type in which limits are compared: a float32 limit would be rounded.
template <class Weight>
using Bound = std::conditional_t<std::is_floating_point_v<Weight>, double, int64_t>;

// A vertex's list of k distances and place numbers, ascending; the first `settled` are final.
template <class Sum>
struct List {
  Sum* distances;
  int64_t* places;
  std::size_t size, settled;

  // Inserts a label unless the list has a lesser one of the place, or `size` lesser ones.
  bool insert(Sum distance, int64_t place) {
    const auto before = [&](std::size_t i) {
      return distances[i] < distance || (distances[i] == distance && places[i] <= place);
    };
    if (settled == size || before(size - 1)) return false;
    if (std::find(places, places + settled, place) != places + settled) return false;
    std::size_t at = settled;  // of the place, or else the first that is free, or else the last
    while (at + 1 < size && places[at] >= 0 && places[at] != place) ++at;
    if (places[at] == place && before(at)) return false;
    for (; at > settled && !before(at - 1); --at) {
      distances[at] = distances[at - 1];
      places[at] = places[at - 1];
    }
    distances[at] = distance;
    places[at] = place;
    return true;
  }
};

// Fills rows of `distances` and `found` (place numbers); returns whether a sum overflowed.
template <class C>
bool search(const C& csr, const int64_t* places, std::size_t count, std::size_t k,
            Bound<typename C::Weight> limit, Total<typename C::Weight>* distances, int64_t* found) {
  using Sum = Total<typename C::Weight>;
  struct Label {
    Sum distance;
    Index place, vertex;
    bool operator<(const Label& other) const {  // the top of the heap is its greatest
      return distance != other.distance ? distance > other.distance : place > other.place;
    }
  };
  constexpr Sum none = unreached<Sum>();
  const auto n = static_cast<std::size_t>(csr.n);
  fill_numbers(distances, n * k, none);
  fill_numbers(found, n * k, int64_t{-1});
  std::vector<std::size_t> settled(n, 0);
  const auto list = [&](std::size_t v) {
    return List<Sum>{distances + v * k, found + v * k, k, settled[v]};
  };
  std::vector<Label> heap;
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<Index>(i), vertex = static_cast<Index>(places[i]);
    if (list(static_cast<std::size_t>(vertex)).insert(0, place)) heap.push_back({0, place, vertex});
  }
  std::make_heap(heap.begin(), heap.end());
  Interrupt interrupt;
  bool lost = false;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Label top = heap.back();
    heap.pop_back();
    interrupt.poll(16);
    const auto v = static_cast<std::size_t>(top.vertex);
    const List<Sum> own = list(v);
    if (own.settled == k || own.places[own.settled] != top.place ||
        own.distances[own.settled] != top.distance)
      continue;  // no longer in the list
    ++settled[v];
    const auto first = static_cast<std::size_t>(csr.indptr[v]);
    const auto last = static_cast<std::size_t>(csr.indptr[v + 1]);
    interrupt.poll(4 * (last - first));
    for (std::size_t e = first; e < last; ++e) {
      const Index u = csr.indices[e];
      const Sum weight = csr.weights[e];
      if constexpr (std::is_integral_v<Sum>) {
        if (weight > none - 1 - top.distance) {
          lost |= settled[static_cast<std::size_t>(u)] != k;
          continue;
        }
      }
      const Sum sum = top.distance + weight;
      if (sum > limit || sum == none) {
        lost |= sum == none && settled[static_cast<std::size_t>(u)] != k;
        continue;
      }
      if (!list(static_cast<std::size_t>(u)).insert(sum, top.place)) continue;
      heap.push_back({sum, top.place, u});
      std::push_heap(heap.begin(), heap.end());
    }
  }
  return lost;
}

bool k_nearest(const GraphView& view, const Ids& places, std::size_t k, const nb::object& limit,
               const Array& distances, const Array& found) {
  bool lost = false;
  view.visit([&](const auto& csr) {
    using Sum = Total<typename std::decay_t<decltype(csr)>::Weight>;
    check_vertices(places, static_cast<std::size_t>(csr.n), "not a vertex");
    const std::size_t size = static_cast<std::size_t>(csr.n) * k;
    Sum* out = checked<Sum>(distances, size, "distances");
    auto* place_of = checked<int64_t>(found, size, "found");
    using Limit = Bound<typename std::decay_t<decltype(csr)>::Weight>;
    const Limit bound = limit.is_none() ? unreached<Limit>() : nb::cast<Limit>(limit);
    nb::gil_scoped_release release;
    lost = search(csr, places.data(), places.size(), k, bound, out, place_of);
  });
  return lost;
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("k_nearest", &k_nearest, arg("graph"), arg("places"), arg("k"), arg("limit").none(),
        arg("distances"), arg("found"));
}

}  // namespace nearfar
