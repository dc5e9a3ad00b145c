// bounded@cpu: one search per source, at the cost of the vertices that it reaches. Results are
// sparse rows, dense rows, a few numbers per source, or the nearest source of each vertex.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "algorithms/bounded/each_source.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/memory/fill.hpp"
#include "cpu/memory/huge_pages.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::bounded {
namespace {

// Returns sparse rows: (indptr, vertices, distances, edges read), each row in order of distance.
nb::tuple rows(GraphView& view, const Ids& sources, std::optional<double> limit, int threads) {
  const auto run = [&](const auto& csr) -> nb::tuple {
    using C = std::decay_t<decltype(csr)>;
    check_vertices(sources, at(csr.n), "source is not a vertex");
    struct Part {
      std::vector<uint32_t> sources;
      Buffer<typename Search<C>::Settled> settled;
    };
    std::mutex mutex;
    std::vector<std::shared_ptr<Part>> parts;  // one per worker
    std::vector<int64_t> indptr(sources.size() + 1);
    std::vector<Index> vertices;
    std::vector<typename C::Weight> distances;
    uint64_t edges;
    {
      nb::gil_scoped_release release;
      edges = each_source<C>(csr, sources, limit, kAll, threads, [&] {
        const auto part = std::make_shared<Part>();
        const std::lock_guard lock(mutex);
        parts.push_back(part);
        return [part, &indptr](uint32_t row, const Search<C>& search) {
          part->sources.push_back(row);
          indptr[row + 1] = static_cast<int64_t>(search.size());
          for (const auto& one : search) part->settled.push(one);
        };
      });
      std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
      vertices.resize(static_cast<std::size_t>(indptr.back()));
      distances.resize(static_cast<std::size_t>(indptr.back()));
      spread(static_cast<int64_t>(parts.size()), threads, [&](BatchCounter& counter, Interrupt&) {
        for (int64_t p; (p = counter.take()) >= 0;) {
          const Part& part = *parts[static_cast<std::size_t>(p)];
          const auto* from = part.settled.data;
          for (const uint32_t row : part.sources)
            for (int64_t at = indptr[row]; at < indptr[row + 1]; ++at, ++from) {
              vertices[static_cast<std::size_t>(at)] = from->vertex;
              distances[static_cast<std::size_t>(at)] = from->distance;
            }
        }
      });
    }
    return nb::make_tuple(as_numpy(std::move(indptr)), as_numpy(std::move(vertices)),
                          as_numpy(std::move(distances)), edges);
  };
  return visit_rows(view, kAll / 64, threads, run);
}

// Writes dense rows, the distances of all vertices or of `columns`, to `out`.
Fields fill(GraphView& view, const Ids& sources, const Array& out,
            const std::optional<Ids>& columns, std::optional<double> limit, int threads) {
  uint64_t settled = 0;
  const auto run = [&](const auto& csr) -> uint64_t {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    check_vertices(sources, at(csr.n), "source is not a vertex");
    const auto n = static_cast<std::size_t>(csr.n);
    const std::size_t width = columns ? columns->size() : n;
    Weight* first = checked<Weight>(out, sources.size() * width, "out");
    if (columns) check_vertices(*columns, n, "column is not a vertex");
    nb::gil_scoped_release release;
    std::atomic<uint64_t> count{0};
    const Visit<C> visit = [&](uint32_t row, const Search<C>& search) {
      Weight* to = first + row * width;
      count.fetch_add(search.size(), std::memory_order_relaxed);
      if (columns) {
        for (std::size_t c = 0; c < width; ++c)
          to[c] = search.distance(static_cast<Index>(columns->data()[c]));
        return;
      }
      make_pages(to, width, first + sources.size() * width);
      std::fill_n(to, width, unreached<Weight>());
      for (const auto& one : search) to[one.vertex] = one.distance;
    };
    const uint64_t edges =
        each_source<C>(csr, sources, limit, kAll, threads, [&] { return visit; });
    settled = count;
    return edges;
  };
  nb::dict stats;
  stats["edges_relaxed"] = visit_rows(view, sources.size(), threads, run);
  stats["vertices_processed"] = settled;
  stats["iterations"] = sources.size();
  return stats;
}

// Sum of the float64 entries of a row in the order used on every device: entry i plus entry i +
// half, until one is left. Missing entries are zeros.
class SumByHalves {
 public:
  void add(std::size_t at, double value) { entries_.push_back({at, value}); }

