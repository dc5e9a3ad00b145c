// Construction and validation of a Graph: counting sort of edge lists, transposition, and the
// validating pass.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/graph/array_checks.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/ranges.hpp"

namespace nearfar {
namespace {

// Calls part(from, to) over [0, size) on the calling thread, checking for Ctrl-C in between.
template <class F>
void in_parts(std::size_t size, F&& part) {
  constexpr std::size_t kPart = 1 << 16;
  Interrupt interrupt;
  for (std::size_t from = 0; from < size; from += kPart) {
    const std::size_t to = std::min(size, from + kPart);
    part(from, to);
    interrupt.poll(to - from);
  }
}

// Threads for a pass at the speed of memory: starting one takes as long as reading half a million
// entries, or writing as many to fresh memory as a quarter of these.
int worth_starting(std::size_t size, bool copies, int threads) {
  const std::size_t most = size >> (copies ? 17 : 19);
  return static_cast<int>(
      std::clamp<std::size_t>(most, 1, static_cast<std::size_t>(std::max(1, threads))));
}

// Returns the position of the first entry that breaks 0 = indptr[0] <= indptr[1] <= ... = m, or -1.
int64_t first_bad_indptr(ConstArray indptr, int64_t m) {
  return with_index_type(indptr.dtype(), [&](auto tag) -> int64_t {
    using I = decltype(tag);
    const I* p = static_cast<const I*>(indptr.data());
    const std::size_t size = indptr.size();
    if (p[0] != 0) return 0;
    const bool falls = !NEARFAR_PICK_ISA(never_falls<I>)(p, size);
    for (std::size_t i = 1; falls && i < size; ++i)
      if (p[i] < p[i - 1]) return static_cast<int64_t>(i);
    return static_cast<int64_t>(p[size - 1]) == m ? -1 : static_cast<int64_t>(size - 1);
  });
}

// Destination of an array that is copied while it is checked; null for none.
template <class T>
T* room_for(const ConstArray& array, const std::optional<Array>& out) {
  if (!out) return nullptr;
  if (out->dtype() != array.dtype() || out->size() != array.size())
    throw nb::value_error("out: the dtype and the size of what is checked");
  return static_cast<T*>(out->data());
}

// Returns the position of the first index outside [0, n), or -1.
int64_t first_bad_index(ConstArray indices, int64_t n, int threads, std::optional<Array> out) {
  return with_index_type(indices.dtype(), [&](auto tag) -> int64_t {
    using I = decltype(tag);
    using U = std::make_unsigned_t<I>;
    I* const copy = room_for<I>(indices, out);
    const nb::gil_scoped_release release;
    const I* p = static_cast<const I*>(indices.data());
    const std::size_t size = indices.size();
    threads = worth_starting(size, copy != nullptr, threads);
    std::vector<U> largest(threads, 0);
    in_ranges(size, threads, [&](std::size_t range, std::size_t from, std::size_t to) {
      // A negative index is huge as unsigned, so one maximum checks both ends.
      U* const room = copy == nullptr ? nullptr : reinterpret_cast<U*>(copy + from);
      largest[range] =
          NEARFAR_PICK_ISA(greatest_of<U>)(reinterpret_cast<const U*>(p + from), room, to - from);
    });
    if (copy != nullptr) p = copy;
    if (size == 0 || *std::max_element(largest.begin(), largest.end()) < static_cast<U>(n))
      return -1;
    for (std::size_t i = 0;; ++i)
      if (static_cast<U>(p[i]) >= static_cast<U>(n)) return static_cast<int64_t>(i);
  });
}

template <class W>
struct WeightScan {
  std::size_t negative = 0, nonfinite = 0, zero = 0;
  bool negative_zero = false;
  W least = std::numeric_limits<W>::max(), most = std::numeric_limits<W>::lowest();
  double sum = 0;
};

// Counts the special values in a block; called only for blocks with a weight below or at zero, an
// infinity or a NaN.
template <class W>
void count_unusual(const W* w, std::size_t from, std::size_t to, WeightScan<W>& s) {
  for (std::size_t i = from; i < to; ++i) {
    s.negative += w[i] < 0;
    s.zero += w[i] == 0;
    if constexpr (std::is_floating_point_v<W>) {
      s.nonfinite += !(std::abs(w[i]) <= std::numeric_limits<W>::max());
      s.negative_zero |= w[i] == 0 && std::signbit(w[i]);
    }
  }
}

// For positive finite weights, the common case, the minimum and maximum of each block suffice.
template <class W>
WeightScan<W> scan_weights(const W* weights, W* out, std::size_t from, std::size_t to) {
  constexpr std::size_t kBlock = 4096;
  WeightScan<W> s;
  for (std::size_t begin = from; begin < to; begin += kBlock) {
    const std::size_t end = std::min(to, begin + kBlock);
    W* const room = out == nullptr ? nullptr : out + begin;
    const Extent<W> here = NEARFAR_PICK_ISA(extent_of<W>)(weights + begin, room, end - begin);
    if (!(here.least > 0) || !(here.most <= std::numeric_limits<W>::max()) || std::isnan(here.sum))
      count_unusual(out == nullptr ? weights : out, begin, end, s);
    s.least = std::min(s.least, here.least), s.most = std::max(s.most, here.most);
    s.sum += here.sum;
  }
  return s;
}

Fields weight_scan(ConstArray weights, int threads, std::optional<Array> out) {
  nb::dict found;
  with_weight_type(weights.dtype(), [&](auto tag) {
    using W = decltype(tag);
    const W* w = static_cast<const W*>(weights.data());
    W* const room = room_for<W>(weights, out);
    const std::size_t size = weights.size();
    WeightScan<W> all;
    int64_t first_negative = -1, first_nonfinite = -1;
    {
      nb::gil_scoped_release release;
      threads = worth_starting(size, room != nullptr, threads);
      std::vector<WeightScan<W>> parts(threads);
      in_ranges(size, threads, [&](std::size_t range, std::size_t from, std::size_t to) {
        parts[range] = scan_weights(w, room, from, to);
      });
      if (room != nullptr) w = room;
      for (const auto& part : parts) {
        all.negative += part.negative, all.nonfinite += part.nonfinite, all.zero += part.zero;
        all.negative_zero |= part.negative_zero, all.sum += part.sum;
        all.least = std::min(all.least, part.least), all.most = std::max(all.most, part.most);
      }
      for (std::size_t i = 0; all.nonfinite && i < size; ++i)
        if (!(std::abs(static_cast<double>(w[i])) <= std::numeric_limits<double>::max())) {
          first_nonfinite = static_cast<int64_t>(i);
          break;
        }
      for (std::size_t i = 0; all.negative && i < size; ++i)
        if (w[i] < 0) {
          first_negative = static_cast<int64_t>(i);
          break;
        }
    }
    found["n_negative"] = all.negative;
    found["n_nonfinite"] = all.nonfinite;
    found["n_zero"] = all.zero;
    found["first_negative"] = first_negative;
    found["first_nonfinite"] = first_nonfinite;
    found["negative_zero"] = all.negative_zero;
    found["min"] = size ? nb::cast(all.least) : nb::cast(W{0});
    found["max"] = size ? nb::cast(all.most) : nb::cast(W{0});
    found["mean"] = size ? all.sum / static_cast<double>(size) : 0.0;
  });
  return found;
}

// Stable counting sort of edges by source: writes row starts to indptr, and targets and weights in
// order. With `both`, each edge that is not a self-loop is entered in both directions.
template <class I, class W>
void counting_sort(const I* sources, const I* targets, const W* weights, std::size_t m, I n,
                   bool both, I* indptr, I* indices, W* out_weights) {
  std::fill(indptr, indptr + n + 1, I{0});
  in_parts(m, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      ++indptr[sources[i] + 1];
      if (both && sources[i] != targets[i]) ++indptr[targets[i] + 1];
    }
  });
  for (I v = 0; v < n; ++v) indptr[v + 1] += indptr[v];
  std::vector<I> next(indptr, indptr + n);
  constexpr std::size_t ahead = 24;
  in_parts(m, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (i + ahead < m) __builtin_prefetch(&next[sources[i + ahead]], 1);
      const I at = next[sources[i]]++;
      indices[at] = targets[i];
      if (weights) out_weights[at] = weights[i];
      if (both && sources[i] != targets[i]) {
        const I back = next[targets[i]]++;
        indices[back] = sources[i];
        if (weights) out_weights[back] = weights[i];
      }
    }
  });
}

