// Betweenness of vertices and edges: the sum of Brandes' dependencies over sources.
//
// Brandes 2001, "A faster algorithm for betweenness centrality": let sigma be the number of
// shortest paths from s. The share of all paths from s that pass through v is
//   delta(v) = sum over successors w of sigma(v) / sigma(w) * (1 + delta(w)),
// computed from the farthest vertex to the nearest. Each vertex stores (1 + delta) / sigma, so an
// edge costs one addition. The graph is first reduced to a smaller one with the same answer
// (compact.hpp). Betweenness of vertices takes two passes over the edges (level_passes.hpp,
// tight_passes.hpp), for eight sources at once where the diameter is small (lane_passes.hpp).
// Counting endpoints, a limit, a tolerance, path counts that overflow a double, and betweenness of
// edges where sources are searched one by one need the shortest paths as an explicit graph
// (path_dag.hpp).
#include <atomic>

#include "cpu/bindings/bindings.hpp"
#include "measures/centrality/compact.hpp"
#include "measures/centrality/lane_rows.hpp"
#include "measures/centrality/level_passes.hpp"
#include "measures/centrality/tight_passes.hpp"
#include "measures/paths/path_dag.hpp"
#include "measures/paths/searches.hpp"

namespace nearfar::measures {
namespace {

// The first error of any worker's search.
struct Failure {
  std::mutex mutex;
  std::atomic<bool> saturated{false};
  std::vector<int64_t> cycle;

  void report(const std::vector<int64_t>& found) {
    const std::lock_guard lock(mutex);
    if (cycle.empty()) cycle = found;
  }
};

// Options of the request.
template <class Weight>
struct Request {
  Weight limit;
  int64_t hops;  // the limit of an unweighted search
  double tolerance;
  bool edges, endpoints;

  // Whether eight sources may be searched at once; only without weights.
  bool in_lanes() const { return !endpoints && hops == std::numeric_limits<int64_t>::max(); }

  // Whether only the betweenness of vertices is requested.
  bool plain() const {
    return !edges && !endpoints && tolerance == 0 && limit == unreached<Weight>() &&
           hops == std::numeric_limits<int64_t>::max();
  }
};

struct Totals {
  OrderedSums<double>* vertices;
  OrderedSums<double>* edges;  // or null
};

// A folded vertex may be on a cycle of weight zero, or its distance may overflow.
struct NotFolded {};

// The edges in the form that the passes read.
template <class C>
struct Layout {
  PaddedRows rows;
  EdgeList<C> edges;
  LaneRows lanes;
};

template <class C, bool kWeighted>
class Accumulation final : public PolicyOf<C> {
 public:
  using Weight = typename C::Weight;

  Accumulation(const Compact<C>& graph, const C& csr, const Layout<C>& layout,
               const Request<Weight>& request, const Totals& totals, Failure& failure,
               Interrupt& interrupt)
      : graph_(graph),
        csr_(csr),
        request_(request),
        totals_(totals),
        failure_(failure),
        interrupt_(interrupt) {
    if (!request.plain() || graph.for_lanes) return;
    if constexpr (kWeighted)
      passes_.emplace(graph, layout.edges);
    else
      passes_.emplace(graph, layout.rows);
  }

  void start(int64_t) override {
    vertices_ = totals_.vertices->take();
    if (totals_.edges != nullptr) edges_ = totals_.edges->take();
  }
  void done(int64_t block) override {
    totals_.vertices->give(block, std::move(vertices_));
    if (totals_.edges != nullptr) totals_.edges->give(block, std::move(edges_));
  }

  // After a weighted search.
  void search(int64_t, Index source, const Weight* distances,
              const Buffer<Index>* touched) override {
    if constexpr (kWeighted) {
      const double weight = graph_.sources[static_cast<std::size_t>(source)];
      if (passes_) {
        const Passed passed = passes_->run(source, weight, distances, vertices_.data(), interrupt_);
        if (passed == Passed::done) return;
        if (passed == Passed::disorderly && graph_.any_folded) throw NotFolded{};
      }
      PathDag<C>& dag = successors();
      dag.build(source, distances, request_.limit, touched, request_.tolerance, interrupt_);
      if (dag.saturated()) failure_.saturated = true;
      if (!dag.cycle().empty()) failure_.report(dag.cycle());
      if (failure_.saturated || !dag.cycle().empty()) throw GivenUp{};
      add(weight);
    }
  }