  // Returns the sum of a row of `width` entries and clears them.
  double take(std::size_t width) {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.at < b.at; });
    for (; entries_.size() > 1; width = (width + 1) / 2) {
      const std::size_t half = (width + 1) / 2;
      auto high = std::lower_bound(entries_.begin(), entries_.end(), half,
                                   [](const Entry& a, std::size_t at) { return a.at < at; });
      if (high == entries_.end()) continue;
      joined_.clear();
      auto low = entries_.begin();
      const auto middle = high;
      while (low != middle || high != entries_.end()) {
        if (high == entries_.end() || (low != middle && low->at < high->at - half)) {
          joined_.push_back(*low++);
        } else if (low == middle || low->at > high->at - half) {
          joined_.push_back({high->at - half, high->value});
          ++high;
        } else {
          joined_.push_back({low->at, low->value + high->value});
          ++low, ++high;
        }
      }
      entries_.swap(joined_);
    }
    const double sum = entries_.empty() ? 0.0 : entries_.front().value;
    entries_.clear();
    return sum;
  }

 private:
  struct Entry {
    std::size_t at;
    double value;
  };
  std::vector<Entry> entries_, joined_;
};

// Counts the vertices that each source reaches, and finds the greatest distance.
template <class C>
class Counter final : public Visitor<C> {
 public:
  using Weight = typename C::Weight;
  Counter(Weight limit, int64_t* counts, Weight* greatest)
      : limit_(limit), counts_(counts), greatest_(greatest) {}

  void alone(uint32_t row, const Search<C>& search) override {
    record(row, static_cast<int64_t>(search.size()), (search.end() - 1)->distance);
  }
  void together(const uint32_t* rows, const typename Neighbours<C>::Group& group) override {
    int32_t within[kLanes];
    Weight most[kLanes];
    NEARFAR_PICK_ISA(count_together<Weight>)
    (static_cast<int32_t>(group.n), group.lanes, limit_, within, most);
    for (std::size_t k = 0; k < group.count; ++k)
      record(rows[group.positions[k]], within[k], most[k]);
  }

 private:
  void record(uint32_t row, int64_t count, Weight most) {
    counts_[row] = count - 1;
    greatest_[row] = count > 1 ? most : Weight(-1);
  }

  const Weight limit_;
  int64_t* const counts_;
  Weight* const greatest_;
};

// Returns (count, greatest distance or -1, sum, edges read) per source, over the vertices reached
// other than the source. `added` selects the sum of the distances ("sum") or of their inverses
// ("harmonic"); otherwise sums are 0. A search settles at most `most` vertices.
nb::tuple figures(GraphView& view, const Ids& sources, std::optional<double> limit, int threads,
                  const std::string& added, std::optional<int64_t> most) {
  const bool sum = added == "sum", harmonic = added == "harmonic";
  const auto run = [&](const auto& csr) -> nb::tuple {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    check_vertices(sources, at(csr.n), "source is not a vertex");
    std::vector<int64_t> counts(sources.size());
    std::vector<Weight> greatest(sources.size());
    std::vector<double> totals(sources.size());
    uint64_t edges;
    {
      nb::gil_scoped_release release;
      if (added.empty() && !most && limit && sources.size() >= at(kRun))
        edges = each_neighbour<C>(csr, sources, limit, threads, [&] {
          return std::make_unique<Counter<C>>(farthest<Weight>(limit), counts.data(),
                                              greatest.data());
        });
      else
        edges = each_source<C>(
            csr, sources, limit, most ? static_cast<std::size_t>(*most) : kAll, threads, [&] {
              return [&, by_halves = SumByHalves()](uint32_t row, const Search<C>& search) mutable {
                counts[row] = static_cast<int64_t>(search.size()) - 1;
                greatest[row] = search.size() > 1 ? (search.end() - 1)->distance : Weight(-1);
                if (!std::is_floating_point_v<Weight> && sum) {
                  Wide total = 0;
                  for (const auto& one : search) total += static_cast<uint64_t>(one.distance);
                  totals[row] = static_cast<double>(total);
                } else if (sum || harmonic) {
                  for (const auto* one = search.begin() + 1; one < search.end(); ++one)
                    if (sum || one->distance != 0)
                      by_halves.add(static_cast<std::size_t>(one->vertex),
                                    harmonic ? 1 / static_cast<double>(one->distance)
                                             : static_cast<double>(one->distance));
                  totals[row] = by_halves.take(static_cast<std::size_t>(csr.n));
                }
              };
            });
    }
    return nb::make_tuple(as_numpy(std::move(counts)), as_numpy(std::move(greatest)),
                          as_numpy(std::move(totals)), edges);
  };
  return visit_rows(view, sources.size(), threads, run);
}

