// Betweenness of vertices and edges: dependencies added up over sources.
//
// Brandes 2001, "A faster algorithm for betweenness centrality": with sigma the numbers of shortest
// paths from s, the share of all paths from s that lead through v is
//   delta(v) = sum over successors w of sigma(v) / sigma(w) * (1 + delta(w)),
// found from the farthest vertex to the nearest. Here each vertex keeps (1 + delta) / sigma, so an
// edge costs one addition, and rows are pulled from successors instead of pushed to predecessors:
// the sum at a vertex has one order, that of its row, whatever runs beside it.
#include <atomic>

#include "cpu/bindings.hpp"
#include "measures/path_dag.hpp"
#include "measures/searches.hpp"

namespace nearfar::measures {
namespace {

// What goes wrong in a search of any worker; the first is kept.
struct Trouble {
  std::mutex mutex;
  std::atomic<bool> saturated{false};
  std::vector<int64_t> cycle;

  void report(const std::vector<int64_t>& found) {
    const std::lock_guard lock(mutex);
    if (cycle.empty()) cycle = found;
  }
};

struct Totals {
  OrderedSums<double>* vertices;
  OrderedSums<double>* edges;  // or null
  const uint8_t* targets;      // null: every vertex is one
  bool endpoints;
};

template <class C>
class Accumulation {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;

  Accumulation(const C& csr, const Totals& totals, Weight limit, double tolerance, Trouble& trouble,
               Interrupt& interrupt)
      : dag_(csr, totals.edges != nullptr),
        totals_(totals),
        limit_(limit),
        tolerance_(tolerance),
        trouble_(trouble),
        interrupt_(interrupt),
        share_(new double[static_cast<std::size_t>(csr.n)]) {}

  void start(int64_t) {
    vertices_ = totals_.vertices->take();
    if (totals_.edges != nullptr) edges_ = totals_.edges->take();
  }
  void done(int64_t block) {
    totals_.vertices->give(block, std::move(vertices_));
    if (totals_.edges != nullptr) totals_.edges->give(block, std::move(edges_));
  }

  // After a weighted search.
  void search(int64_t, Index source, const Weight* distances, const Buffer<Index>* touched) {
    dag_.build(source, distances, limit_, touched, tolerance_, interrupt_);
    if (dag_.saturated()) trouble_.saturated = true;
    if (!dag_.cycle().empty()) trouble_.report(dag_.cycle());
    if (trouble_.saturated || !dag_.cycle().empty()) throw GivenUp{};
    add();
  }

  void breadth_first(Index source, int64_t limit) {
    dag_.search(source, limit, interrupt_);
    add();
  }

 private:
  void add() {
    if (dag_.too_many()) {
      const std::vector<Scaled> paths = scaled_paths(dag_);
      std::vector<Scaled> share(dag_.reached());
      accumulate(paths.data(), share.data());
    } else {
      accumulate(dag_.paths(), share_.get());
    }
    dag_.clear();
  }

  template <class Count>
  void accumulate(const Count* paths, Count* share) {
    if (totals_.edges != nullptr)
      pull<true>(paths, share);
    else
      pull<false>(paths, share);
  }

  template <bool kEdges, class Count>
  void pull(const Count* paths, Count* share) {
    const uint8_t* const targets = totals_.targets;
    double ends = 0;
    for (std::size_t i = dag_.reached(); i-- > 0;) {
      Count sum{};
      for (std::size_t j = dag_.begin(i); j < dag_.end(i); ++j) {
        const Count& part = share[dag_.next(j)];
        sum += part;
        if constexpr (kEdges)
          edges_[static_cast<std::size_t>(dag_.edge(j))] += static_cast<double>(paths[i] * part);
      }
      const auto v = static_cast<std::size_t>(dag_.vertex(i));
      if (i == 0) {
        if (totals_.endpoints) vertices_[v] += ends;
        return;
      }
      const double through = static_cast<double>(paths[i] * sum);
      const double end = targets == nullptr || targets[v] != 0 ? 1 : 0;
      ends += end;
      share[i] = Count(end + through) / paths[i];
      vertices_[v] += totals_.endpoints ? through + end : through;
    }
  }

  PathDag<C> dag_;
  const Totals& totals_;
  const Weight limit_;
  const double tolerance_;
  Trouble& trouble_;
  Interrupt& interrupt_;
  std::unique_ptr<double[]> share_;  // (end + delta) / sigma by place
  std::vector<double> vertices_, edges_;
};

// Adds up into `vertices` and `edges`, zeros of the caller. Returns whether a sum saturated, so
// that the caller repeats with longer weights, and a cycle of weight zero or nothing.
Fields betweenness(GraphView& view, bool weighted, const Ids& sources, std::optional<Ids> targets,
                   std::optional<double> limit, double tolerance, bool endpoints,
                   const Array& vertices, const std::optional<Array>& edges, int threads) {
  Trouble trouble;
  auto run = [&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n), m = static_cast<std::size_t>(csr.m);
    OrderedSums<double> vertex_sums(checked<double>(vertices, n, "vertices"), n);
    OrderedSums<double> edge_sums(edges ? checked<double>(*edges, m, "edges") : nullptr, m);
    const auto is_vertex = [n](int64_t v) { return v >= 0 && static_cast<std::size_t>(v) < n; };
    const Sources from{sources.data(), sources.size()};
    for (std::size_t i = 0; i < from.count; ++i)
      if (!is_vertex(from.vertices[i])) throw nb::index_error("source is not a vertex");
    std::vector<uint8_t> is_target;
    if (targets) {
      is_target.assign(n, 0);
      for (std::size_t i = 0; i < targets->size(); ++i) {
        if (!is_vertex(targets->data()[i])) throw nb::index_error("target is not a vertex");
        is_target[static_cast<std::size_t>(targets->data()[i])] = 1;
      }
    }
    const Totals totals{&vertex_sums, edges ? &edge_sums : nullptr,
                        targets ? is_target.data() : nullptr, endpoints};
    const Weight far = limit_as<Weight>(limit);
    nb::gil_scoped_release release;
    const DeltaPlan plan = weighted ? plan_for(csr, std::nullopt) : DeltaPlan{};
    spread(from.blocks(), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      Accumulation<C> sums(csr, totals, far, tolerance, trouble, interrupt);
      try {
        if (weighted) {
          WeightedSearches<C, Accumulation<C>>(csr, from, far, counter, sums, interrupt).run(plan);
          return;
        }
        const int64_t hops = limit ? static_cast<int64_t>(std::min(*limit, 9e18))
                                   : std::numeric_limits<int64_t>::max();
        SourceQueue<Accumulation<C>> queue(from, counter, sums);
        for (int64_t i; (i = queue.next()) >= 0;)
          sums.breadth_first(static_cast<typename C::Index>(from.vertices[i]), hops);
      } catch (const GivenUp&) {
        counter.stop();
        throw;
      }
    });
  };
  if (weighted) {
    nb::gil_scoped_release release;
    view.pack(threads);
  }
  view.visit(run);
  nb::dict found;
  found["saturated"] = trouble.saturated.load();
  found["cycle"] = as_numpy(std::move(trouble.cycle));
  return found;
}

}  // namespace

}  // namespace nearfar::measures

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("betweenness", &measures::betweenness, arg("view"), arg("weighted"), arg("sources"),
        arg("targets").none(), arg("limit").none(), arg("tolerance"), arg("endpoints"),
        arg("vertices"), arg("edges").none(), arg("threads") = 1);
}
}  // namespace nearfar
