// The k nearest places of every vertex, by one search from all places.
//
// Delta-stepping (algorithms/delta_stepping/sequential.cpp) with labels: distances and places. A
// vertex has a list of its k least labels of different places, ties by place number, and only a
// label that enters the list is propagated. A place that reaches a vertex after k others is
// dropped: everywhere beyond that vertex those k are at least as near.
//
// An entry of the queue is a vertex with the distance of a label in its list. Processing it
// propagates all labels of the vertex in the current bucket that have not been propagated yet. Most
// sums are dropped after one comparison, with the greatest distance of the target's list, which is
// also kept in an array that fits a near cache.
#include <algorithm>
#include <limits>

#include "algorithms/delta_stepping/adapter.hpp"
#include "algorithms/delta_stepping/plan.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/buffer.hpp"
#include "cpu/memory/huge_block.hpp"
#include "cpu/search/bucket_ring.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {
namespace {

using delta_stepping::Adapter;
using delta_stepping::Repeated;

// The type of distances in the answer: sums of int32 weights do not overflow 64 bits.
template <class Weight>
using Total = std::conditional_t<std::is_floating_point_v<Weight>, Weight, int64_t>;

// The type in which limits are compared: a float32 limit would be rounded.
template <class Weight>
using Bound = std::conditional_t<std::is_floating_point_v<Weight>, double, int64_t>;

constexpr std::size_t kTargets = 4, kEdges = 8, kRows = 16;  // entries that are fetched ahead
constexpr std::size_t kMostTargets = 16;                     // of an entry

// A place, and whether its label waits to be propagated.
struct Mark {
  uint32_t bits = ~uint32_t{0};  // no place

  static Mark waiting(uint32_t place) { return {place << 1 | 1}; }
  uint32_t place() const { return bits >> 1; }
  bool none() const { return bits == ~uint32_t{0}; }
  bool waits() const { return (bits & 1) != 0; }
};

// `Sum`: the type of distances during the search.
template <class C, class Sum>
class PlaceSearch {
 public:
  PlaceSearch(const C& csr, std::size_t k, Bound<Sum> limit)
      : csr_(csr),
        k_(k),
        stride_((k * (sizeof(Sum) + sizeof(Mark)) + 7) / 8 * 8),
        limit_(limit),
        lists_(static_cast<std::size_t>(csr.n) * stride_ + 8),
        ring_(plan_for(csr, std::nullopt).delta),
        adapter_(true, (uint64_t{1} << 16) + static_cast<uint64_t>(csr.m) / 32) {
    const auto n = static_cast<std::size_t>(csr.n);
    last_.reserve(n + 1);
    std::fill_n(last_.data, n, unreached<Sum>());
    for (Index v = 0; v < csr.n; ++v) {
      std::fill_n(distances(v), k, unreached<Sum>());
      std::fill_n(marks(v), k, Mark{});
    }
  }

