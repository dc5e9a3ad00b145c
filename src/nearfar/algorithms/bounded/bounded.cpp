// bounded@cpu: a search per source at the cost of the vertices that it reaches. Its result is a
// sparse row, a dense one, a few numbers, or aggregates of values of the vertices.
//
// Workers take sources in runs of neighbouring vertex ids, whose searches read the same memory.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <mutex>
#include <numeric>
#include <vector>

#include "algorithms/bounded/search.hpp"
#include "algorithms/bounded/together.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::bounded {
namespace {

constexpr std::size_t kRun = 64;  // sources that a worker takes at a time

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

// The greatest distance that counts; without a limit the greatest that is not "unreached".
template <class Weight>
Weight farthest(std::optional<double> limit) {
  if constexpr (std::is_floating_point_v<Weight>)
    return std::min(limit_as<Weight>(limit), std::numeric_limits<Weight>::max());
  else
    return std::min(limit_as<Weight>(limit), unreached<Weight>() - 1);
}

template <class C>
void check_sources(const C& csr, const Ids& sources) {
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources.data()[i] < 0 || sources.data()[i] >= static_cast<int64_t>(csr.n))
      throw nb::index_error("source is not a vertex");
}

// Searches from each source and calls visit(state, position of the source, search) after each, with
// a state per worker that begin() makes and finish(state) takes. Returns the edges looked at.
template <class C, class Begin, class Visit, class Finish>
uint64_t each_source(const C& csr, const Ids& sources, std::optional<double> limit,
                     std::size_t most, int threads, Begin&& begin, Visit&& visit, Finish&& finish) {
  const std::vector<uint32_t> order = in_order_of_vertex(sources);
  const std::size_t k = order.size();
  const auto bound = farthest<typename C::Weight>(limit);
  std::mutex mutex;
  uint64_t edges = 0;
  spread(static_cast<int64_t>((k + kRun - 1) / kRun), threads,
         [&](BatchCounter& counter, Interrupt& interrupt) {
           Search<C> search(csr, most);
           auto state = begin();
           for (int64_t run; (run = counter.take()) >= 0;) {
             const std::size_t first = static_cast<std::size_t>(run) * kRun;
             for (std::size_t i = first; i < std::min(first + kRun, k); ++i) {
               search.run(static_cast<typename C::Index>(sources.data()[order[i]]), bound,
                          interrupt);
               visit(state, order[i], search);
             }
           }
           const std::lock_guard lock(mutex);
           edges += search.edges();
           finish(std::move(state));
         });
  return edges;
}

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// Calls f with the rows as they are for few sources, with packed edges for many: to pack them takes
// as long as some sources per thousand edges.
template <class F>
auto visit_rows(GraphView& view, std::size_t sources, int threads, F&& f) {
  const bool many = view.visit([&](const auto& csr) { return 64 * sources >= std::size_t(csr.m); });
  if (many) return view.visit_packed(f, threads);
  return view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    SplitCsr<typename C::Index, typename C::Weight> split;
    split.n = csr.n;
    split.m = csr.m;
    split.indptr = csr.indptr;
    split.indices = csr.indices;
    split.weights = csr.weights;
    return f(split);
  });
}

// The same for results that need no state.
template <class C, class Visit>
uint64_t each_source(const C& csr, const Ids& sources, std::optional<double> limit, int threads,
                     Visit&& visit, std::size_t most = kAll) {
  return each_source(
      csr, sources, limit, most, threads, [] { return 0; },
      [&](int, uint32_t row, const auto& search) { visit(row, search); }, [](int) {});
}

