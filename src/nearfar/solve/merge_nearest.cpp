// The k nearest sources of every vertex, merged from a row of distances for each source.
//
// Threads share the vertices. A row is read in blocks, whose lists stay in the cache while the same
// block of all rows is merged into them.
#include <algorithm>

#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

constexpr int64_t kMerged = 1 << 11;  // vertices of a block

// Inserts a distance into a list of the k least in order, behind equal ones.
template <class T>
void insert(T* distances, int64_t* found, std::size_t k, T distance, int64_t source) {
  if (!(distance < distances[k - 1])) return;
  std::size_t place = k - 1;
  for (; place > 0 && distance < distances[place - 1]; --place) {
    distances[place] = distances[place - 1];
    found[place] = found[place - 1];
  }
  distances[place] = distance;
  found[place] = source;
}

// Merges rows into the lists of all vertices, which are empty at `first`.
void merge_nearest(const nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro>& rows,
                   const Ids& sources, std::size_t k, bool first, const Array& distances,
                   const Array& found, int threads) {
  const std::size_t count = rows.shape(0), n = rows.shape(1);
  if (count != sources.size() || k < 1) throw nb::value_error("expected a source per row, and k");
  auto* const source_of = checked<int64_t>(found, n * k, "found");
  with_weight_type(rows.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto* const all = static_cast<const T*>(rows.data());
    auto* const least = checked<T>(distances, n * k, "distances");
    nb::gil_scoped_release release;
    const auto work = [&](const auto& each_block, Interrupt& interrupt) {
      each_block([&](int64_t begin, int64_t end) {
        const auto from = static_cast<std::size_t>(begin), to = static_cast<std::size_t>(end);
        interrupt.poll((to - from) * count);
        if (first) {
          std::fill(least + from * k, least + to * k, unreached<T>());
          std::fill(source_of + from * k, source_of + to * k, int64_t{-1});
        }
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t v = from; v < to; ++v)
            insert(least + v * k, source_of + v * k, k, all[i * n + v], sources.data()[i]);
      });
    };
    spread_blocks(static_cast<int64_t>(n), kMerged, threads, work);
  });
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("merge_nearest", &merge_nearest, arg("rows"), arg("sources"), arg("k"), arg("first"),
        arg("distances"), arg("found"), arg("threads"));
}

}  // namespace nearfar
