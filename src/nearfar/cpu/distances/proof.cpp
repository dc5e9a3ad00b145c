// Operations on finished distances: summary, masks, predecessors by the tight-edge rule, and the
// proof that an answer is correct. All take O(n + m), whatever solver found the distances.
//
// An edge (u, v) is tight when d[u] + w = d[v]. Predecessor rule, the same on every device:
//   1. a reached vertex with a tight edge from a strictly nearer vertex takes the smallest such id;
//   2. the others reach their distance only through edges that add nothing (weight zero, or one
//      that a float sum absorbs): they are taken in breadth-first levels from the vertices of 1,
//      each with the smallest id of the previous level. This excludes cycles of predecessors, which
//      a plain "any tight edge" rule would allow.
// With negative edges "nearer" is not an order, and rule 2 applies to all vertices, from the
// source.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <variant>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/distances/tight_edges.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

// A limit given by Python, an integer for integer distances; none is "unreached", which nothing
// exceeds.
using Limit = std::optional<std::variant<int64_t, double>>;

template <class W>
W bound_of(const Limit& limit) {
  if (!limit) return unreached<W>();
  if constexpr (std::is_floating_point_v<W>) {
    return limit_as<W>(std::visit([](auto value) { return static_cast<double>(value); }, *limit));
  } else {
    const int64_t* const exact = std::get_if<int64_t>(&*limit);
    if (exact == nullptr) throw nb::type_error("limit: give an integer for integer distances");
    return *exact >= static_cast<int64_t>(unreached<W>()) ? unreached<W>() : static_cast<W>(*exact);
  }
}

// Conditions of the proof; nearfar.answer.proof has the sentence for each.
enum class Flaw {
  source_distance,
  impossible_distance,
  beyond_limit,
  missed,
  not_shortest,
  source_predecessor,
  overflow,
  no_vertex,
  no_predecessor,
  unreached_predecessor,
  not_tight,
  circle,
};

void predecessors(const GraphView& view, int64_t source, ConstArray distances, bool any_sign,
                  Array out, int threads) {
  nb::gil_scoped_release release;
  view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    const auto* const d = static_cast<const typename C::Weight*>(distances.data());
    const TightEdges<C> tight(csr, d, threads);
    tight.predecessors(static_cast<Index>(source), any_sign, static_cast<Index*>(out.data()));
  });
}

template <class W>
bool below_range(W d) {
  if constexpr (std::is_floating_point_v<W>)
    return d < std::numeric_limits<W>::lowest();
  else
    return false;
}

// Whether a sum is below the range of its type, so that no distance can represent it.
template <class W>
bool leaves_range(W d, W w) {
  if constexpr (std::is_floating_point_v<W>) {
    return below_range(d + w);
  } else {
    W sum;
    return w < 0 && __builtin_add_overflow(d, w, &sum);
  }
}

