// The k nearest places of every vertex, by one search from all places.
//
// Delta-stepping (algorithms/delta_stepping/sequential.cpp) with labels: distances and places. A
// vertex has a list of its k least labels of different places, ties by place number, and only a
// label that enters the list is propagated. A place that reaches a vertex after k others is
// dropped: everywhere beyond that vertex those k are at least as near.
//
// An entry of the queue is a vertex with the distance of a label in its list. Processing it
// propagates all labels of the vertex in the current bucket that have not been propagated yet. Most
// sums are dropped after one comparison, with the last label of the target's list.
#include <algorithm>
#include <atomic>

#include "algorithms/delta_stepping/adapter.hpp"
#include "algorithms/delta_stepping/plan.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/buffer.hpp"
#include "cpu/memory/huge_block.hpp"
#include "cpu/search/bucket_ring.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

using delta_stepping::Adapter;
using delta_stepping::Repeated;

constexpr int64_t kLists = 1 << 12;  // vertices that a thread writes at a time

// The type of distances that do not fit their weights': sums of int32 do not overflow 64 bits.
template <class Weight>
using Total = std::conditional_t<std::is_floating_point_v<Weight>, Weight, int64_t>;

// The type in which limits are compared: a float32 limit would be rounded.
template <class Weight>
using Bound = std::conditional_t<std::is_floating_point_v<Weight>, double, int64_t>;

template <class Sum>
struct Label {
  Sum distance = unreached<Sum>();
  uint32_t bits = ~uint32_t{0};  // the place, and whether it waits to be propagated; ones: none

  static Label waiting(Sum distance, uint32_t place) { return {distance, place << 1 | 1}; }
  uint32_t place() const { return bits >> 1; }
  bool none() const { return bits == ~uint32_t{0}; }
  bool waits() const { return (bits & 1) != 0 && !none(); }
  bool before(const Label& other) const {
    return distance != other.distance ? distance < other.distance : place() < other.place();
  }
};

// `Sum`: the type of distances during the search.
template <class C, class Sum>
class PlaceSearch {
 public:
  PlaceSearch(const C& csr, std::size_t k, Bound<Sum> limit, int threads)
      : csr_(csr),
        k_(k),
        size_(static_cast<std::size_t>(csr.n) * k),
        limit_(limit),
        lists_(size_ * sizeof(Label<Sum>) + 1),
        ring_(plan_for(csr, std::nullopt).delta),
        adapter_(true, (uint64_t{1} << 16) + static_cast<uint64_t>(csr.m) / 32) {
    spread_blocks(csr.n, kLists, threads, [&](const auto& each_block, Interrupt&) {
      each_block([&](int64_t first, int64_t last) {
        std::fill(list(static_cast<Index>(first)), list(static_cast<Index>(last)), Label<Sum>{});
      });
    });
  }

  void run(const int64_t* places, std::size_t count, Interrupt& interrupt) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto v = static_cast<Index>(places[i]);
      if (enter(v, Label<Sum>::waiting(0, static_cast<uint32_t>(i)))) ring_.push({v, 0});
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
  bool write(const int64_t* places, Sum* distances, int64_t* found, int threads) const {
    std::atomic<bool> gaps{false};
    spread_blocks(csr_.n, kLists, threads, [&](const auto& each_block, Interrupt&) {
      each_block([&](int64_t first, int64_t last) {
        bool gap = false;
        const std::size_t end = static_cast<std::size_t>(last) * k_;
        for (std::size_t i = static_cast<std::size_t>(first) * k_; i < end; ++i) {
          const Label<Sum>& label = list(0)[i];
          distances[i] = label.distance;
          found[i] = label.none() ? -1 : places[label.place()];
          gap |= label.none();
        }
        if (gap) gaps.store(true, std::memory_order_relaxed);
      });
    });
    return gaps.load(std::memory_order_relaxed) && overflowed_;
  }

 private:
  struct Sums {
    using Weight = Sum;
  };
  using Ring = BucketRing<Sums>;

  Label<Sum>* list(Index v) const {
    return reinterpret_cast<Label<Sum>*>(lists_.data()) + static_cast<std::size_t>(v) * k_;
  }
  std::size_t first_edge(Index v) const { return static_cast<std::size_t>(csr_.indptr[v]); }