// Sets all numbers, with several threads if there are many.
template <class Number>
void fill_all(Number* numbers, std::size_t n, Number number, int threads) {
  constexpr int64_t kBlock = int64_t{1} << 20;
  spread_blocks(static_cast<int64_t>(n), kBlock, threads, [&](auto&& each_block, Interrupt&) {
    each_block([&](int64_t first, int64_t last) {
      fill_numbers(numbers + first, at(last - first), number);
    });
  });
}

// Writes the distances within the limit, and to `places` and `before`, if they are given, the
// nearest sources and the least vertices as predecessors. Returns the number of vertices reached;
// None if a vertex is as far as its predecessor, which the caller resolves.
nb::object nearest(GraphView& view, const Ids& sources, std::optional<double> limit,
                   std::size_t expected, const Array& distances_out,
                   const std::optional<Array>& places_out, const std::optional<Array>& before_out,
                   int threads) {
  const auto run = [&](const auto& csr) -> nb::object {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    check_vertices(sources, at(csr.n), "source is not a vertex");
    const auto n = static_cast<std::size_t>(csr.n);
    Weight* distances = checked<Weight>(distances_out, n, "distances");
    const bool tree = places_out && before_out;
    int64_t* places = tree ? checked<int64_t>(*places_out, n, "places") : nullptr;
    Index* before = tree ? checked<Index>(*before_out, n, "before") : nullptr;
    std::size_t reached;
    bool clear = true;
    const auto make_tree = [&](const Search<C>& search, Interrupt& interrupt) {
      for (const auto& one : search) {
        interrupt.poll(8 + at(csr.indptr[one.vertex + 1] - csr.indptr[one.vertex]));
        for (auto e = at(csr.indptr[one.vertex]); e < at(csr.indptr[one.vertex + 1]); ++e) {
          const auto edge = csr.edge(e);
          const std::size_t to = at(edge.target);
          if (candidate(one.distance, edge.weight) != static_cast<SumOf<Weight>>(distances[to]) ||
              distances[to] == unreached<Weight>())
            continue;
          if (distances[to] == one.distance && edge.target != one.vertex) return false;
          if (edge.target != one.vertex && (before[to] < 0 || one.vertex < before[to]))
            before[to] = one.vertex;
        }
      }
      for (const auto& one : search)
        places[at(one.vertex)] = before[at(one.vertex)] < 0 ? static_cast<int64_t>(one.vertex)
                                                            : places[at(before[at(one.vertex)])];
      return true;
    };
    {
      nb::gil_scoped_release release;
      fill_all(distances, n, unreached<Weight>(), threads);
      if (tree) {
        fill_all(places, n, int64_t{-1}, threads);
        fill_all(before, n, Index{-1}, threads);
      }
      Interrupt interrupt;
      Search<C> search(csr, kAll, std::min(expected, n));
      search.run(sources.data(), sources.size(), farthest<Weight>(limit), interrupt);
      reached = search.size();
      for (const auto& one : search) distances[at(one.vertex)] = one.distance;
      if (tree) clear = make_tree(search, interrupt);
    }
    if (!clear) return nb::none();
    return nb::int_(reached);
  };
  return visit_rows(view, expected / 64, 1, run);
}

}  // namespace
}  // namespace nearfar::bounded

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("bounded_rows", &bounded::rows, arg("view"), arg("sources"), arg("limit") = nb::none(),
        arg("threads") = 1);
  m.def("bounded_fill", &bounded::fill, arg("view"), arg("sources"), arg("out"),
        arg("columns") = nb::none(), arg("limit") = nb::none(), arg("threads") = 1);
  m.def("bounded_figures", &bounded::figures, arg("view"), arg("sources"),
        arg("limit") = nb::none(), arg("threads") = 1, arg("added") = "", arg("most") = nb::none());
  m.def("bounded_nearest", &bounded::nearest, arg("view"), arg("sources"), arg("limit").none(),
        arg("expected"), arg("distances"), arg("places").none(), arg("before").none(),
        arg("threads") = 1);
}
}  // namespace nearfar
