// bounded@cpu: one search per source, at the cost of the vertices that it reaches. Results are
// sparse rows, dense rows, a few numbers per source, or aggregates of values at vertices.
//
// Workers take sources in runs of neighbouring vertex ids, because their searches read the same
// memory.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "algorithms/bounded/either_csr.hpp"
#include "algorithms/bounded/neighbours.hpp"
#include "algorithms/bounded/search.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/memory/fill.hpp"
#include "cpu/memory/huge_pages.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::bounded {
namespace {

constexpr int64_t kRun = 64;  // sources that a worker takes at a time

std::size_t at(int64_t i) {
  return static_cast<std::size_t>(i);
}

// Positions of the sources in order of vertex.
std::vector<uint32_t> in_order_of_vertex(const Ids& sources) {
  std::vector<uint32_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0);
  const int64_t* ids = sources.data();
  if (!std::is_sorted(ids, ids + sources.size()))
    std::stable_sort(order.begin(), order.end(),
                     [ids](uint32_t a, uint32_t b) { return ids[a] < ids[b]; });
  return order;
}

// Called after each search with the position of its source.
template <class C>
using Visit = std::function<void(uint32_t row, const Search<C>& search)>;

// Searches from each source and calls the worker's own visitor after each. Returns the number of
// edges read.
template <class C>
uint64_t each_source(const C& csr, const Ids& sources, std::optional<double> limit,
                     std::size_t most, int threads, const std::function<Visit<C>()>& visitor) {
  const std::vector<uint32_t> order = in_order_of_vertex(sources);
  const auto bound = farthest<typename C::Weight>(limit);
  std::atomic<uint64_t> edges{0};
  spread_blocks(static_cast<int64_t>(order.size()), kRun, threads,
                [&](const auto& each_block, Interrupt& interrupt) {
                  Search<C> search(csr, most);
                  const Visit<C> visit = visitor();
                  each_block([&](int64_t first, int64_t last) {
                    for (std::size_t i = at(first); i < at(last); ++i) {
                      search.run(static_cast<Index>(sources.data()[order[i]]), bound, interrupt);
                      visit(order[i], search);
                    }
                  });
                  edges += search.edges();
                });
  return edges;
}

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// Calls f with unpacked rows for few sources and packed edges for many: packing them takes as long
// as searching from a few sources per thousand edges.
template <class F>
auto visit_rows(GraphView& view, std::size_t sources, int threads, F&& f) {
  const bool many = view.visit([&](const auto& csr) { return 64 * sources >= std::size_t(csr.m); });
  if (many) view.pack(threads);
  return view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    return f(EitherCsr<typename C::Weight>(csr, many));
  });
}

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

// Called after the searches of one worker from sources that may be close together.
template <class C>
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void alone(uint32_t row, const Search<C>& search) = 0;
  virtual void together(const uint32_t* rows, const typename Neighbours<C>::Group& group) = 0;
};

