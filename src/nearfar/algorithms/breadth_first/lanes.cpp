// Binding of breadth_first_lanes@cpu: hands out batches of sources to workers.
#include "algorithms/breadth_first/lanes.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/memory/fill.hpp"
#include "cpu/memory/huge_block.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::breadth_first {
namespace {

struct Sources {
  const int32_t* first = nullptr;
  std::size_t count = 0;
  const int64_t* columns = nullptr;  // null: all vertices
  std::size_t n_columns = 0;
  int32_t limit = 0;
  int threads = 1;
};

LaneEdges edges_of(GraphView& view, GraphView* reverse, const Ints& sources) {
  LaneEdges edges = view.visit([](const auto& csr) {
    LaneEdges out;
    out.n = csr.n;
    out.m = csr.m;
    out.indptr = csr.indptr;
    out.indices = csr.indices;
    return out;
  });
  if (reverse != nullptr)
    reverse->visit([&](const auto& csr) {
      if (csr.n != edges.n || csr.m != edges.m) throw nb::value_error("reverse is another graph's");
      edges.in_indptr = csr.indptr;
      edges.in_indices = csr.indices;
    });
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources.data()[i] < 0 || sources.data()[i] >= edges.n)
      throw nb::index_error("source is not a vertex");
  return edges;
}

// Calls solve(memory, batch, position of its first source, interrupt) for each batch; a worker has
// `bytes` of memory per vertex.
template <class Solve>
LaneCounts in_batches(const LaneEdges& edges, const Sources& sources, std::size_t bytes,
                      const Solve& solve) {
  // Batches of one size, so that all workers end at the same time.
  const auto workers = static_cast<std::size_t>(std::max(sources.threads, 1));
  const std::size_t turns = (sources.count + kLanes * workers - 1) / (kLanes * workers);
  const std::size_t batches = std::min(sources.count, turns * workers);
  LaneCounts sum;
  std::mutex mutex;
  spread(static_cast<int64_t>(batches), sources.threads,
         [&](BatchCounter& counter, Interrupt& interrupt) {
           const HugeBlock block(static_cast<std::size_t>(edges.n) * bytes);
           LaneCounts mine;
           for (int64_t b; (b = counter.take()) >= 0;) {
             const auto number = static_cast<std::size_t>(b);
             const std::size_t first = number * sources.count / batches;
             const std::size_t last = (number + 1) * sources.count / batches;
             const LaneBatch batch{sources.first + first, static_cast<int>(last - first),
                                   sources.limit, sources.columns, sources.n_columns};
             mine += solve(block.data(), batch, first, interrupt);
           }
           const std::lock_guard lock(mutex);
           sum += mine;
         });
  return sum;
}

// Fills whole rows.
template <class W>
LaneCounts whole_rows(const LaneEdges& edges, std::byte* memory, const LaneBatch& batch,
                      const W* lengths, W* const* rows, Interrupt& interrupt) {
  auto* const words = reinterpret_cast<uint64_t*>(memory);
  auto* const bytes = reinterpret_cast<uint8_t*>(words + LaneSearch::kWords * edges.n);
  LaneLevels<W> levels(bytes, edges.n, batch.count);
  bool written = false;
  const auto write = [&] {
    levels.write(lengths, rows, interrupt);
    for (int i = 0; i < batch.count; ++i) rows[i][batch.sources[i]] = lengths[0];
    written = true;
  };
  const LaneCounts counts =
      LaneSearch(edges, words, batch, interrupt)
          .run(
              [&](Index v, uint64_t lanes, int32_t level) {
                if (level <= LaneLevels<W>::kMost)
                  levels.set(v, lanes, level);
                else
                  each_lane(lanes, [&](int i) { rows[i][v] = lengths[level]; });
              },
              [&](int32_t level, const uint64_t*) {
                if (level == LaneLevels<W>::kMost) write();
              });
  if (!written) write();
  return counts;
}

// Fills rows of some columns.
template <class W>
LaneCounts columns_of_rows(const LaneEdges& edges, std::byte* memory, const LaneBatch& batch,
                           const W* lengths, W* const* rows, Interrupt& interrupt) {
  for (int i = 0; i < batch.count; ++i) {
    fill_numbers(rows[i], batch.n_columns, unreached<W>());
    for (std::size_t c = 0; c < batch.n_columns; ++c)
      if (batch.columns[c] == batch.sources[i]) rows[i][c] = lengths[0];
  }
  return LaneSearch(edges, reinterpret_cast<uint64_t*>(memory), batch, interrupt)
      .run([](Index, uint64_t, int32_t) {},
           [&](int32_t level, const uint64_t* lanes) {
             for (std::size_t c = 0; c < batch.n_columns; ++c)
               each_lane(lanes[batch.columns[c]], [&](int i) { rows[i][c] = lengths[level]; });
           });
}