void csr_from_edges(ConstArray sources, ConstArray targets, std::optional<ConstArray> weights,
                    int64_t n, bool both, Array indptr, Array indices,
                    std::optional<Array> out_weights) {
  nb::gil_scoped_release release;
  const std::size_t m = sources.size();
  with_index_type(sources.dtype(), [&](auto index) {
    using I = decltype(index);
    const I* s = static_cast<const I*>(sources.data());
    const I* t = static_cast<const I*>(targets.data());
    I* rows = static_cast<I*>(indptr.data());
    I* columns = static_cast<I*>(indices.data());
    if (!weights) {
      counting_sort<I, int32_t>(s, t, nullptr, m, static_cast<I>(n), both, rows, columns, nullptr);
      return;
    }
    with_weight_type(weights->dtype(), [&](auto weight) {
      using W = decltype(weight);
      counting_sort<I, W>(s, t, static_cast<const W*>(weights->data()), m, static_cast<I>(n), both,
                          rows, columns, static_cast<W*>(out_weights->data()));
    });
  });
}

// Reverses all edges: row v of the result lists the predecessors of v in ascending order.
void transpose(const GraphView& view, Array indptr, Array indices, std::optional<Array> weights) {
  nb::gil_scoped_release release;
  view.visit([&](const auto& csr) {
    using W = typename std::decay_t<decltype(csr)>::Weight;
    W* out = weights ? static_cast<W*>(weights->data()) : nullptr;
    with_index_type(indptr.dtype(), [&](auto tag) {
      using I = decltype(tag);
      I* rows = static_cast<I*>(indptr.data());
      I* columns = static_cast<I*>(indices.data());
      std::fill(rows, rows + csr.n + 1, I{0});
      in_parts(static_cast<std::size_t>(csr.m), [&](std::size_t from, std::size_t to) {
        for (std::size_t e = from; e < to; ++e) ++rows[csr.indices[e] + 1];
      });
      for (Index v = 0; v < csr.n; ++v) rows[v + 1] += rows[v];
      std::vector<I> next(rows, rows + csr.n);
      Interrupt interrupt;
      for (Index u = 0; u < csr.n; ++u) {
        interrupt.poll(static_cast<uint64_t>(csr.indptr[u + 1] - csr.indptr[u]) + 1);
        for (int64_t e = csr.indptr[u]; e < csr.indptr[u + 1]; ++e) {
          const I at = next[csr.indices[e]]++;
          columns[at] = static_cast<I>(u);
          if (out) out[at] = csr.weights[e];
        }
      }
    });
  });
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("first_bad_indptr", &first_bad_indptr, nb::arg("indptr"), nb::arg("m"));
  m.def("first_bad_index", &first_bad_index, nb::arg("indices"), nb::arg("n"),
        nb::arg("threads") = 1, nb::arg("out").none() = nb::none());
  m.def("weight_scan", &weight_scan, nb::arg("weights"), nb::arg("threads") = 1,
        nb::arg("out").none() = nb::none());
  m.def("csr_from_edges", &csr_from_edges, nb::arg("sources"), nb::arg("targets"),
        nb::arg("weights").none(), nb::arg("n"), nb::arg("both"), nb::arg("indptr"),
        nb::arg("indices"), nb::arg("out_weights").none());
  m.def("transpose", &transpose, nb::arg("view"), nb::arg("indptr"), nb::arg("indices"),
        nb::arg("weights").none());
}

}  // namespace nearfar