  void process_bucket(Interrupt& interrupt) {
    const Sum high = ring_.upper_end();
    repeated_ = {};
    uint64_t rows = 0, edges = 0;
    std::size_t done = 0;
    while (done < now_.size && !adapter_.hopeless(rows, edges, repeated_)) {
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

  // Collects the vertex's labels up to that distance which wait; returns whether there are any.
  bool take_due(Index v, Sum most) {
    Label<Sum>* const own = list(v);
    due_.size = 0;
    for (std::size_t i = 0; i < k_ && own[i].distance <= most; ++i)
      if (own[i].waits()) {
        due_.push(own[i]);
        own[i].bits &= ~uint32_t{1};
      }
    return due_.size != 0;
  }

  void propagate(Index v) {
    const std::size_t row_end = first_edge(v + 1);
    for (std::size_t e = first_edge(v); e < row_end; ++e) {
      const auto edge = csr_.edge(e);
      const Sum weight = static_cast<Sum>(edge.weight);
      for (std::size_t i = 0; i < due_.size; ++i) {
        const Label<Sum>& from = due_.data[i];
        if (std::is_integral_v<Sum> && weight >= unreached<Sum>() - from.distance) {
          overflowed_ = true;
          break;
        }
        const Sum sum = static_cast<Sum>(from.distance + weight);
        overflowed_ |= sum == unreached<Sum>();
        if (sum > list(edge.target)[k_ - 1].distance || sum > limit_)
          break;  // as are those after it
        if (enter(edge.target, Label<Sum>::waiting(sum, from.place())))
          ring_.push({edge.target, sum}, now_);
      }
    }
  }

  // Inserts a label unless the list has a lesser one of its place, or k lesser ones.
  bool enter(Index v, const Label<Sum>& label) {
    Label<Sum>* const own = list(v);
    std::size_t at = 0;  // of the place, or else the first that is free, or else the last
    while (at + 1 < k_ && own[at].place() != label.place() && !own[at].none()) ++at;
    if (!label.before(own[at])) return false;
    if (!own[at].none() && !own[at].waits()) {
      ++repeated_.rows;
      repeated_.edges += static_cast<int64_t>(first_edge(v + 1) - first_edge(v));
    }
    for (; at > 0 && label.before(own[at - 1]); --at) own[at] = own[at - 1];
    own[at] = label;
    return true;
  }

  const C& csr_;
  const std::size_t k_, size_;
  const Bound<Sum> limit_;
  const HugeBlock lists_;  // of k labels per vertex, the least first
  Ring ring_;
  Adapter adapter_;
  Repeated repeated_;
  Buffer<Label<Sum>> due_;  // labels that are propagated together
  typename Ring::Bucket now_;
  bool overflowed_ = false;
};

// Returns whether a sum may not have fitted the type of `distances`: that of the weights, or the
// wider one.
bool k_nearest(GraphView& view, const Ids& places, std::size_t k, const nb::object& limit,
               const Array& distances, const Array& found, int threads) {
  return view.visit_packed([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    check_vertices(places, static_cast<std::size_t>(csr.n), "not a vertex");
    const std::size_t size = static_cast<std::size_t>(csr.n) * k;
    auto* place_of = checked<int64_t>(found, size, "found");
    using Limit = Bound<Weight>;
    const Limit bound = limit.is_none() ? unreached<Limit>() : nb::cast<Limit>(limit);
    const auto searched = [&]<class Sum>(Sum) {
      auto* out = checked<Sum>(distances, size, "distances");
      nb::gil_scoped_release release;
      Interrupt interrupt;
      PlaceSearch<C, Sum> search(csr, k, bound, threads);
      search.run(places.data(), places.size(), interrupt);
      return search.write(places.data(), out, place_of, threads);
    };
    const bool narrow = distances.dtype() == nb::dtype<Weight>();
    return narrow ? searched(Weight{}) : searched(Total<Weight>{});
  });
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("k_nearest", &k_nearest, arg("graph"), arg("places"), arg("k"), arg("limit").none(),
        arg("distances"), arg("found"), arg("threads"));
}

}  // namespace nearfar
