// Loads of edges when demand takes shortest paths, and sums of quantities along the paths.
//
// The loads of one source are summed from the ends of its paths backwards. Each edge is visited
// once, so a source costs the number of edges on its paths, not the total length of the paths. Sums
// over sources are made in blocks, in order (ordered_sums.hpp): the same bits on any number of
// threads.
#include "cpu/bindings/bindings.hpp"
#include "measures/paths/routes.hpp"
#include "measures/paths/searches.hpp"

namespace nearfar::measures {
namespace {

// Rows of demand: from sources[i] to targets[first[i]] up to targets[first[i + 1]].
template <class Number>
struct Demand {
  const int64_t* first;
  const int64_t* targets;
  const Number* amounts;
  double* lengths;  // output: the length of each path; inf if there is none
};

template <class C, class Number>
class Loading final : public PolicyOf<C> {
 public:
  using Weight = typename C::Weight;

  Loading(const C& csr, const Entering& entering, const Demand<Number>& demand,
          OrderedSums<Number>& sums, Interrupt& interrupt)
      : routes_(csr, entering),
        demand_(demand),
        sums_(sums),
        interrupt_(interrupt),
        load_(new Number[static_cast<std::size_t>(csr.n)]()),
        pending_(new Index[static_cast<std::size_t>(csr.n)]()) {}

  void start(int64_t) override { edges_ = sums_.take(); }
  void done(int64_t block) override { sums_.give(block, std::move(edges_)); }

  void search(int64_t i, Index source, const Weight* distances, const Buffer<Index>*) override {
    const int64_t low = demand_.first[i], high = demand_.first[i + 1];
    routes_.start(source, distances);
    for (int64_t j = low; j < high; ++j) {
      const int64_t t = demand_.targets[j];
      const bool reached = distances[t] != unreached<Weight>();
      demand_.lengths[j] =
          reached ? static_cast<double>(distances[t]) : std::numeric_limits<double>::infinity();
      if (!reached) continue;
      load_[t] += demand_.amounts[j];
      uint64_t steps = 0;
      for (int64_t v = t; !routes_.known(v); ++steps) {
        routes_.find(v);
        v = routes_.before(v);
        ++pending_[v];
      }
      interrupt_.poll(8 * steps + 1);
    }
    // A vertex passes its load on after it has received all of it.
    for (int64_t j = low; j < high; ++j) {
      int64_t v = demand_.targets[j];
      if (distances[v] == unreached<Weight>()) continue;
      while (v != source && pending_[v] == 0 && load_[v] != 0) {
        const Number load = std::exchange(load_[v], Number{0});
        edges_[static_cast<std::size_t>(routes_.edge(v))] += load;
        v = routes_.before(v);
        load_[v] += load;
        --pending_[v];
      }
    }
    load_[source] = 0;
  }

 private:
  Routes<C> routes_;
  const Demand<Number>& demand_;
  OrderedSums<Number>& sums_;
  Interrupt& interrupt_;
  std::unique_ptr<Number[]> load_;    // received by a vertex and not yet passed on
  std::unique_ptr<Index[]> pending_;  // vertices that have yet to pass their load on to it
  std::vector<Number> edges_;
};

// Quantities of edges, one row of m each; totals: the sums of all quantities per source and target.
template <class Number>
struct Quantities {
  const Number* rows;
  std::size_t count, edges;
  const int64_t* targets;
  std::size_t width;
  Number* totals;
  Number none;
};

template <class C, class Number>
class Skimming final : public PolicyOf<C> {
 public:
  using Weight = typename C::Weight;

  Skimming(const C& csr, const Entering& entering, const Quantities<Number>& quantities,
           Weight* lengths, Interrupt& interrupt)
      : routes_(csr, entering),
        quantities_(quantities),
        lengths_(lengths),
        interrupt_(interrupt),
        total_(new Number[static_cast<std::size_t>(csr.n) * quantities.count]) {}