// Searches from all sources, from close ones together, with one visitor per worker. Returns the
// number of edges read.
template <class C>
uint64_t each_neighbour(const C& csr, const Ids& sources, std::optional<double> limit, int threads,
                        const std::function<std::unique_ptr<Visitor<C>>()>& visitor) {
  using Group = typename Neighbours<C>::Group;
  const std::vector<uint32_t> order = in_order_of_vertex(sources);
  std::vector<int64_t> rising(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rising[i] = sources.data()[order[i]];
  const auto bound = farthest<typename C::Weight>(limit);
  const auto k = static_cast<int64_t>(order.size());
  const int64_t run = std::clamp<int64_t>(k / (4 * threads), kRun, 1 << 16);
  std::atomic<uint64_t> edges{0};
  spread_blocks(k, run, threads, [&](const auto& each_block, Interrupt& interrupt) {
    Neighbours<C> neighbours(csr);
    const auto visit = visitor();
    each_block([&](int64_t first, int64_t last) {
      const uint32_t* const positions = order.data() + first;
      neighbours.run(
          rising.data() + first, at(last - first), bound, interrupt,
          [&](std::size_t i, const Search<C>& search) { visit->alone(positions[i], search); },
          [&](const Group& group) { visit->together(positions, group); });
    });
    edges += neighbours.edges();
  });
  return edges;
}

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

// Factor of a value at a given distance.
class Decay {
 public:
  Decay(const std::string& kind, double scale, const std::optional<std::vector<double>>& at,
        const std::optional<std::vector<double>>& factors)
      : kind_(kind == "exponential" ? kExponential
              : kind == "linear"    ? kLinear
                                    : kFlat),
        scale_(scale) {
    if (at && factors) {
      kind_ = kTable;
      at_ = *at;
      factors_ = *factors;
    }
  }

  bool flat() const { return kind_ == kFlat; }
  double operator()(double distance) const {
    switch (kind_) {
      case kLinear:
        return std::max(0.0, 1.0 - distance / scale_);
      case kExponential:
        return std::exp(-distance / scale_);
      case kTable: {
        const auto next = std::upper_bound(at_.begin(), at_.end(), distance);
        const auto i = static_cast<std::size_t>(next - at_.begin());
        if (i == 0) return factors_.front();
        if (i == at_.size()) return factors_.back();
        const double part = (distance - at_[i - 1]) / (at_[i] - at_[i - 1]);
        return factors_[i - 1] + part * (factors_[i] - factors_[i - 1]);
      }
      default:
        return 1.0;
    }
  }

 private:
  enum Kind { kFlat, kLinear, kExponential, kTable } kind_;
  double scale_;
  std::vector<double> at_, factors_;
};

using Values = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Values at vertices: those of vertex v are rows place[v] to place[v + 1], with one column per
// value; NaN means no value.
struct OnVertices {
  const int64_t* place;
  const double* values;
  std::size_t width;
};

// Output rows of the aggregates, one row per source and one entry per column: sum of value x decay,
// sum of the decay over existing values, least and greatest value (NaN if there is none).
struct Found {
  double *sums, *shares, *least, *greatest;
};

// The aggregates of one source at a time, which a worker stores at the end: others write to the
// same cache line. Values are added in order of vertex, then row.
class Sums {
 public:
  Sums(const OnVertices& on, const Decay& decay) : on_(on), decay_(decay), all_(on.width) {}

  void begin() { std::fill(all_.begin(), all_.end(), One{}); }

  void add(std::size_t v, double distance) {
    const double factor = decay_(distance);
    for (int64_t i = on_.place[v]; i < on_.place[v + 1]; ++i) {
      const double* value = on_.values + at(i) * on_.width;
      for (std::size_t c = 0; c < on_.width; ++c) {
        if (std::isnan(value[c])) continue;
        One& one = all_[c];
        one.sum += factor * value[c];
        one.share += factor;
        if (!(one.low <= value[c])) one.low = value[c];
        if (!(one.high >= value[c])) one.high = value[c];
      }
    }
  }

  void store(const Found& found, std::size_t row) const {
    for (std::size_t c = 0; c < on_.width; ++c) {
      const std::size_t to = row * on_.width + c;
      found.sums[to] = all_[c].sum, found.shares[to] = all_[c].share;
      found.least[to] = all_[c].low, found.greatest[to] = all_[c].high;
    }
  }

 private:
  struct One {
    double sum = 0, share = 0;
    double low = std::numeric_limits<double>::quiet_NaN(), high = low;
  };
  const OnVertices& on_;
  const Decay& decay_;
  std::vector<One> all_;
};

// Aggregates the values at the vertices that a source reaches, itself included. One per worker, for
// single sources and groups.
template <class C>
class Adder final : public Visitor<C> {
 public:
  using Weight = typename C::Weight;
  Adder(const OnVertices& on, const Decay& decay, const Found& found, Weight limit, bool only_sums)
      : on_(on),
        decay_(decay),
        found_(found),
        limit_(limit),
        only_sums_(only_sums),
        sums_(on, decay) {}

  void alone(uint32_t row, const Search<C>& search) override {
    list(search.begin(), search.size());
    sums_.begin();
    for (const Held held : held_) {
      const auto& one = search.begin()[static_cast<uint32_t>(held)];
      sums_.add(static_cast<std::size_t>(held >> 32), static_cast<double>(one.distance));
    }
    sums_.store(found_, row);
  }

  void together(const uint32_t* rows, const typename Neighbours<C>::Group& group) override {
    if (group.first) {
      list(group.around, group.n);
      vertices_.clear();
      places_.clear();
      for (const Held held : held_) {
        vertices_.push_back(static_cast<int64_t>(held >> 32));
        places_.push_back(static_cast<uint32_t>(held));
      }
    }
    Column column{vertices_.size(), vertices_.data(), places_.data(), on_.place,
                  on_.values,       on_.width,        nullptr,        0,
                  nullptr};
    weigh(group, column);
    Totals totals;
    for (std::size_t c = 0; c < on_.width; ++c) {
      column.values = on_.values + c;
      NEARFAR_PICK_ISA(add_together)(column, only_sums_, totals);
      for (std::size_t k = 0; k < group.count; ++k) {
        const std::size_t to = rows[group.positions[k]] * on_.width + c;
        found_.sums[to] = totals.sums[k];
        if (only_sums_) continue;
        found_.shares[to] = totals.shares[k];
        found_.least[to] = totals.least[k];
        found_.greatest[to] = totals.greatest[k];
      }
    }
  }

 private:
  // A vertex in the high bits, its position among the reached ones in the low 32.
  using Held = std::conditional_t<sizeof(Index) == 4, uint64_t, unsigned __int128>;

  // Lists the vertices with values, in order.
  void list(const typename Search<C>::Settled* all, std::size_t count) {
    held_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto v = static_cast<std::size_t>(all[i].vertex);
      if (on_.place[v] != on_.place[v + 1]) held_.push_back(static_cast<Held>(v) << 32 | i);
    }
    std::sort(held_.begin(), held_.end());
  }

  // Fills a column with the distances as float64, infinite beyond the limit, and their decay.
  void weigh(const typename Neighbours<C>::Group& group, Column& column) {
    const bool same = std::is_same_v<Weight, double>, flat = decay_.flat();
    column.limit = same ? static_cast<double>(limit_) : std::numeric_limits<double>::max();
    if constexpr (std::is_same_v<Weight, double>) column.distances = group.lanes;
    double* const far = same ? nullptr : aligned(distances_, group.n);
    double* const factors = flat ? nullptr : aligned(factors_, group.n);
    if (!same) column.distances = far;
    column.factors = factors;
    if (same && flat) return;
    for (const uint32_t i : places_)
      for (std::size_t k = i * kLanes; k < (i + 1) * kLanes; ++k) {
        const bool near = group.lanes[k] <= limit_;
        const auto d = static_cast<double>(group.lanes[k]);
        if (!same) far[k] = near ? d : std::numeric_limits<double>::infinity();
        if (!flat && near) factors[k] = decay_(d);
      }
  }

  // Returns memory for n rows of lanes, aligned to 64 bytes.
  static double* aligned(std::vector<double>& room, std::size_t n) {
    room.resize(n * kLanes + 8);
    const auto begin = reinterpret_cast<uintptr_t>(room.data());
    return reinterpret_cast<double*>((begin + 63) & ~uintptr_t{63});
  }

  const OnVertices& on_;
  const Decay& decay_;
  const Found& found_;
  const Weight limit_;
  const bool only_sums_;
  Sums sums_;
  std::vector<Held> held_;
  std::vector<int64_t> vertices_;
  std::vector<uint32_t> places_;
  std::vector<double> distances_, factors_;
};

