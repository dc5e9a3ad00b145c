// Edges that are longer than another path between their ends, and graphs without them.
//
// No shortest path contains such an edge, so that distances are the same without it. The graph
// without all of them is the metric backbone [1]. Two upper bounds on the distance between the ends
// find most:
//
// A pivot. The length of the path over a vertex whose distances from and to all others are known.
// In graphs with hubs or widely spread weights a path over a hub is often shorter than the edge.
//
// Short searches. One from each vertex finds the detours of a few edges in clusters and meshes.
//
// Floats. Sums are rounded after each edge, from the source on, and a sum over the edge must not be
// the lesser one. Let a path of h edges be shorter by more than about h * eps * (D + w), where D is
// the distance of the edge's tail from the source and w the weight. Then its sum is less, however
// it is rounded. The margin here is several times that, for the greatest D.
//
// [1] Tiago Simas, Rion Brattig Correia and Luis M. Rocha. "The distance backbone of complex
//     networks." Journal of Complex Networks, 9(6), 2021.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/search/arithmetic.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::backbone {
namespace {

constexpr int64_t kRows = 1 << 11;           // vertices that a worker processes at a time
constexpr int64_t kSearches = 1 << 7;        // short searches that it does at a time
constexpr std::size_t kSettled = 24;         // vertices that a short search settles
constexpr std::size_t kSettledBothWays = 8;  // where it also reads the rows of neighbours
constexpr std::size_t kLongRow = 256;        // edges from which a vertex keeps all
constexpr std::size_t kLooked = 64;          // edges of another row that a short search looks at
constexpr int kSlotBits = 11;                // of the table of its vertices
constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;
constexpr std::size_t kLabels = kSlots / 2;

using Reach = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Returns the bounds on the lengths of paths, which floats need and integers do not.
template <class Weight>
const double* checked_reach(const std::optional<Reach>& reach, std::size_t n) {
  if (std::is_floating_point_v<Weight> != reach.has_value() || (reach && reach->size() != n))
    throw nb::value_error("for floats, one bound per vertex");
  return reach ? reach->data() : nullptr;
}

// Whether a weight exceeds an upper bound on the distance between the ends of its edge by more than
// `error` times the sums in which both may occur.
template <class Weight>
NEARFAR_INLINE bool exceeds(Weight weight, SumOf<Weight> bound, double error, double far) {
  if constexpr (std::is_floating_point_v<Weight>) {
    const auto w = static_cast<double>(weight);
    return w - static_cast<double>(bound) > error * (far + w);
  } else {
    return static_cast<SumOf<Weight>>(weight) > bound;
  }
}

// A search from one vertex that ends after a few others.
template <class Weight>
class ShortSearch {
 public:
  // `both_ways`: whether every edge has the same weight in the other direction.
  ShortSearch(const int32_t* indptr, const int32_t* indices, const Weight* weights, bool both_ways)
      : indptr_(indptr),
        indices_(indices),
        weights_(weights),
        both_ways_(both_ways),
        slots_(kSlots) {}

  // Clears kept[e] of edges from u that are longer than a path that the search finds. No path to u
  // is longer than `far`.
  void from(int32_t u, double far, uint8_t* kept) {
    const int32_t begin = indptr_[u], end = indptr_[u + 1];
    if (end == begin || static_cast<std::size_t>(end - begin) > kLongRow) return;
    const Weight most = *std::max_element(weights_ + begin, weights_ + end);
    if (!(most > 0)) return;  // nothing is shorter
    lower(u, 0);
    const std::size_t most_settled = both_ways_ ? kSettledBothWays : kSettled;
    for (std::size_t settled = 0; settled < most_settled && !heap_.empty();) {
      std::pop_heap(heap_.begin(), heap_.end());
      const auto [distance, vertex] = heap_.back();
      heap_.pop_back();
      if (find(vertex).distance < distance) continue;
      if (!(distance < most)) break;
      ++settled;
      const int32_t first = indptr_[vertex], length = indptr_[vertex + 1] - first;
      const int32_t last =
          first +
          (settled == 1 ? length : std::min<int32_t>(length, static_cast<int32_t>(kLooked)));
      for (int32_t e = first; e < last; ++e) {
        const auto sum = candidate(distance, weights_[e]);
        if (sum <= static_cast<SumOf<Weight>>(most)) lower(indices_[e], static_cast<Weight>(sum));
      }
    }
    for (int32_t e = begin; e < end; ++e) {
      if (kept[e] != 0 && exceeds(weights_[e], bound_of(indices_[e]), kError, far)) kept[e] = 0;
    }
    for (Label* const label : used_) label->vertex = -1;
    used_.clear();
    heap_.clear();
  }