  void run(const int64_t* places, std::size_t count, Interrupt& interrupt) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto v = static_cast<Index>(places[i]);
      if (enter(v, 0, static_cast<uint32_t>(i))) ring_.push({v, 0});
    }
    while (true) {
      const uint64_t number = ring_.next();
      if (number == Ring::kEmpty) {
        Sum low;
        if (!ring_.far_least(low)) return;
        ring_.deal(low);
        continue;
      }
      ring_.take(number, now_);
      process_bucket(interrupt);
    }
  }

  // Writes the lists; returns whether one lacks a place, perhaps because a sum overflowed.
  bool write(Total<Sum>* out, int64_t* found) const {
    bool gaps = false;
    for (Index v = 0; v < csr_.n; ++v)
      for (std::size_t i = 0; i < k_; ++i) {
        const Mark mark = marks(v)[i];
        *out++ = mark.none() ? unreached<Total<Sum>>() : distances(v)[i];
        *found++ = mark.none() ? -1 : int64_t{mark.place()};
        gaps |= mark.none();
      }
    return gaps && overflowed_;
  }

 private:
  struct Sums {
    using Weight = Sum;
  };
  using Ring = BucketRing<Sums>;
  struct Label {
    Sum distance;
    uint32_t place;
  };

  std::byte* list(Index v) const { return lists_.data() + static_cast<std::size_t>(v) * stride_; }
  Sum* distances(Index v) const { return reinterpret_cast<Sum*>(list(v)); }
  Mark* marks(Index v) const { return reinterpret_cast<Mark*>(list(v) + k_ * sizeof(Sum)); }
  std::size_t first_edge(Index v) const { return static_cast<std::size_t>(csr_.indptr[v]); }

  void process_bucket(Interrupt& interrupt) {
    const Sum high = ring_.upper_end();
    repeated_ = {};
    uint64_t rows = 0, edges = 0;
    std::size_t done = 0;
    while (done < now_.size && !adapter_.hopeless(rows, edges, repeated_)) {
      fetch(done);
      const auto entry = now_.data[done++];
      const std::size_t degree = first_edge(entry.vertex + 1) - first_edge(entry.vertex);
      if (!take_due(entry.vertex, std::max(high, entry.distance))) {
        repeated_.edges -= static_cast<int64_t>(degree);
        continue;
      }
      ++rows;
      edges += degree;
      propagate(entry.vertex);
      interrupt.poll(16 + 2 * degree * due_.size);
    }
    const double factor = adapter_.after_bucket(rows, edges, repeated_, 0, ring_.delta());
    if (factor != 1) ring_.widen(ring_.lower_end(), ring_.delta() * factor);
    for (std::size_t i = done; i < now_.size; ++i) ring_.push(now_.data[i]);
    now_.size = 0;
  }

  void fetch(std::size_t at) const {
    const auto ahead = [&](std::size_t by) { return now_.data[at + by].vertex; };
    if (at + kRows < now_.size) {
      prefetch(csr_.indptr + ahead(kRows));
      prefetch(list(ahead(kRows)));
      prefetch(marks(ahead(kRows)));
    }
    if (at + kEdges < now_.size) prefetch(csr_.edges + first_edge(ahead(kEdges)));
    if (at + kTargets < now_.size) {
      const std::size_t row = first_edge(ahead(kTargets));
      const std::size_t row_end = first_edge(ahead(kTargets) + 1);
      for (std::size_t e = row; e < row_end && e < row + kMostTargets; ++e) {
        const Index target = csr_.edge(e).target;
        prefetch(last_.data + target);
        prefetch(list(target));
        prefetch(marks(target));
      }
    }
  }

  // Collects the vertex's labels up to that distance which wait; returns whether there are any.
  bool take_due(Index v, Sum most) {
    const Sum* const distance = distances(v);
    Mark* const mark = marks(v);
    due_.size = 0;
    for (std::size_t i = 0; i < k_ && distance[i] <= most; ++i)
      if (mark[i].waits() && !mark[i].none()) {
        mark[i].bits &= ~uint32_t{1};
        due_.push({distance[i], mark[i].place()});
      }
    return due_.size != 0;
  }

  void propagate(Index v) {
    const std::size_t row_end = first_edge(v + 1);
    for (std::size_t e = first_edge(v); e < row_end; ++e) {
      const auto edge = csr_.edge(e);
      const Sum weight = static_cast<Sum>(edge.weight);
      for (std::size_t i = 0; i < due_.size; ++i) {
        const Label from = due_.data[i];
        if (std::is_integral_v<Sum> && weight >= unreached<Sum>() - from.distance) {
          overflowed_ = true;
          break;
        }
        const Sum sum = static_cast<Sum>(from.distance + weight);
        overflowed_ |= sum == unreached<Sum>();
        if (sum > last_.data[edge.target] || sum > limit_) break;  // as are those after it
        if (enter(edge.target, sum, from.place)) ring_.push({edge.target, sum}, now_);
      }
    }
  }

  // Inserts a label unless the list has a lesser one of its place, or k lesser ones.
  bool enter(Index v, Sum sum, uint32_t place) {
    Sum* const distance = distances(v);
    Mark* const mark = marks(v);
    const auto before = [&](std::size_t i) {
      return sum != distance[i] ? sum < distance[i] : place < mark[i].place();
    };
    std::size_t at = 0;  // of the place, or else the first that is free, or else the last
    while (at + 1 < k_ && mark[at].place() != place && !mark[at].none()) ++at;
    if (!before(at)) return false;
    if (!mark[at].none() && !mark[at].waits()) {
      ++repeated_.rows;
      repeated_.edges += static_cast<int64_t>(first_edge(v + 1) - first_edge(v));
    }
    for (; at > 0 && before(at - 1); --at) {
      distance[at] = distance[at - 1];
      mark[at] = mark[at - 1];
    }
    distance[at] = sum;
    mark[at] = Mark::waiting(place);
    last_.data[v] = distance[k_ - 1];
    return true;
  }

  const C& csr_;
  const std::size_t k_, stride_;
  const Bound<Sum> limit_;
  const HugeBlock lists_;  // of each vertex k distances, ascending, and k marks
  Ring ring_;
  Adapter adapter_;
  Repeated repeated_;
  Buffer<Sum> last_;   // distance of each list
  Buffer<Label> due_;  // labels that are propagated together
  typename Ring::Bucket now_;
  bool overflowed_ = false;
};

bool k_nearest(GraphView& view, const Ids& places, std::size_t k, const nb::object& limit,
               const Array& distances, const Array& found) {
  return view.visit_packed([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    check_vertices(places, static_cast<std::size_t>(csr.n), "not a vertex");
    const std::size_t size = static_cast<std::size_t>(csr.n) * k;
    auto* out = checked<Total<Weight>>(distances, size, "distances");
    auto* place_of = checked<int64_t>(found, size, "found");
    using Limit = Bound<Weight>;
    const Limit bound = limit.is_none() ? unreached<Limit>() : nb::cast<Limit>(limit);
    nb::gil_scoped_release release;
    Interrupt interrupt;
    const auto lost = [&]<class Sum>(Sum) {
      PlaceSearch<C, Sum> search(csr, k, bound);
      search.run(places.data(), places.size(), interrupt);
      return search.write(out, place_of);
    };
    return lost(Weight{}) && (std::is_same_v<Weight, Total<Weight>> || lost(Total<Weight>{}));
  });
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("k_nearest", &k_nearest, arg("graph"), arg("places"), arg("k"), arg("limit").none(),
        arg("distances"), arg("found"));
}

}  // namespace nearfar
