// New numbers for vertices, so that neighbours are close in memory.
//
// A search touches the distances of neighbours, one cache line each if their numbers are far apart,
// as those of random points are. The order consists of balls: a breadth-first search collects up to
// kBall vertices that have no number yet, and the next ball begins next to the oldest one with free
// neighbours. So most edges of a mesh or a road network stay within a ball, whose distances and
// edges fit a core's caches, and consecutive balls are close to each other. Random graphs gain
// little, whatever the order.
#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/buffer.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

constexpr std::size_t kBall = 2048;  // vertices
constexpr std::size_t kAhead = 8;    // vertices whose rows are fetched ahead
constexpr int64_t kRows = 1 << 13;   // vertices that a worker processes at a time

// Fills `order` with all vertices, neighbours close together; O(n + m).
void compact_order(const Ints& indptr, const Ints& indices, const Array& out) {
  const std::size_t n = indptr.size() - 1;
  int32_t* const order = checked<int32_t>(out, n, "order");
  nb::gil_scoped_release release;
  Interrupt interrupt;
  const int32_t *const first = indptr.data(), *const heads = indices.data();
  std::vector<uint8_t> numbered(n, 0);
  struct Row {  // heads of which the earlier ones are numbered
    const int32_t *begin, *end;
  };
  Buffer<Row> border;  // rows with free heads, oldest first
  std::size_t size = 0, oldest = 0, scanned = 0;
  const auto fetch = [&](std::size_t i) {
    if (i + 2 * kAhead < size) prefetch(first + order[i + 2 * kAhead]);
    if (i + kAhead < size) prefetch(heads + first[order[i + kAhead]]);
  };
  const auto is_free = [&](int32_t v) { return numbered[v] == 0; };
  while (size < n) {
    int32_t seed = -1;
    while (seed < 0 && oldest < border.size) {
      Row& row = border.data[oldest];
      row.begin = std::find_if(row.begin, row.end, is_free);
      if (row.begin == row.end)
        ++oldest;
      else
        seed = *row.begin;
    }
    if (seed < 0) {
      while (numbered[scanned] != 0) ++scanned;
      seed = static_cast<int32_t>(scanned);
    }
    const std::size_t begin = size, end = std::min(n, begin + kBall);
    order[size++] = seed;
    numbered[seed] = 1;
    std::size_t at = begin;
    for (; at < size && size < end; ++at) {
      fetch(at);
      const int32_t v = order[at];
      for (int32_t e = first[v]; e < first[v + 1] && size < end; ++e) {
        const int32_t to = heads[e];
        if (numbered[to] != 0) continue;
        numbered[to] = 1;
        order[size++] = to;
      }
    }
    for (at -= at > begin; at < size; ++at) {
      fetch(at);
      const int32_t *const row = heads + first[order[at]], *const stop =
                                                               heads + first[order[at] + 1];
      const int32_t* const free = std::find_if(row, stop, is_free);
      if (free != stop) border.push({free, stop});
    }
    interrupt.poll(16 * (size - begin));
  }
}