// Returns the first violated condition with its edge (u, v) or vertex v, or none if all hold.
std::tuple<std::optional<Flaw>, int64_t, int64_t> verify(const GraphView& view, int64_t source,
                                                         ConstArray distances,
                                                         std::optional<ConstArray> preds,
                                                         bool any_sign, Limit limit) {
  std::optional<Flaw> found;
  int64_t at_u = -1, at_v = -1;
  view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using W = typename C::Weight;
    const W bound = bound_of<W>(limit);
    nb::gil_scoped_release release;
    const W* d = static_cast<const W*>(distances.data());
    auto fail = [&](Flaw flaw, int64_t u, int64_t v) { found = flaw, at_u = u, at_v = v; };
    const Index s = static_cast<Index>(source);
    if (d[s] != W{0}) return fail(Flaw::source_distance, s, s);
    for (Index u = 0; u < csr.n; ++u) {
      if (d[u] != d[u] || (!any_sign && d[u] < 0) || below_range(d[u]))
        return fail(Flaw::impossible_distance, u, u);
      if (d[u] == unreached<W>()) continue;
      if (d[u] > bound) return fail(Flaw::beyond_limit, u, u);
      for (int64_t e = csr.indptr[u]; e < csr.indptr[u + 1]; ++e) {
        const Index v = csr.indices[e];
        const W sum = saturating_add(d[u], csr.weights[e]);
        if (leaves_range(d[u], csr.weights[e])) return fail(Flaw::overflow, u, v);
        if (sum < d[v] && !(sum > bound))
          return fail(d[v] == unreached<W>() ? Flaw::missed : Flaw::not_shortest, u, v);
        // A saturated sum at an unreached vertex means a finite distance that overflows.
        if (sum == unreached<W>() && d[v] == sum && bound == sum) return fail(Flaw::overflow, u, v);
      }
    }
    std::vector<Index> own;
    const Index* p = preds ? static_cast<const Index*>(preds->data()) : nullptr;
    if (!p) {
      own.resize(static_cast<std::size_t>(csr.n));
      TightEdges<C>(csr, d).predecessors(s, any_sign, own.data());
      p = own.data();
    }
    if (p[s] != -1) return fail(Flaw::source_predecessor, p[s], s);
    for (Index v = 0; v < csr.n; ++v) {
      const bool reached = d[v] != unreached<W>();
      if (p[v] < -1 || p[v] >= csr.n) return fail(Flaw::no_vertex, p[v], v);
      if (v != s && reached != (p[v] >= 0))
        return fail(reached ? Flaw::no_predecessor : Flaw::unreached_predecessor, p[v], v);
      if (p[v] >= 0 && d[p[v]] == unreached<W>()) return fail(Flaw::unreached_predecessor, p[v], v);
    }
    std::vector<bool> tight(static_cast<std::size_t>(csr.n), false);
    for (Index u = 0; u < csr.n; ++u) {
      if (d[u] == unreached<W>()) continue;
      for (int64_t e = csr.indptr[u]; e < csr.indptr[u + 1]; ++e) {
        const Index v = csr.indices[e];
        if (p[v] == u && saturating_add(d[u], csr.weights[e]) == d[v]) tight[v] = true;
      }
    }
    for (Index v = 0; v < csr.n; ++v)
      if (p[v] >= 0 && !tight[v]) return fail(Flaw::not_tight, p[v], v);
    // Tree: follow predecessors from every vertex; reaching the same walk again means a cycle.
    std::vector<Index> trail_of(static_cast<std::size_t>(csr.n), Index{-1});
    for (Index v = 0; v < csr.n; ++v) {
      if (p[v] < 0) continue;
      Index u = v;
      while (u != s && trail_of[u] < 0) trail_of[u] = v, u = p[u];
      if (u != s && trail_of[u] == v) return fail(Flaw::circle, u, v);
    }
  });
  return {found, at_u, at_v};
}

// The number of reached vertices and the farthest of them; -1 if none is reached.
struct Summary {
  int64_t reached = 0, farthest = -1;
};

template <class W>
Summary summary_of(const W* d, int64_t n) {
  constexpr int64_t kLanes = sizeof(W) == 4 ? 32 : 1;  // wider gives nothing with 64 bits in SSE2
  constexpr W kNone = std::numeric_limits<W>::lowest();
  W top[kLanes];
  BitsOf<W> missing[kLanes] = {};
  std::fill_n(top, kLanes, kNone);
  const auto note = [&](int64_t lane, W distance) {
    const bool out = distance == unreached<W>();
    const W known = out ? kNone : distance;
    missing[lane] += out;
    top[lane] = known > top[lane] ? known : top[lane];
  };
  int64_t v = 0;
  for (; v + kLanes <= n; v += kLanes)
    for (int64_t i = 0; i < kLanes; ++i) note(i, d[v + i]);
  for (; v < n; ++v) note(0, d[v]);
  Summary found;
  found.reached = n;
  for (const BitsOf<W> count : missing) found.reached -= static_cast<int64_t>(count);
  if (found.reached == 0) return found;
  const W most = *std::max_element(top, top + kLanes);
  for (v = 0; v + kLanes <= n; v += kLanes) {
    bool here = false;
    for (int64_t i = 0; i < kLanes; ++i) here |= d[v + i] == most;
    if (here) break;
  }
  found.farthest = std::find(d + v, d + n, most) - d;
  return found;
}