  void search(int64_t i, Index source, const Weight* distances, const Buffer<Index>*) override {
    const Quantities<Number>& q = quantities_;
    routes_.start(source, distances);
    std::fill_n(&total_[static_cast<std::size_t>(source) * q.count], q.count, Number{0});
    const std::size_t row = static_cast<std::size_t>(i) * q.width;
    for (std::size_t j = 0; j < q.width; ++j) {
      const int64_t t = q.targets[j];
      Number* const found = q.totals + (row + j) * q.count;
      lengths_[row + j] = distances[t];
      if (distances[t] == unreached<Weight>()) {
        std::fill_n(found, q.count, q.none);
        continue;
      }
      way_.size = 0;
      for (int64_t v = t; !routes_.known(v); v = routes_.before(v)) {
        routes_.find(v);
        way_.push(v);
      }
      interrupt_.poll(8 * way_.size + 1);
      while (way_.size > 0) {
        const int64_t v = way_.data[--way_.size];
        const Number* const here = at(routes_.before(v));
        for (std::size_t k = 0; k < q.count; ++k)
          at(v)[k] = here[k] + q.rows[k * q.edges + static_cast<std::size_t>(routes_.edge(v))];
      }
      std::copy_n(at(t), q.count, found);
    }
  }

 private:
  Number* at(int64_t v) { return &total_[static_cast<std::size_t>(v) * quantities_.count]; }

  Routes<C> routes_;
  const Quantities<Number>& quantities_;
  Weight* const lengths_;
  Interrupt& interrupt_;
  std::unique_ptr<Number[]> total_;  // sum from the source to a vertex
  Buffer<int64_t> way_;
};

// Runs a search from each source and calls the policies that `make` creates, one per worker.
template <class C>
void search_all(const C& csr, const Sources& sources, const int64_t* targets, std::size_t count,
                const RowsOf& rows, int threads,
                const std::function<std::unique_ptr<PolicyOf<C>>(Interrupt&)>& make) {
  if (rows) {
    over_rows<typename C::Weight>(
        *rows, sources, sources.vertices, static_cast<std::size_t>(csr.n), threads,
        [&](BatchCounter& counter, int64_t shift, const auto& row_of, Interrupt& interrupt) {
          const auto policy = make(interrupt);
          SourceQueue queue(sources, counter, *policy, shift);
          for (int64_t i; (i = queue.next()) >= 0;)
            policy->search(i, static_cast<Index>(sources.vertices[i]), row_of(i), nullptr);
        });
    return;
  }
  const DeltaPlan plan = plan_for(csr, std::nullopt);
  spread(sources.blocks(), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    const auto policy = make(interrupt);
    WeightedSearches<C> searches(csr, sources, unreached<typename C::Weight>(), counter, *policy,
                                 interrupt);
    searches.run(plan, targets, count);
  });
}

void check(const Ids& vertices, int64_t n, const char* what) {
  for (std::size_t i = 0; i < vertices.size(); ++i)
    if (vertices.data()[i] < 0 || vertices.data()[i] >= n) throw nb::index_error(what);
}

// A graph with the sources and targets of its searches, validated.
struct Network {
  Network(GraphView& view, const Ids& first_in, const Ids& entering, const Ids& tails,
          const Ids& sources, const Ids& targets, const Progress& progress)
      : in{first_in.data(), entering.data(), tails.data()},
        report(progress, sources.size()),
        from{sources.data(), sources.size(), &report} {
    view.visit([&](const auto& csr) {
      n = static_cast<int64_t>(csr.n);
      m = static_cast<std::size_t>(csr.m);
    });
    if (first_in.size() != static_cast<std::size_t>(n) + 1 || entering.size() != m ||
        tails.size() != m)
      throw nb::value_error("the arrays do not fit together");
    check(sources, n, "a source is not a vertex");
    check(targets, n, "a target is not a vertex");
  }