 private:
  // Several times the relative error of a sum over kSettled edges.
  static constexpr double kError =
      8 * (kSettled + 4) * static_cast<double>(std::numeric_limits<Weight>::epsilon());
  struct Label {
    int32_t vertex = -1;
    Weight distance;
  };
  struct Entry {
    Weight distance;
    int32_t vertex;
    bool operator<(const Entry& other) const { return distance > other.distance; }
  };

  // Returns the least length of the paths found to a neighbour of the source. A search seldom finds
  // it in the long row of a hub, but the hub in its own row.
  SumOf<Weight> bound_of(int32_t vertex) {
    auto bound = static_cast<SumOf<Weight>>(find(vertex).distance);
    if (!both_ways_) return bound;
    const int32_t first = indptr_[vertex], length = indptr_[vertex + 1] - first;
    const int32_t last = first + std::min<int32_t>(length, static_cast<int32_t>(kLooked));
    for (int32_t e = first; e < last; ++e) {
      const Label& label = find(indices_[e]);
      if (label.vertex >= 0) bound = std::min(bound, candidate(label.distance, weights_[e]));
    }
    return bound;
  }

  // Returns the label of a vertex, or a free one for it.
  Label& find(int32_t vertex) {
    std::size_t slot = (static_cast<uint32_t>(vertex) * 2654435769u) >> (32 - kSlotBits);
    while (slots_[slot].vertex != vertex && slots_[slot].vertex >= 0) slot = (slot + 1) % kSlots;
    return slots_[slot];
  }
  void lower(int32_t vertex, Weight distance) {
    Label& label = find(vertex);
    if (label.vertex < 0) {
      if (used_.size() == kLabels) return;  // the first row, of at most kLongRow edges, has room
      label.vertex = vertex;
      used_.push_back(&label);
    } else if (!(distance < label.distance)) {
      return;
    }
    label.distance = distance;
    heap_.push_back({distance, vertex});
    std::push_heap(heap_.begin(), heap_.end());
  }

  const int32_t *indptr_, *indices_;
  const Weight* weights_;
  const bool both_ways_;
  std::vector<Label> slots_;
  std::vector<Label*> used_;
  std::vector<Entry> heap_;
};

// Calls work(u) for every row, on several workers.
template <class Work>
void each_row(int64_t n, const int32_t* indptr, int threads, const Work& work) {
  spread_blocks(n, kRows, threads, [&](const auto& each_block, Interrupt& interrupt) {
    each_block([&](int64_t first, int64_t last) {
      for (int64_t u = first; u < last; ++u) work(u);
      interrupt.poll(static_cast<uint64_t>(indptr[last] - indptr[first]));
    });
  });
}

// Clears kept[e] of edges longer than the path over a pivot. `to`, `from`: distances from each
// vertex to the pivot and from it. For floats, `reach`: the greatest length of a path to each
// vertex; `error`: relative error of sums along a path over the pivot, and of as many more edges.
void drop_by_pivot(const Ints& indptr, const Ints& indices, const ConstArray& weights,
                   const ConstArray& to, const ConstArray& from, const std::optional<Reach>& reach,
                   double error, const Array& kept, int threads) {
  with_weight_type(weights.dtype(), [&](auto tag) {
    using Weight = decltype(tag);
    const std::size_t n = indptr.size() - 1;
    const double* const far = checked_reach<Weight>(reach, n);
    if (weights.size() != indices.size() || to.size() != n || from.size() != n ||
        to.dtype() != weights.dtype() || from.dtype() != weights.dtype())
      throw nb::value_error("one weight per edge, and two distances of its type per vertex");
    const auto values = [](const ConstArray& array) {
      return static_cast<const Weight*>(array.data());
    };
    const Weight *const into = values(to), *const out = values(from), *const w = values(weights);
    const int32_t *const first = indptr.data(), *const heads = indices.data();
    auto* const keep = checked<uint8_t>(kept, indices.size(), "kept");
    const nb::gil_scoped_release release;
    each_row(static_cast<int64_t>(n), first, threads, [&](int64_t u) {
      if (into[u] == unreached<Weight>()) return;
      for (int32_t e = first[u]; e < first[u + 1]; ++e) {
        const auto bound = candidate(into[u], out[heads[e]]);
        if (exceeds(w[e], bound, error, far == nullptr ? 0 : far[u])) keep[e] = 0;
      }
    });
  });
}

// Clears kept[e] of edges longer than a path that a short search from their tail finds, for the
// given tails or all. `reach`: the greatest length of a path to each vertex, for floats.
void drop_by_searches(const Ints& indptr, const Ints& indices, const ConstArray& weights,
                      const std::optional<Reach>& reach, const std::optional<Ints>& tails,
                      bool both_ways, const Array& kept, int threads) {
  with_weight_type(weights.dtype(), [&](auto tag) {
    using Weight = decltype(tag);
    const std::size_t n = indptr.size() - 1, m = indices.size();
    const double* const far = checked_reach<Weight>(reach, n);
    if (weights.size() != m) throw nb::value_error("one weight per edge");
    auto* const keep = checked<uint8_t>(kept, m, "kept");
    const auto count = static_cast<int64_t>(tails ? tails->size() : n);
    const nb::gil_scoped_release release;
    spread_blocks(count, kSearches, threads, [&](const auto& each_block, Interrupt& interrupt) {
      ShortSearch<Weight> search(indptr.data(), indices.data(),
                                 static_cast<const Weight*>(weights.data()), both_ways);
      each_block([&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const int32_t u = tails ? tails->data()[i] : static_cast<int32_t>(i);
          search.from(u, far == nullptr ? 0 : far[u], keep);
        }
        interrupt.poll(static_cast<uint64_t>(last - first) * kSettled * 8);
      });
    });
  });
}