std::tuple<int64_t, int64_t> distance_summary(ConstArray distances) {
  Summary found;
  with_weight_type(distances.dtype(), [&](auto tag) {
    nb::gil_scoped_release release;
    using W = decltype(tag);
    const auto n = static_cast<int64_t>(distances.size());
    found = summary_of(static_cast<const W*>(distances.data()), n);
  });
  return {found.reached, found.farthest};
}

using Rows = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The same for each row.
std::tuple<Owned<int64_t>, Owned<int64_t>> row_summaries(Rows rows, int threads) {
  const std::size_t k = rows.shape(0), n = rows.shape(1);
  std::vector<int64_t> reached(k), farthest(k);
  with_weight_type(rows.dtype(), [&](auto tag) {
    nb::gil_scoped_release release;
    using W = decltype(tag);
    const W* first = static_cast<const W*>(rows.data());
    spread(static_cast<int64_t>(k), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      for (int64_t row; (row = counter.take()) >= 0;) {
        interrupt.poll(n);
        const auto i = static_cast<std::size_t>(row);
        const Summary found = summary_of(first + i * n, static_cast<int64_t>(n));
        reached[i] = found.reached, farthest[i] = found.farthest;
      }
    });
  });
  return {as_numpy(std::move(reached)), as_numpy(std::move(farthest))};
}

// Marks distances above the bound as unreached, 16 bytes at a time: at -O2 compilers do not.
template <class W>
void mask_run(W* at, W* end, W bound) {
  typedef W Lanes __attribute__((vector_size(16), aligned(alignof(W)), may_alias));
  constexpr int64_t kLanes = 16 / sizeof(W);
  const Lanes most = bound - Lanes{}, none = unreached<W>() - Lanes{};
  for (; end - at >= kLanes; at += kLanes) {
    auto& some = *reinterpret_cast<Lanes*>(at);
    some = some > most ? none : some;
  }
  for (; at < end; ++at) *at = *at > bound ? unreached<W>() : *at;
}

// Marks every distance above the bound as unreached.
void mask_above(Array distances, Limit limit, int threads) {
  with_weight_type(distances.dtype(), [&](auto tag) {
    using W = decltype(tag);
    const W bound = bound_of<W>(limit);
    nb::gil_scoped_release release;
    W* d = static_cast<W*>(distances.data());
    constexpr int64_t kShare = int64_t{1} << 18;
    spread_blocks(static_cast<int64_t>(distances.size()), kShare, threads,
                  [&](const auto& each_block, Interrupt& interrupt) {
                    each_block([&, d, bound](int64_t first, int64_t last) {
                      interrupt.poll(kShare);
                      mask_run(d + first, d + last, bound);
                    });
                  });
  });
}

template <class T>
using Four __attribute__((vector_size(4 * sizeof(T)))) = T;

// Converts four distances; `from` and `to` are memory of both types. The compiler would not do so.
template <class From, class To>
NEARFAR_INLINE void widen_four(const From* from, To* to) {
  using Mask = std::conditional_t<sizeof(To) == 4, int32_t, int64_t>;
  Four<From> given;
  std::memcpy(&given, from, sizeof given);
  const auto gone = __builtin_convertvector(given == unreached<From>(), Four<Mask>);
  const auto value = (Four<Mask>)__builtin_convertvector(given, Four<To>);
  const Four<Mask> found = (value & ~gone) | (std::bit_cast<Mask>(unreached<To>()) & gone);
  std::memcpy(to, &found, sizeof found);
}