// Sparse rows: (indptr, vertices, distances, edges looked at), each row in order of distance.
nb::tuple rows(GraphView& view, const Ids& sources, std::optional<double> limit, int threads) {
  const auto run = [&](const auto& csr) -> nb::tuple {
    using C = std::decay_t<decltype(csr)>;
    check_sources(csr, sources);
    struct Part {
      std::vector<uint32_t> sources;
      Buffer<typename Search<C>::Settled> settled;
    };
    std::vector<std::unique_ptr<Part>> parts;
    std::vector<int64_t> indptr(sources.size() + 1);
    std::vector<typename C::Index> vertices;
    std::vector<typename C::Weight> distances;
    uint64_t edges;
    {
      nb::gil_scoped_release release;
      edges = each_source(
          csr, sources, limit, kAll, threads, [] { return std::make_unique<Part>(); },
          [&](auto& part, uint32_t row, const auto& search) {
            part->sources.push_back(row);
            indptr[row + 1] = static_cast<int64_t>(search.size());
            for (const auto& one : search) part->settled.push(one);
          },
          [&](auto part) { parts.push_back(std::move(part)); });
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
  return view.visit_packed(run, threads);
}

// Dense rows: the distances of all vertices, or of `columns`, written to `out`.
Fields fill(GraphView& view, const Ids& sources, const Array& out,
            const std::optional<Ids>& columns, std::optional<double> limit, int threads) {
  uint64_t settled = 0;
  const auto run = [&](const auto& csr) -> uint64_t {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    check_sources(csr, sources);
    const auto n = static_cast<std::size_t>(csr.n);
    const std::size_t width = columns ? columns->size() : n;
    Weight* first = checked<Weight>(out, sources.size() * width, "out");
    for (std::size_t c = 0; columns && c < width; ++c)
      if (columns->data()[c] < 0 || static_cast<std::size_t>(columns->data()[c]) >= n)
        throw nb::index_error("column is not a vertex");
    nb::gil_scoped_release release;
    std::atomic<uint64_t> count{0};
    const uint64_t edges =
        each_source(csr, sources, limit, threads, [&](uint32_t row, auto& search) {
          Weight* to = first + row * width;
          count.fetch_add(search.size(), std::memory_order_relaxed);
          if (columns) {
            for (std::size_t c = 0; c < width; ++c)
              to[c] = search.distance(static_cast<typename C::Index>(columns->data()[c]));
            return;
          }
          std::fill_n(to, width, unreached<Weight>());
          for (const auto& one : search) to[one.vertex] = one.distance;
        });
    settled = count;
    return edges;
  };
  nb::dict stats;
  stats["edges_relaxed"] = visit_rows(view, sources.size(), threads, run);
  stats["vertices_processed"] = settled;
  stats["iterations"] = sources.size();
  return stats;
}

// Sums of float64 entries of a row in the order in which every device adds a whole row: entry i and
// entry i + half, until one is left. Entries that are not there are zeros.
class SumByHalves {
 public:
  void add(std::size_t at, double value) { entries_.push_back({at, value}); }

  // The sum of a row of `width` entries; forgets them.
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

// Counts within a limit of many sources, those near each other at once: what lies around a place
// within the limit, and as far again as the farthest of them, is laid out as a graph of its own,
// and sixteen of them are searched in vector lanes there (together.hpp).
template <class C>
class Together {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;

  explicit Together(const C& csr)
      : csr_(csr), near_(csr, kNear), around_(csr, kAround + 1), ids_(csr.n, 0) {}

  // Calls record(position, vertices within the limit, greatest distance) for sources that rise;
  // `alone` searches for those that are not near others.
  template <class Record>
  void run(const int64_t* sources, std::size_t count, Weight limit, Search<C>& alone,
           Interrupt& interrupt, Record&& record) {
    done_.assign(count, 0);
    for (std::size_t first = 0; first < count; ++first) {
      if (done_[first]) continue;
      const auto place = static_cast<Index>(sources[first]);
      near_.run(place, limit, interrupt);
      if (near_.size() < kFew) {
        record(first, near_.size(), (near_.end() - 1)->distance);
        done_[first] = 1;
        continue;
      }
      members_.clear();
      if (misses_ == 0 || --misses_ == 0) gather(sources, count, first);
      if (members_.size() >= kTogether && settle(limit, interrupt)) {
        for (std::size_t m = 0; m < members_.size(); ++m)
          record(members_[m].position, static_cast<std::size_t>(counts_[m]), greatest_[m]);
      } else {
        if (members_.size() >= kTogether) misses_ = 64;  // before the next try
        members_.assign(1, {first, place, 0});
        alone.run(place, limit, interrupt);
        record(first, alone.size(), (alone.end() - 1)->distance);
      }
      for (const Member& member : members_) done_[member.position] = 1;
    }
  }

  uint64_t edges() const { return near_.edges() + around_.edges() + edges_; }

 private:
  static constexpr std::size_t kNear = 128, kFew = 24, kTogether = 8, kMembers = 2 * kLanes;
  static constexpr std::size_t kAround = 8192;  // whose lanes fit a core's cache
  struct Member {
    std::size_t position;
    Index vertex;
    Weight distance;
  };

  // The nearest sources of the place that are still to be searched for, itself first.
  void gather(const int64_t* sources, std::size_t count, std::size_t first) {
    for (const auto& one : near_) {
      const int64_t* at = std::lower_bound(sources + first, sources + count, one.vertex);
      const auto position = static_cast<std::size_t>(at - sources);
      if (position == count || *at != one.vertex || done_[position]) continue;
      members_.push_back({position, one.vertex, one.distance});
      if (members_.size() == kMembers) return;
    }
  }

  // Whether what lies around the members was small enough; then counts_ and greatest_ are theirs.
  bool settle(Weight limit, Interrupt& interrupt) {
    // In order, so that the last is the farthest. Rounding may add to a sum of as many edges.
    Weight radius = limit + members_.back().distance;
    if constexpr (std::is_floating_point_v<Weight>) {
      radius *= 1 + 4 * static_cast<Weight>(kAround) * std::numeric_limits<Weight>::epsilon();
      if (!(radius < std::numeric_limits<Weight>::max() / 4)) return false;
    } else if (limit > unreached<Weight>() / 8 || radius > unreached<Weight>() / 4) {
      return false;
    }
    around_.run(members_.front().vertex, radius, interrupt);
    if (around_.size() > kAround) return false;
    lay_out(limit);
    const auto n = static_cast<int32_t>(around_.size());
    const Surroundings<Weight> graph{n, indptr_.data(), from_.data(), weights_.data()};
    lanes_.resize(at(n) * kLanes + 64 / sizeof(Weight));
    auto* lanes =
        reinterpret_cast<Weight*>((reinterpret_cast<uintptr_t>(lanes_.data()) + 63) & ~63);
    // Beyond every sum that counts, and a sum of it and an edge still fits.
    const Weight none =
        std::is_floating_point_v<Weight> ? unreached<Weight>() : unreached<Weight>() / 2;
    for (std::size_t low = 0; low < members_.size(); low += kLanes) {
      std::fill_n(lanes, at(n) * kLanes, none);
      const std::size_t some = std::min<std::size_t>(kLanes, members_.size() - low);
      for (std::size_t k = 0; k < some; ++k)
        lanes[at(ids_.find(members_[low + k].vertex)) * kLanes + k] = 0;
      const int sweeps = NEARFAR_PICK_ISA(settle_together<Weight>)(graph, lanes);
      NEARFAR_PICK_ISA(count_together<Weight>)
      (n, lanes, limit, counts_ + low, greatest_ + low);
      edges_ += static_cast<uint64_t>(sweeps) * from_.size();
      interrupt.poll(static_cast<uint64_t>(sweeps) * from_.size());
    }
    return true;
  }

  // The edges within what lies around, by the vertex that they lead to.
  void lay_out(Weight limit) {
    const std::size_t n = around_.size();
    ids_.clear();
    int32_t id = 0;
    for (const auto& one : around_) ids_.at(one.vertex) = id++;
    outward_.clear();
    indptr_.assign(n + 1, 0);
    id = 0;
    for (const auto& one : around_) {
      for (auto e = at(csr_.indptr[one.vertex]); e < at(csr_.indptr[one.vertex + 1]); ++e) {
        const auto edge = csr_.edge(e);
        if (edge.weight > limit) continue;
        const int32_t to = ids_.find(edge.target);
        if (to == unreached<int32_t>() || to == id) continue;
        outward_.push_back({id, to, edge.weight});
        ++indptr_[at(to)];
      }
      ++id;
    }
    std::exclusive_scan(indptr_.begin(), indptr_.end(), indptr_.begin(), int32_t{0});
    from_.resize(outward_.size());
    weights_.resize(outward_.size());
    next_.assign(indptr_.begin(), indptr_.end());
    for (const auto& edge : outward_) {
      const auto place = at(next_[at(edge.to)]++);
      from_[place] = edge.from;
      weights_[place] = edge.weight;
    }
  }

  struct Inner {
    int32_t from, to;
    Weight weight;
  };

  const C& csr_;
  Search<C> near_, around_;
  ReachedTable<Index, int32_t> ids_;  // numbers of the vertices around, in order of distance
  std::vector<Member> members_;
  std::vector<uint8_t> done_;
  std::vector<Inner> outward_;
  std::vector<int32_t> indptr_, next_, from_;
  std::vector<Weight> weights_, lanes_;
  int32_t counts_[kMembers];
  Weight greatest_[kMembers];
  uint64_t edges_ = 0;
  int misses_ = 0;
};

// Counts and greatest distances of many sources; returns the edges looked at.
template <class C>
uint64_t count_all(const C& csr, const Ids& sources, std::optional<double> limit, int threads,
                   int64_t* counts, typename C::Weight* greatest) {
  using Weight = typename C::Weight;
  const std::vector<uint32_t> order = in_order_of_vertex(sources);
  std::vector<int64_t> rising(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rising[i] = sources.data()[order[i]];
  const auto bound = farthest<Weight>(limit);
  const std::size_t run = std::clamp<std::size_t>(order.size() / at(4 * threads), kRun, 1 << 16);
  std::atomic<uint64_t> edges{0};
  spread(static_cast<int64_t>((order.size() + run - 1) / run), threads,
         [&](BatchCounter& counter, Interrupt& interrupt) {
           Search<C> alone(csr, kAll);
           Together<C> together(csr);
           for (int64_t number; (number = counter.take()) >= 0;) {
             const std::size_t first = at(number) * run;
             together.run(rising.data() + first, std::min(run, order.size() - first), bound, alone,
                          interrupt, [&](std::size_t i, std::size_t count, Weight most) {
                            const uint32_t row = order[first + i];
                            counts[row] = static_cast<int64_t>(count) - 1;
                            greatest[row] = count > 1 ? most : Weight(-1);
                          });
           }
           edges += alone.edges() + together.edges();
         });
  return edges;
}

// For each source (count, greatest distance or -1, sum, edges looked at) over the vertices reached
// apart from itself. Sums are left out (zeros) unless asked for: "sum" of the distances or
// "harmonic", of their inverses. At most `most` vertices are settled by a search.
nb::tuple figures(GraphView& view, const Ids& sources, std::optional<double> limit, int threads,
                  const std::string& added, std::optional<int64_t> most) {
  const bool sum = added == "sum", harmonic = added == "harmonic";
  const auto run = [&](const auto& csr) -> nb::tuple {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    check_sources(csr, sources);
    std::vector<int64_t> counts(sources.size());
    std::vector<Weight> greatest(sources.size());
    std::vector<double> totals(sources.size());
    uint64_t edges;
    {
      nb::gil_scoped_release release;
      if (added.empty() && !most && limit && sources.size() >= kRun)
        edges = count_all(csr, sources, limit, threads, counts.data(), greatest.data());
      else
        edges = each_source(
            csr, sources, limit, most ? static_cast<std::size_t>(*most) : kAll, threads,
            [] { return SumByHalves(); },
            [&](SumByHalves& by_halves, uint32_t row, const auto& search) {
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
            },
            [](const SumByHalves&) {});
    }
    return nb::make_tuple(as_numpy(std::move(counts)), as_numpy(std::move(greatest)),
                          as_numpy(std::move(totals)), edges);
  };
  return visit_rows(view, sources.size(), threads, run);
}

// The nearest of several sources for each vertex within the limit: (distances, the sources,
// predecessors, vertices reached), or None where a vertex is as far as its predecessor, so that
// which one a tree is made of is to be looked at more closely. Of tight edges the one from the
// least vertex makes the tree.
nb::object nearest(GraphView& view, const Ids& sources, std::optional<double> limit,
                   std::size_t expected) {
  const auto run = [&](const auto& csr) -> nb::object {
    using C = std::decay_t<decltype(csr)>;
    using Index = typename C::Index;
    using Weight = typename C::Weight;
    check_sources(csr, sources);
    const auto n = static_cast<std::size_t>(csr.n);
    std::vector<Weight> distances(n, unreached<Weight>());
    std::vector<int64_t> places(n, -1);
    std::vector<Index> before(n, -1);
    std::size_t reached;
    {
      nb::gil_scoped_release release;
      Interrupt interrupt;
      Search<C> search(csr, kAll, std::min(expected, n));
      search.run(sources.data(), sources.size(), farthest<Weight>(limit), interrupt);
      reached = search.size();
      for (const auto& one : search) distances[at(one.vertex)] = one.distance;
      for (const auto& one : search) {
        interrupt.poll(8 + at(csr.indptr[one.vertex + 1] - csr.indptr[one.vertex]));
        for (auto e = at(csr.indptr[one.vertex]); e < at(csr.indptr[one.vertex + 1]); ++e) {
          const auto edge = csr.edge(e);
          const std::size_t to = at(edge.target);
          if (candidate(one.distance, edge.weight) != static_cast<SumOf<Weight>>(distances[to]) ||
              distances[to] == unreached<Weight>())
            continue;
          if (distances[to] == one.distance && edge.target != one.vertex) return nb::none();
          if (edge.target != one.vertex && (before[to] < 0 || one.vertex < before[to]))
            before[to] = one.vertex;
        }
      }
      for (const auto& one : search)
        places[at(one.vertex)] = before[at(one.vertex)] < 0 ? static_cast<int64_t>(one.vertex)
                                                            : places[at(before[at(one.vertex)])];
    }
    return nb::make_tuple(as_numpy(std::move(distances)), as_numpy(std::move(places)),
                          as_numpy(std::move(before)), reached);
  };
  return visit_rows(view, expected / 64, 1, run);
}

// How much a value at some distance counts.
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

// Aggregates for each source the values of what lies on the vertices reached, itself included.
//
// The values of vertex v are rows place[v] to place[v + 1] of `values`, one column each; NaN is no
// value. For each column: the sum of value x decay, the sum of the decay over the values that there
// are, least and greatest value (NaN where there is none). Values are added in order of distance,
// then vertex, then row.
uint64_t aggregate(GraphView& view, const Ids& sources, double limit, int threads, const Ids& place,
                   const Values& values, const Decay& decay, const Table& sums, const Table& shares,
                   const Table& least, const Table& greatest) {
  const std::size_t width = values.shape(1);
  for (const Table* table : {&sums, &shares, &least, &greatest})
    if (table->shape(0) != sources.size() || table->shape(1) != width)
      throw nb::type_error("one row per source and one column per column of values");
  const auto run = [&](const auto& csr) -> uint64_t {
    check_sources(csr, sources);
    if (place.size() != static_cast<std::size_t>(csr.n) + 1 ||
        place.data()[csr.n] != static_cast<int64_t>(values.shape(0)))
      throw nb::type_error("place has one entry per vertex and one more");
    nb::gil_scoped_release release;
    return each_source(csr, sources, limit, threads, [&](uint32_t row, const auto& search) {
      double* sum = sums.data() + row * width;
      double* share = shares.data() + row * width;
      double* low = least.data() + row * width;
      double* high = greatest.data() + row * width;
      std::fill_n(sum, width, 0.0);
      std::fill_n(share, width, 0.0);
      std::fill_n(low, width, std::numeric_limits<double>::quiet_NaN());
      std::fill_n(high, width, std::numeric_limits<double>::quiet_NaN());
      for (const auto& one : search) {
        const auto v = static_cast<std::size_t>(one.vertex);
        const int64_t begin = place.data()[v], end = place.data()[v + 1];
        if (begin == end) continue;
        const double factor = decay(static_cast<double>(one.distance));
        for (int64_t i = begin; i < end; ++i) {
          const double* value = values.data() + static_cast<std::size_t>(i) * width;
          for (std::size_t c = 0; c < width; ++c) {
            if (std::isnan(value[c])) continue;
            sum[c] += factor * value[c];
            share[c] += factor;
            if (!(low[c] <= value[c])) low[c] = value[c];
            if (!(high[c] >= value[c])) high[c] = value[c];
          }
        }
      }
    });
  };
  return view.visit_packed(run, threads);
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
        arg("expected") = 0);
  m.def(
      "bounded_aggregate",
      [](GraphView& view, const Ids& sources, double limit, int threads, const Ids& place,
         const bounded::Values& values, const std::string& decay, double scale,
         std::optional<std::vector<double>> at, std::optional<std::vector<double>> factors,
         const bounded::Table& sums, const bounded::Table& shares, const bounded::Table& least,
         const bounded::Table& greatest) {
        return bounded::aggregate(view, sources, limit, threads, place, values,
                                  bounded::Decay(decay, scale, at, factors), sums, shares, least,
                                  greatest);
      },
      arg("view"), arg("sources"), arg("limit"), arg("threads"), arg("place"), arg("values"),
      arg("decay"), arg("scale"), arg("at").none(), arg("factors").none(), arg("sums"),
      arg("shares"), arg("least"), arg("greatest"));
}
}  // namespace nearfar