// Throws unless the tables have a row per source, and `place` belongs to the values of n vertices.
void check_shapes(std::size_t sources, std::size_t n, const Ids& place, const Values& values,
                  std::initializer_list<const Table*> tables) {
  for (const Table* table : tables)
    if (table->shape(0) != sources || table->shape(1) != values.shape(1))
      throw nb::type_error("one row per source and one column per column of values");
  if (place.size() != n + 1 || place.data()[n] != static_cast<int64_t>(values.shape(0)))
    throw nb::type_error("place has one entry per vertex and one more");
}

// Aggregates values per source; with only_sums, only the sums must be correct.
uint64_t aggregate(GraphView& view, const Ids& sources, double limit, int threads, const Ids& place,
                   const Values& values, const Decay& decay, bool only_sums, const Table& sums,
                   const Table& shares, const Table& least, const Table& greatest) {
  const OnVertices on{place.data(), values.data(), values.shape(1)};
  const Found found{sums.data(), shares.data(), least.data(), greatest.data()};
  const auto run = [&](const auto& csr) -> uint64_t {
    using C = std::decay_t<decltype(csr)>;
    check_vertices(sources, at(csr.n), "source is not a vertex");
    check_shapes(sources.size(), static_cast<std::size_t>(csr.n), place, values,
                 {&sums, &shares, &least, &greatest});
    nb::gil_scoped_release release;
    return each_neighbour<C>(csr, sources, limit, threads, [&] {
      return std::make_unique<Adder<C>>(on, decay, found, farthest<typename C::Weight>(limit),
                                        only_sums);
    });
  };
  return visit_rows(view, sources.size(), threads, run);
}