  // Processes up to 64 sources of one block, with their distances in `space`. A source whose path
  // counts overflow a double is searched separately.
  void in_lanes(const LaneGraph& graph, LaneSpace& space, const int32_t* sources, int count,
                int from) {
    for (int i = 0; i < count; i += kLanes) {
      interrupt_.poll(kLanes * static_cast<uint64_t>(csr_.m));
      const int lanes = std::min(kLanes, count - i);
      alignas(64) double weights[kLanes] = {};
      for (int k = 0; k < lanes; ++k)
        weights[k] = graph_.sources[static_cast<std::size_t>(sources[i + k])];
      double* const edges = totals_.edges == nullptr ? nullptr : edges_.data();
      if (NEARFAR_PICK_ISA(lane_passes)(graph, space, from + i, weights, vertices_.data(), edges))
        continue;
      for (int k = 0; k < lanes; ++k) breadth_first(sources[i + k]);
    }
  }

  void breadth_first(Index source) {
    const double weight = graph_.sources[static_cast<std::size_t>(source)];
    if (passes_ && passes_->run(source, weight, vertices_.data(), interrupt_)) return;
    successors().search(source, request_.hops, interrupt_);
    add(weight);
  }

 private:
  PathDag<C>& successors() {
    if (!dag_) {
      dag_.emplace(csr_, totals_.edges != nullptr);
      share_.reset(new double[static_cast<std::size_t>(csr_.n)]);
    }
    return *dag_;
  }

  void add(double weight) {
    if (dag_->too_many()) {
      const std::vector<Scaled> paths = scaled_paths(*dag_);
      std::vector<Scaled> share(dag_->reached());
      accumulate(weight, paths.data(), share.data());
    } else {
      accumulate(weight, dag_->paths(), share_.get());
    }
    dag_->clear();
  }

  template <class Count>
  void accumulate(double weight, const Count* paths, Count* share) {
    if (totals_.edges != nullptr)
      pull<true>(weight, paths, share);
    else
      pull<false>(weight, paths, share);
  }

  // Rows are pulled from successors instead of pushed to predecessors, so the sum at a vertex is
  // always added in the order of its row, on any number of threads.
  template <bool kEdges, class Count>
  void pull(double weight, const Count* paths, Count* share) {
    const PathDag<C>& dag = *dag_;
    double all_ends = 0;
    for (std::size_t i = dag.reached(); i-- > 0;) {
      Count sum{};
      for (std::size_t j = dag.begin(i); j < dag.end(i); ++j) {
        const Count& part = share[dag.next(j)];
        sum += part;
        if constexpr (kEdges)
          edges_[static_cast<std::size_t>(dag.edge(j))] += static_cast<double>(paths[i] * part);
      }
      const auto v = static_cast<std::size_t>(dag.vertex(i));
      if (i == 0) {
        if (request_.endpoints) vertices_[v] += all_ends;
        return;
      }
      const auto ends = static_cast<double>(graph_.ends[v].all);
      const auto behind = static_cast<double>(graph_.ends[v].behind);
      const double through = static_cast<double>(paths[i] * sum) + behind;
      all_ends += ends;
      share[i] = Count(ends) / paths[i];
      share[i] += sum;
      vertices_[v] += weight * (request_.endpoints ? through + ends : through);
    }
  }

  const Compact<C>& graph_;
  const C& csr_;
  const Request<Weight>& request_;
  const Totals& totals_;
  Failure& failure_;
  Interrupt& interrupt_;
  std::optional<std::conditional_t<kWeighted, TightPasses<C>, LevelPasses<C>>> passes_;
  std::optional<PathDag<C>> dag_;
  std::unique_ptr<double[]> share_;  // by place: ends / sigma + successors' shares
  std::vector<double> vertices_, edges_;
};

// Batches of sources that are searched together, grouped into blocks that are summed together.
// Blocks depend only on the sources; batches are smaller where otherwise workers would be idle.
class LaneBatches {
 public:
  LaneBatches(std::size_t sources, int threads) : sources_(static_cast<int64_t>(sources)) {
    while (block_ < kMostLanes && block_ * 128 < sources_) block_ *= 2;
    while (batch_ > block_ && count() < 2 * threads) batch_ /= 2;
  }