// Writes the rows of the vertices of `order`, with the numbers in `place` as heads.
void renumber_rows(const Ints& indptr, const Ints& indices,
                   const std::optional<ConstArray>& weights, const Ints& order, const Ints& place,
                   const Array& out_indptr, const Array& out_indices,
                   const std::optional<Array>& out_weights, int threads) {
  const std::size_t n = indptr.size() - 1, m = indices.size();
  if (order.size() != n || place.size() != n || weights.has_value() != out_weights.has_value())
    throw nb::value_error("renumber_rows: sizes differ");
  const auto *const first = indptr.data(), *const heads = indices.data();
  auto* const starts = checked<int32_t>(out_indptr, n + 1, "indptr");
  auto* const to = checked<int32_t>(out_indices, m, "indices");
  const char* from_weights = nullptr;
  char* to_weights = nullptr;
  std::size_t width = 0;
  if (weights) {
    check_array(*out_weights, weights->dtype(), m, "weights");
    from_weights = static_cast<const char*>(weights->data());
    to_weights = static_cast<char*>(out_weights->data());
    width = weights->itemsize();
  }
  const int32_t *const old = order.data(), *const now = place.data();
  nb::gil_scoped_release release;
  starts[0] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) prefetch(first + old[i + kAhead]);
    starts[i + 1] = starts[i] + first[old[i] + 1] - first[old[i]];
  }
  const auto end = static_cast<int64_t>(n);
  spread_blocks(end, kRows, threads, [&](const auto& each_block, Interrupt& interrupt) {
    each_block([&](int64_t begin, int64_t stop) {
      interrupt.poll(static_cast<uint64_t>(starts[stop] - starts[begin]));
      for (int64_t i = begin; i < stop; ++i) {
        if (i + static_cast<int64_t>(kAhead) < end) {
          const int32_t row = first[old[i + static_cast<int64_t>(kAhead)]];
          prefetch(heads + row);
          if (width != 0) prefetch(from_weights + width * static_cast<std::size_t>(row));
        }
        const int32_t row = first[old[i]], count = starts[i + 1] - starts[i];
        for (int32_t e = 0; e < count; ++e) to[starts[i] + e] = now[heads[row + e]];
        if (width != 0)
          std::memcpy(to_weights + width * static_cast<std::size_t>(starts[i]),
                      from_weights + width * static_cast<std::size_t>(row),
                      width * static_cast<std::size_t>(count));
      }
    });
  });
}

template <class T>
void gather(const T* values, const int32_t* places, T* out, int64_t count, int threads) {
  constexpr int64_t kShare = int64_t{1} << 15;
  spread_blocks(count, kShare, threads, [&](const auto& each_block, Interrupt& interrupt) {
    each_block([&](int64_t first, int64_t last) {
      interrupt.poll(static_cast<uint64_t>(last - first));
      for (int64_t i = first; i < last; ++i) out[i] = values[places[i]];
    });
  });
}

template <class T>
void gather_rows(T* rows, const int32_t* places, int64_t count, int64_t width, int threads) {
  spread_blocks(count, 1, threads, [&](const auto& each_block, Interrupt& interrupt) {
    std::vector<T> before(static_cast<std::size_t>(width));
    each_block([&](int64_t row, int64_t) {
      interrupt.poll(static_cast<uint64_t>(width));
      T* const values = rows + row * width;
      std::copy_n(values, width, before.data());
      for (int64_t i = 0; i < width; ++i) values[i] = before[static_cast<std::size_t>(places[i])];
    });
  });
}

// Calls f with a tag of the values' size.
template <class F>
void with_size(std::size_t bytes, F&& f) {
  if (bytes == 4) return f(uint32_t{});
  f(uint64_t{});
}

// Writes values[places[i]] to out[i].
void gathered(const ConstArray& values, const Ints& places, const Array& out, int threads) {
  check_array(out, values.dtype(), places.size(), "out");
  const nb::gil_scoped_release release;
  with_size(values.itemsize(), [&](auto tag) {
    using T = decltype(tag);
    gather(static_cast<const T*>(values.data()), places.data(), static_cast<T*>(out.data()),
           static_cast<int64_t>(places.size()), threads);
  });
}

// Does the same with every row of an array, in place.
void gathered_rows(const Array& rows, const Ints& places, int threads) {
  if (rows.ndim() != 2 || rows.shape(1) != places.size())
    throw nb::value_error("gathered_rows: one column per place");
  const nb::gil_scoped_release release;
  with_size(rows.itemsize(), [&](auto tag) {
    using T = decltype(tag);
    gather_rows(static_cast<T*>(rows.data()), places.data(), static_cast<int64_t>(rows.shape(0)),
                static_cast<int64_t>(places.size()), threads);
  });
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("compact_order", &compact_order, nb::arg("indptr"), nb::arg("indices"), nb::arg("order"));
  m.def("renumber_rows", &renumber_rows, nb::arg("indptr"), nb::arg("indices"),
        nb::arg("weights").none(), nb::arg("order"), nb::arg("place"), nb::arg("out_indptr"),
        nb::arg("out_indices"), nb::arg("out_weights").none(), nb::arg("threads"));
  m.def("gathered", &gathered, nb::arg("values"), nb::arg("places"), nb::arg("out"),
        nb::arg("threads"));
  m.def("gathered_rows", &gathered_rows, nb::arg("rows"), nb::arg("places"), nb::arg("threads"));
}

}  // namespace nearfar