// Converts distances. If `from` is the second half of the memory of `to`, half of the rest is
// converted at a time, which writes nothing that is still to be read, and the last few one by one.
template <class From, class To>
void widen(const From* from, To* to, int64_t count, int threads) {
  constexpr int64_t kShare = int64_t{1} << 15, kFew = 64;
  const bool inside = sizeof(From) < sizeof(To) &&
                      static_cast<const void*>(from) < static_cast<const void*>(to + count) &&
                      static_cast<const void*>(to) < static_cast<const void*>(from + count);
  int64_t begin = 0;
  while (count - begin >= 4 && !(inside && count - begin <= kFew)) {
    const int64_t fours = (inside ? (count - begin) / 2 : count - begin) / 4;
    spread_blocks(fours, kShare / 4, threads, [&](const auto& each_block, Interrupt& interrupt) {
      each_block([&](int64_t first, int64_t last) {
        interrupt.poll(kShare);
        for (int64_t v = begin + 4 * first; v < begin + 4 * last; v += 4)
          widen_four(from + v, to + v);
      });
    });
    begin += 4 * fours;
  }
  for (; begin < count; ++begin) {
    From given;
    std::memcpy(&given, from + begin, sizeof given);
    const To value = given == unreached<From>() ? unreached<To>() : static_cast<To>(given);
    std::memcpy(to + begin, &value, sizeof value);
  }
}

// Converts 32-bit distances; `out` may be memory of which `distances` is the second half.
void widened(ConstArray distances, Array out, int threads) {
  const auto count = static_cast<int64_t>(out.size());
  if (distances.size() != out.size()) throw std::invalid_argument("widened: sizes differ");
  with_weight_type(distances.dtype(), [&](auto from) {
    with_weight_type(out.dtype(), [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      constexpr bool whole = std::is_integral_v<From>;
      if constexpr (sizeof(From) == 4 && !std::is_same_v<From, To> &&
                    (whole || std::is_floating_point_v<To>)) {
        nb::gil_scoped_release release;
        widen(static_cast<const From*>(distances.data()), static_cast<To*>(out.data()), count,
              threads);
      } else {
        throw std::invalid_argument("widened: from 32 bits to another dtype");
      }
    });
  });
}

// Returns the first edge whose finite sum equals or exceeds "unreached" while its head is
// unreached: the run may have lost a distance to saturation. -1 if there is none.
int64_t first_saturated_edge(const GraphView& view, ConstArray distances) {
  nb::gil_scoped_release release;
  return view.visit([&](const auto& csr) -> int64_t {
    using C = std::decay_t<decltype(csr)>;
    using W = typename C::Weight;
    const W* d = static_cast<const W*>(distances.data());
    for (Index u = 0; u < csr.n; ++u) {
      if (d[u] == unreached<W>()) continue;
      for (auto e = csr.indptr[u]; e < csr.indptr[u + 1]; ++e)
        if (d[csr.indices[e]] == unreached<W>() &&
            saturating_add(d[u], csr.weights[e]) == unreached<W>())
          return e;
    }
    return -1;
  });
}

}  // namespace

NEARFAR_BIND(m) {
  nb::enum_<Flaw>(m, "Flaw")
      .value("source_distance", Flaw::source_distance)
      .value("impossible_distance", Flaw::impossible_distance)
      .value("beyond_limit", Flaw::beyond_limit)
      .value("missed", Flaw::missed)
      .value("not_shortest", Flaw::not_shortest)
      .value("source_predecessor", Flaw::source_predecessor)
      .value("overflow", Flaw::overflow)
      .value("no_vertex", Flaw::no_vertex)
      .value("no_predecessor", Flaw::no_predecessor)
      .value("unreached_predecessor", Flaw::unreached_predecessor)
      .value("not_tight", Flaw::not_tight)
      .value("circle", Flaw::circle);
  m.def("predecessors", &predecessors, nb::arg("view"), nb::arg("source"), nb::arg("distances"),
        nb::arg("any_sign"), nb::arg("out"), nb::arg("threads") = 1);
  m.def("verify", &verify, nb::arg("view"), nb::arg("source"), nb::arg("distances"),
        nb::arg("predecessors").none(), nb::arg("any_sign"), nb::arg("limit").none());
  m.def("distance_summary", &distance_summary, nb::arg("distances"));
  m.def("row_summaries", &row_summaries, nb::arg("rows"), nb::arg("threads"));
  m.def("mask_above", &mask_above, nb::arg("distances"), nb::arg("limit").none(),
        nb::arg("threads") = 1);
  m.def("widened", &widened, nb::arg("distances"), nb::arg("out"), nb::arg("threads") = 1);
  m.def("first_saturated_edge", &first_saturated_edge, nb::arg("view"), nb::arg("distances"));
}

}  // namespace nearfar