  int64_t count() const { return (sources_ + batch_ - 1) / batch_; }

  // Returns the number of sources in a batch.
  template <class Sums, class Layout>
  int64_t run(int64_t number, const std::vector<int32_t>& sources, const Layout& layout,
              LaneSpace& space, Sums& sums) const {
    const int64_t first = number * batch_, end = std::min(first + batch_, sources_);
    const int32_t* const from = sources.data() + first;
    const LaneGraph& graph = layout.lanes.graph;
    NEARFAR_PICK_ISA(lane_visits)(graph, space, from, static_cast<int>(end - first));
    for (int64_t low = first; low < end; low += block_) {
      const int64_t count = std::min(block_, end - low);
      sums.start(low / block_);
      sums.in_lanes(graph, space, from + (low - first), static_cast<int>(count),
                    static_cast<int>(low - first));
      sums.done(low / block_);
    }
    return end - first;
  }

 private:
  const int64_t sources_;
  int64_t block_ = kLanes, batch_ = kMostLanes;
};

struct Marks {
  std::vector<uint8_t> sources, targets;
};

// Adds to `vertices` and `edges`, indexed by the caller's vertex and edge numbers.
template <bool kWeighted, class C>
void add_up(const C& given, bool fold, const Marks& marks,
            const Request<typename C::Weight>& request, double* vertices, double* edges,
            const RowsOf& rows, Failure& failure, int threads, const Progress& progress) {
  using Weight = typename C::Weight;
  using Sums = Accumulation<C, kWeighted>;
  const bool lanes = !kWeighted && request.in_lanes();
  const Compact<C> graph(given, fold, lanes, marks.sources, marks.targets);
  GraphView view(graph.csr, HugeBlock());
  C csr = graph.csr;
  if constexpr (kWeighted)
    view.visit_packed(
        [&](const auto& rows) {
          if constexpr (std::is_same_v<std::decay_t<decltype(rows)>, C>) csr = rows;
        },
        threads);
  Layout<C> layout;
  if constexpr (kWeighted) {
    if (request.plain()) layout.edges = EdgeList<C>(graph);
  } else if (graph.for_lanes) {
    layout.lanes = LaneRows(graph);
  } else if (request.plain()) {
    layout.rows = PaddedRows(graph);
  }
  const std::vector<int64_t> starts(graph.starts.begin(), graph.starts.end());
  Report report(progress, starts.size());
  const Sources from{starts.data(), starts.size(), &report};
  const auto n = static_cast<std::size_t>(csr.n), m = static_cast<std::size_t>(csr.m);
  std::vector<double> on_vertices(n), on_edges(request.edges ? m : 0);
  OrderedSums<double> vertex_sums(on_vertices.data(), n), edge_sums(on_edges.data(), m);
  const Totals totals{&vertex_sums, request.edges ? &edge_sums : nullptr};
  const auto worker = [&](Interrupt& interrupt) {
    return Sums(graph, csr, layout, request, totals, failure, interrupt);
  };
  if constexpr (kWeighted) {
    const auto given_up = [](BatchCounter& counter, auto&& work) {
      try {
        work();
      } catch (const GivenUp&) {
        counter.stop();
        throw;
      }
    };
    if (rows) {
      std::vector<int64_t> names;
      for (const int64_t v : starts) names.push_back(graph.vertex[static_cast<std::size_t>(v)]);
      over_rows<Weight>(
          *rows, from, names.data(), static_cast<std::size_t>(given.n), threads,
          [&](BatchCounter& counter, int64_t shift, const auto& row_of, Interrupt& interrupt) {
            Sums sums = worker(interrupt);
            SourceQueue queue(from, counter, sums, shift);
            std::unique_ptr<Weight[]> distances(new Weight[n]);
            distances[0] = unreached<Weight>();
            given_up(counter, [&] {
              for (int64_t i; (i = queue.next()) >= 0;) {
                const Weight* const row = row_of(i);
                for (std::size_t v = 1; v < n; ++v)
                  distances[v] = row[static_cast<std::size_t>(graph.vertex[v])];
                sums.search(i, static_cast<Index>(from.vertices[i]), distances.get(), nullptr);
              }
            });
          });
    } else {
      const DeltaPlan plan = plan_for(csr, std::nullopt);
      spread(from.blocks(), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
        Sums sums = worker(interrupt);
        given_up(counter, [&] {
          WeightedSearches<C>(csr, from, request.limit, counter, sums, interrupt).run(plan);
        });
      });
    }
  } else if (graph.for_lanes) {
    const LaneBatches batches(from.count, threads);
    const std::vector<int32_t> sources(graph.starts.begin(), graph.starts.end());
    spread(batches.count(), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      Sums sums = worker(interrupt);
      LaneSpace space(n);
      for (int64_t k; (k = counter.take()) >= 0;)
        report.finished(batches.run(k, sources, layout, space, sums));
    });
  } else {
    spread(from.blocks(), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      Sums sums = worker(interrupt);
      SourceQueue queue(from, counter, sums);
      for (int64_t i; (i = queue.next()) >= 0;)
        sums.breadth_first(static_cast<Index>(from.vertices[i]));
    });
  }
  for (int64_t& v : failure.cycle) v = graph.vertex[static_cast<std::size_t>(v)];
  graph.add_up(on_vertices, vertices);
  for (std::size_t e = 0; e < on_edges.size(); ++e)
    edges[static_cast<std::size_t>(graph.edge[e])] += on_edges[e];
}