// Writes how many edges each row keeps.
void kept_per_row(const Ints& indptr, const ConstArray& kept, const Array& sizes, int threads) {
  const std::size_t n = indptr.size() - 1;
  if (kept.size() != static_cast<std::size_t>(indptr.data()[n]))
    throw nb::value_error("one mark per edge");
  const auto* const keep = static_cast<const uint8_t*>(kept.data());
  auto* const left = checked<int32_t>(sizes, n, "sizes");
  const int32_t* const first = indptr.data();
  const nb::gil_scoped_release release;
  each_row(static_cast<int64_t>(n), first, threads, [&](int64_t u) {
    left[u] = std::accumulate(keep + first[u], keep + first[u + 1], int32_t{0});
  });
}

// Writes the rows without the edges that are not kept; out_indptr must hold their starts.
void keep_edges(const Ints& indptr, const Ints& indices, const ConstArray& weights,
                const ConstArray& kept, const Ints& out_indptr, const Array& out_indices,
                const Array& out_weights, int threads) {
  with_weight_type(weights.dtype(), [&](auto tag) {
    using Weight = decltype(tag);
    const auto n = static_cast<int64_t>(indptr.size()) - 1;
    const auto left = static_cast<std::size_t>(out_indptr.data()[n]);
    if (kept.size() != indices.size() || out_indptr.size() != indptr.size())
      throw nb::value_error("keep_edges: sizes differ");
    const auto* const keep = static_cast<const uint8_t*>(kept.data());
    const auto* const from_weights = static_cast<const Weight*>(weights.data());
    auto* const heads = checked<int32_t>(out_indices, left, "indices");
    auto* const to_weights = checked<Weight>(out_weights, left, "weights");
    const nb::gil_scoped_release release;
    each_row(n, indptr.data(), threads, [&](int64_t u) {
      int32_t at = out_indptr.data()[u];
      for (int32_t e = indptr.data()[u]; e < indptr.data()[u + 1]; ++e) {
        if (keep[e] == 0) continue;
        heads[at] = indices.data()[e];
        to_weights[at++] = from_weights[e];
      }
    });
  });
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("drop_by_pivot", &drop_by_pivot, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("to"), nb::arg("from_"), nb::arg("reach").none(), nb::arg("error"), nb::arg("kept"),
        nb::arg("threads"));
  m.def("kept_per_row", &kept_per_row, nb::arg("indptr"), nb::arg("kept"), nb::arg("sizes"),
        nb::arg("threads"));
  m.def("drop_by_searches", &drop_by_searches, nb::arg("indptr"), nb::arg("indices"),
        nb::arg("weights"), nb::arg("reach").none(), nb::arg("tails").none(), nb::arg("both_ways"),
        nb::arg("kept"), nb::arg("threads"));
  m.def("keep_edges", &keep_edges, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("kept"), nb::arg("out_indptr"), nb::arg("out_indices"), nb::arg("out_weights"),
        nb::arg("threads"));
}

}  // namespace nearfar::backbone
