// Aggregates of values at the vertices that a source reaches within a limit, by searches or from
// rows of distances.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/bounded/each_source.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::bounded {
namespace {

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