template <class W>
LaneCounts fill_rows(const LaneEdges& edges, const Sources& sources, const Array& out,
                     const Array& lengths) {
  const auto n = static_cast<std::size_t>(edges.n);
  const bool whole = sources.columns == nullptr;
  const std::size_t width = whole ? n : sources.n_columns;
  W* const to = checked<W>(out, sources.count * width, "out");
  const W* const by_level = checked<W>(lengths, n, "lengths");
  constexpr std::size_t kBits = LaneSearch::kWords * sizeof(uint64_t);
  nb::gil_scoped_release release;
  return in_batches(
      edges, sources, whole ? kBits + kLanes : kBits,
      [&](std::byte* memory, const LaneBatch& batch, std::size_t first, Interrupt& interrupt) {
        W* rows[kLanes];
        for (int i = 0; i < batch.count; ++i)
          rows[i] = to + (first + static_cast<std::size_t>(i)) * width;
        const auto fill = whole ? whole_rows<W> : columns_of_rows<W>;
        return fill(edges, memory, batch, by_level, rows, interrupt);
      });
}

Fields stats_of(const LaneCounts& counts) {
  nb::dict stats;
  stats["iterations"] = counts.levels;
  stats["vertices_processed"] = counts.vertices;
  stats["edges_relaxed"] = counts.edges;
  return stats;
}

Fields rows(GraphView& view, GraphView* reverse, const Ints& sources, const Array& out,
            const Array& lengths, const std::optional<Ids>& columns, int32_t limit, int threads) {
  const LaneEdges edges = edges_of(view, reverse, sources);
  Sources given{sources.data(), sources.size(), nullptr, 0, limit, threads};
  if (columns) {
    check_vertices(*columns, static_cast<std::size_t>(edges.n), "column is not a vertex");
    given.columns = columns->data();
    given.n_columns = columns->size();
  }
  return stats_of(with_weight_type(lengths.dtype(), [&](auto tag) {
    return fill_rows<decltype(tag)>(edges, given, out, lengths);
  }));
}

// Returns, of the vertices that each source reaches, itself excluded: their number, the sum of
// their levels and of the inverses, the last level, and their numbers in bins; bin_of has the bin
// of each level, or -1.
nb::tuple figures(GraphView& view, GraphView* reverse, const Ints& sources, int32_t limit,
                  const Ints& bin_of, int32_t n_bins, int threads) {
  const LaneEdges edges = edges_of(view, reverse, sources);
  for (std::size_t level = 0; level < bin_of.size(); ++level)
    if (bin_of.data()[level] >= n_bins) throw nb::index_error("bin_of names no bin");
  const Sources given{sources.data(), sources.size(), nullptr, 0, limit, threads};
  const auto width = static_cast<std::size_t>(n_bins);
  std::vector<int64_t> count(given.count), sum(given.count), bins(given.count * width);
  std::vector<double> inverse(given.count);
  std::vector<int32_t> most(given.count);
  const auto add = [&](std::size_t source, int32_t level, int64_t found) {
    if (found == 0) return;
    count[source] += found;
    sum[source] += found * level;
    inverse[source] += static_cast<double>(found) / level;
    most[source] = level;
    const auto at = static_cast<std::size_t>(level);
    const int32_t bin = at < bin_of.size() ? bin_of.data()[at] : -1;
    if (bin >= 0) bins[source * width + static_cast<std::size_t>(bin)] += found;
  };
  LaneCounts counts;
  {
    nb::gil_scoped_release release;
    counts = in_batches(
        edges, given, LaneSearch::kWords * sizeof(uint64_t),
        [&](std::byte* memory, const LaneBatch& batch, std::size_t first, Interrupt& interrupt) {
          LaneCounters counters;
          return LaneSearch(edges, reinterpret_cast<uint64_t*>(memory), batch, interrupt)
              .run([&](Index, uint64_t lanes, int32_t) { counters.add(lanes); },
                   [&](int32_t level, const uint64_t*) {
                     for (int i = 0; i < batch.count; ++i)
                       add(first + static_cast<std::size_t>(i), level, counters.of(i));
                     counters.clear();
                   });
        });
  }
  return nb::make_tuple(arrays(std::move(count), std::move(sum), std::move(most),
                               std::move(inverse), std::move(bins)),
                        stats_of(counts));
}

}  // namespace
}  // namespace nearfar::breadth_first

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("breadth_first_lanes", &breadth_first::rows, arg("view"), arg("reverse").none(),
        arg("sources"), arg("out"), arg("lengths"), arg("columns").none(), arg("limit"),
        arg("threads") = 1);
  m.def("breadth_first_figures", &breadth_first::figures, arg("view"), arg("reverse").none(),
        arg("sources"), arg("limit"), arg("bin_of"), arg("n_bins"), arg("threads") = 1);
}
}  // namespace nearfar