  int64_t n = 0;
  std::size_t m = 0;
  const Entering in;
  Report report;
  const Sources from;
};

// Calls run with a value of the array's number type.
template <class Run>
void with_number(const ConstArray& array, const char* expected, const Run& run) {
  if (array.dtype() == nb::dtype<int64_t>())
    run(int64_t{});
  else if (array.dtype() == nb::dtype<double>())
    run(double{});
  else
    throw nb::type_error(expected);
}

// `ends`: all targets, without duplicates. The caller must have ruled out saturated sums.
void edge_loads(GraphView& view, const Ids& first_in, const Ids& entering, const Ids& tails,
                const Ids& sources, const Ids& first, const Ids& targets, const Ids& ends,
                const ConstArray& amounts, const Array& lengths, const Array& loads, int threads,
                const RowsOf& rows, const Progress& progress) {
  const Network network(view, first_in, entering, tails, sources, targets, progress);
  if (first.size() != sources.size() + 1 || amounts.size() != targets.size())
    throw nb::value_error("the arrays do not fit together");
  with_number(amounts, "amounts: int64 or float64", [&](auto tag) {
    using Number = decltype(tag);
    const Demand<Number> demand{first.data(), targets.data(),
                                static_cast<const Number*>(amounts.data()),
                                checked<double>(lengths, targets.size(), "lengths")};
    OrderedSums<Number> sums(checked<Number>(loads, network.m, "loads"), network.m);
    nb::gil_scoped_release release;
    view.visit_packed(
        [&](const auto& csr) {
          using C = std::decay_t<decltype(csr)>;
          search_all<C>(csr, network.from, ends.data(), ends.size(), rows, threads,
                        [&](Interrupt& interrupt) {
                          return std::make_unique<Loading<C, Number>>(csr, network.in, demand, sums,
                                                                      interrupt);
                        });
        },
        threads);
  });
}

void skims(GraphView& view, const Ids& first_in, const Ids& entering, const Ids& tails,
           const Ids& sources, const Ids& targets, const ConstArray& quantities, int64_t count,
           const Array& lengths, const Array& totals, int threads, const RowsOf& rows,
           const Progress& progress) {
  const Network network(view, first_in, entering, tails, sources, targets, progress);
  const auto k = static_cast<std::size_t>(count), pairs = sources.size() * targets.size();
  if (quantities.size() != k * network.m) throw nb::value_error("the arrays do not fit together");
  with_number(quantities, "quantities: int64 or float64", [&](auto tag) {
    using Number = decltype(tag);
    const Quantities<Number> wanted{static_cast<const Number*>(quantities.data()),
                                    k,
                                    network.m,
                                    targets.data(),
                                    targets.size(),
                                    checked<Number>(totals, pairs * k, "totals"),
                                    unreached<Number>()};
    view.visit([&](const auto& csr) {
      checked<typename std::decay_t<decltype(csr)>::Weight>(lengths, pairs, "lengths");
    });
    nb::gil_scoped_release release;
    view.visit_packed(
        [&](const auto& csr) {
          using C = std::decay_t<decltype(csr)>;
          auto* const found = static_cast<typename C::Weight*>(lengths.data());
          search_all<C>(csr, network.from, targets.data(), targets.size(), rows, threads,
                        [&](Interrupt& interrupt) {
                          return std::make_unique<Skimming<C, Number>>(csr, network.in, wanted,
                                                                       found, interrupt);
                        });
        },
        threads);
  });
}

}  // namespace
}  // namespace nearfar::measures

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("edge_loads", &measures::edge_loads, arg("view"), arg("first_in"), arg("entering"),
        arg("tails"), arg("sources"), arg("first"), arg("targets"), arg("ends"), arg("amounts"),
        arg("lengths"), arg("loads"), arg("threads") = 1, arg("rows").none() = nb::none(),
        arg("progress").none() = nb::none());
  m.def("skims", &measures::skims, arg("view"), arg("first_in"), arg("entering"), arg("tails"),
        arg("sources"), arg("targets"), arg("quantities"), arg("count"), arg("lengths"),
        arg("totals"), arg("threads") = 1, arg("rows").none() = nb::none(),
        arg("progress").none() = nb::none());
}
}  // namespace nearfar