std::vector<uint8_t> marked(std::size_t n, const Ids& vertices, const char* what) {
  std::vector<uint8_t> marks(n, 0);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const int64_t v = vertices.data()[i];
    if (v < 0 || static_cast<std::size_t>(v) >= n) throw nb::index_error(what);
    marks[static_cast<std::size_t>(v)] = 1;
  }
  return marks;
}

// Adds to `vertices` and `edges`, which the caller has zeroed. Returns whether a sum saturated (the
// caller then repeats with wider weights) and a cycle of weight zero, empty if there is none.
// `rows` is used only without a limit and where sums fit the weights' type.
Fields betweenness(GraphView& view, bool weighted, const Ids& sources, std::optional<Ids> targets,
                   std::optional<double> limit, double tolerance, bool endpoints,
                   const Array& vertices, const std::optional<Array>& edges, int threads,
                   const RowsOf& rows, const Progress& progress) {
  Failure failure;
  view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    if (csr.m > std::numeric_limits<Index>::max())
      throw nb::value_error("betweenness takes fewer than 2^31 edges: take a part of the graph");
    const auto n = static_cast<std::size_t>(csr.n), m = static_cast<std::size_t>(csr.m);
    double* const on_vertices = checked<double>(vertices, n, "vertices");
    double* const on_edges = edges ? checked<double>(*edges, m, "edges") : nullptr;
    const Marks marks{
        marked(n, sources, "source is not a vertex"),
        targets ? marked(n, *targets, "target is not a vertex") : std::vector<uint8_t>(n, 1)};
    const Request<Weight> request{weighted ? limit_as<Weight>(limit) : unreached<Weight>(),
                                  limit && !weighted ? static_cast<int64_t>(std::min(*limit, 9e18))
                                                     : std::numeric_limits<int64_t>::max(),
                                  tolerance, edges.has_value(), endpoints};
    const auto run = [&](bool fold) {
      const auto add = [&](auto weights) {
        add_up<weights>(csr, fold, marks, request, on_vertices, on_edges, rows, failure, threads,
                        progress);
      };
      if (weighted)
        add(std::true_type());
      else if constexpr (std::is_same_v<Weight, int32_t>)  // ones
        add(std::false_type());
    };
    if (!weighted && !std::is_same_v<Weight, int32_t>)
      throw nb::type_error("a graph without weights has int32 ones");
    nb::gil_scoped_release release;
    if (request.plain()) try {
        run(true);
        return;
      } catch (const NotFolded&) {
      }
    run(false);
  });
  nb::dict found;
  found["saturated"] = failure.saturated.load();
  found["cycle"] = as_numpy(std::move(failure.cycle));
  return found;
}

}  // namespace

}  // namespace nearfar::measures

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("betweenness", &measures::betweenness, arg("view"), arg("weighted"), arg("sources"),
        arg("targets").none(), arg("limit").none(), arg("tolerance"), arg("endpoints"),
        arg("vertices"), arg("edges").none(), arg("threads") = 1, arg("rows").none() = nb::none(),
        arg("progress").none() = nb::none());
}
}  // namespace nearfar
