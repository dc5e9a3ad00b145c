// The k nearest places of every vertex, by one search from all places.
//
// Dijkstra's method with labels (distance, place, vertex): a vertex is settled by up to k places,
// nearest first, ties by place number, and propagates each of them. A place that reaches a vertex
// after k others is dropped: everywhere beyond that vertex those k are at least as near. O(k (n +
// m) log(k m)) for non-negative weights.
#include <algorithm>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {
namespace {

// Sums of int32 weights are kept in 64 bits, so they never overflow.
template <class Weight>
using Total = std::conditional_t<std::is_floating_point_v<Weight>, Weight, int64_t>;

// The type in which limits are compared: a float32 limit would be rounded.
template <class Weight>
using Bound = std::conditional_t<std::is_floating_point_v<Weight>, double, int64_t>;

// Fills rows of `distances` and `found` (place numbers); returns whether a sum overflowed.
template <class C>
bool search(const C& csr, const int64_t* places, std::size_t count, std::size_t k,
            Bound<typename C::Weight> limit, Total<typename C::Weight>* distances, int64_t* found) {
  using Sum = Total<typename C::Weight>;
  struct Label {
    Sum distance;
    int64_t place;
    Index vertex;
    bool operator<(const Label& other) const {  // the top of the heap is its greatest
      return distance != other.distance ? distance > other.distance : place > other.place;
    }
  };
  constexpr Sum none = unreached<Sum>();
  const auto n = static_cast<std::size_t>(csr.n);
  std::fill_n(distances, n * k, none);
  std::fill_n(found, n * k, -1);
  std::vector<std::size_t> settled(n, 0);
  std::vector<Label> heap;
  for (std::size_t i = 0; i < count; ++i)
    heap.push_back({0, static_cast<int64_t>(i), static_cast<Index>(places[i])});
  std::make_heap(heap.begin(), heap.end());
  Interrupt interrupt;
  bool lost = false;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Label top = heap.back();
    heap.pop_back();
    interrupt.poll(16);
    const auto v = static_cast<std::size_t>(top.vertex);
    int64_t* mine = found + v * k;
    if (settled[v] == k || std::find(mine, mine + settled[v], top.place) != mine + settled[v])
      continue;
    distances[v * k + settled[v]] = top.distance;
    mine[settled[v]++] = top.place;
    const auto first = static_cast<std::size_t>(csr.indptr[v]);
    const auto last = static_cast<std::size_t>(csr.indptr[v + 1]);
    interrupt.poll(4 * (last - first));
    for (std::size_t e = first; e < last; ++e) {
      const Index u = csr.indices[e];
      if (settled[static_cast<std::size_t>(u)] == k) continue;
      const Sum weight = csr.weights[e];
      if constexpr (std::is_integral_v<Sum>) {
        if (weight > none - 1 - top.distance) {
          lost = true;
          continue;
        }
      }
      const Sum sum = top.distance + weight;
      if (sum > limit || sum == none) {
        lost |= sum == none;
        continue;
      }
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
