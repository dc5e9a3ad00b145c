// Edges that are longer than another path between their ends, and graphs without them.
//
// No shortest path contains such an edge, so that distances are the same without it. What is left
// if all of them are removed is the metric backbone [1]. An upper bound on the distance between the
// ends finds most: the path over a pivot, a vertex whose distances from and to all others are
// known. In graphs with hubs or widely spread weights a path over a hub is often shorter than the
// edge.
//
// Floats. Sums are rounded after each edge, from the source on, and a sum over the edge must not be
// the lesser one. Let a path of h edges be shorter by more than about h * eps * (D + w), where D is
// the distance of the edge's tail from the source and w the weight. Then its sum is less, however
// it is rounded. The margin here is several times that, for the greatest D.
//
// [1] Tiago Simas, Rion Brattig Correia and Luis M. Rocha. "The distance backbone of complex
//     networks." Journal of Complex Networks, 9(6), 2021.
#include <cstdint>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/search/arithmetic.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::backbone {
namespace {

constexpr int64_t kRows = 1 << 11;  // vertices that a worker processes at a time

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

// Clears kept[e] of edges longer than the path over a pivot, and writes how many each row keeps.
// `to`, `from`: distances from each vertex to the pivot and from it. `far`: the greatest finite one
// of `to`. `error`: relative error of sums along such a path, and of as many more edges.
void drop_by_pivot(const Ints& indptr, const Ints& indices, const ConstArray& weights,
                   const ConstArray& to, const ConstArray& from, double error, double far,
                   const Array& kept, const Array& sizes, int threads) {
  with_weight_type(weights.dtype(), [&](auto tag) {
    using Weight = decltype(tag);
    const std::size_t n = indptr.size() - 1, m = indices.size();
    if (weights.size() != m || to.size() != n || from.size() != n ||
        to.dtype() != weights.dtype() || from.dtype() != weights.dtype())
      throw nb::value_error("one weight per edge, and two distances of its type per vertex");
    const auto values = [](const ConstArray& array) {
      return static_cast<const Weight*>(array.data());
    };
    const Weight *const into = values(to), *const out = values(from), *const w = values(weights);
    const int32_t *const first = indptr.data(), *const heads = indices.data();
    auto* const keep = checked<uint8_t>(kept, m, "kept");
    auto* const left = checked<int32_t>(sizes, n, "sizes");
    const nb::gil_scoped_release release;
    each_row(static_cast<int64_t>(n), first, threads, [&](int64_t u) {
      int32_t count = first[u + 1] - first[u];
      if (into[u] != unreached<Weight>()) {
        const double farthest = far + static_cast<double>(out[u]);  // no path to u is longer
        for (int32_t e = first[u]; e < first[u + 1]; ++e) {
          const auto bound = candidate(into[u], out[heads[e]]);
          const bool longer = exceeds(w[e], bound, error, farthest);
          keep[e] = !longer;
          count -= longer;
        }
      }
      left[u] = count;
    });
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
        nb::arg("to"), nb::arg("from_"), nb::arg("error"), nb::arg("far"), nb::arg("kept"),
        nb::arg("sizes"), nb::arg("threads"));
  m.def("keep_edges", &keep_edges, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("kept"), nb::arg("out_indptr"), nb::arg("out_indices"), nb::arg("out_weights"),
        nb::arg("threads"));
}

}  // namespace nearfar::backbone