using Rows = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Aggregates values over rows of distances, those beyond the limit unreached: the same bits.
void aggregate_rows(const Rows& rows, int threads, const Ids& place, const Values& values,
                    const Decay& decay, const Table& sums, const Table& shares, const Table& least,
                    const Table& greatest) {
  const std::size_t count = rows.shape(0), n = rows.shape(1);
  check_shapes(count, n, place, values, {&sums, &shares, &least, &greatest});
  const OnVertices on{place.data(), values.data(), values.shape(1)};
  const Found found{sums.data(), shares.data(), least.data(), greatest.data()};
  with_weight_type(rows.dtype(), [&](auto tag) {
    using W = decltype(tag);
    const W* const distances = static_cast<const W*>(rows.data());
    nb::gil_scoped_release release;
    spread(static_cast<int64_t>(count), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      Sums all(on, decay);
      for (int64_t row; (row = counter.take()) >= 0;) {
        interrupt.poll(n);
        const W* const d = distances + at(row) * n;
        all.begin();
        for (std::size_t v = 0; v < n; ++v)
          if (d[v] != unreached<W>() && on.place[v] != on.place[v + 1])
            all.add(v, static_cast<double>(d[v]));
        all.store(found, at(row));
      }
    });
  });
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
  m.def(
      "bounded_aggregate",
      [](GraphView& view, const Ids& sources, double limit, int threads, const Ids& place,
         const bounded::Values& values, bool only_sums, const std::string& decay, double scale,
         std::optional<std::vector<double>> at, std::optional<std::vector<double>> factors,
         const bounded::Table& sums, const bounded::Table& shares, const bounded::Table& least,
         const bounded::Table& greatest) {
        return bounded::aggregate(view, sources, limit, threads, place, values,
                                  bounded::Decay(decay, scale, at, factors), only_sums, sums,
                                  shares, least, greatest);
      },
      arg("view"), arg("sources"), arg("limit"), arg("threads"), arg("place"), arg("values"),
      arg("only_sums"), arg("decay"), arg("scale"), arg("at").none(), arg("factors").none(),
      arg("sums"), arg("shares"), arg("least"), arg("greatest"));
  m.def(
      "rows_aggregate",
      [](const bounded::Rows& rows, int threads, const Ids& place, const bounded::Values& values,
         const std::string& decay, double scale, std::optional<std::vector<double>> at,
         std::optional<std::vector<double>> factors, const bounded::Table& sums,
         const bounded::Table& shares, const bounded::Table& least,
         const bounded::Table& greatest) {
        bounded::aggregate_rows(rows, threads, place, values,
                                bounded::Decay(decay, scale, at, factors), sums, shares, least,
                                greatest);
      },
      arg("rows"), arg("threads"), arg("place"), arg("values"), arg("decay"), arg("scale"),
      arg("at").none(), arg("factors").none(), arg("sums"), arg("shares"), arg("least"),
      arg("greatest"));
}
}  // namespace nearfar
