// worker_per_source@cpu: each worker searches from one source after the other.
//
// A worker keeps its queue, and for rows that are not wanted whole a distance array and the list of
// vertices it touched, so that a search that ends early (limit, columns) costs what it visits and
// not O(n): a thousand isochrones on a continent are a thousand small searches. The queue is the
// lazy 4-ary heap of cpu/heaps, over packed (distance, vertex) keys, or the buckets of
// delta-stepping in cpu/buckets, which start from the width that the worker's last search came to.
// Distances are the same from both: sums are rounded along each path from its source on, and the
// least of them does not depend on the order in which they are found.
#include <nanobind/stl/optional.h>

#include <memory>

#include "algorithms/delta_stepping/plan.hpp"
#include "cpu/bindings.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/search.hpp"
#include "cpu/spread.hpp"

namespace nearfar::batched {
namespace {

struct Columns {
  const int64_t* vertices = nullptr;  // null: every vertex
  std::size_t count = 0;
};

void add(SearchStats& total, const SearchStats& more) {
  total.vertices_processed += more.vertices_processed;
  total.edges_relaxed += more.edges_relaxed;
  total.stale += more.stale;
}

// What the caller wants of a search: a row for each source.
template <class C>
struct Rows {
  const int64_t* sources;
  typename C::Weight* first;
  std::size_t width;
  typename C::Weight limit;
  Columns columns;

  typename C::Weight* row(int64_t i) const { return first + static_cast<std::size_t>(i) * width; }
};

template <class C>
class HeapWorker {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;

  HeapWorker(const C& csr, Weight limit, Columns columns)
      : csr_(csr), limit_(limit), columns_(columns), heap_(csr.n) {
    if (columns.vertices == nullptr) return;
    own_.reset(new Weight[static_cast<std::size_t>(csr.n)]);
    std::fill_n(own_.get(), static_cast<std::size_t>(csr.n), unreached<Weight>());
  }

  SearchStats solve(Index source, Weight* row, Interrupt& interrupt) {
    SearchStats stats;
    if (columns_.vertices == nullptr) {
      std::fill_n(row, static_cast<std::size_t>(csr_.n), unreached<Weight>());
      search<false>(source, row, stats, interrupt);
      return stats;
    }
    search<true>(source, own_.get(), stats, interrupt);
    for (std::size_t c = 0; c < columns_.count; ++c) row[c] = own_[columns_.vertices[c]];
    for (std::size_t i = 0; i < touched_.size; ++i) own_[touched_.data[i]] = unreached<Weight>();
    touched_.size = 0;
    return stats;
  }

 private:
  template <bool kTouch>
  void search(Index source, Weight* distance, SearchStats& stats, Interrupt& interrupt) {
    StopRule<Weight> stop;
    stop.targets = columns_.vertices;
    stop.n_targets = columns_.count;
    distance[source] = 0;
    if constexpr (kTouch) touched_.push(source);
    heap_.insert(source, 0);
    Index v;
    Weight d;
    bool open = true;
    while (heap_.pop(v, d)) {
      if (!open) continue;  // empty the heap for the next source
      if (d != distance[v]) {
        ++stats.stale;
        continue;
      }
      if (stop.reached_all(distance, d)) {
        open = false;
        continue;
      }
      const auto begin = static_cast<std::size_t>(csr_.indptr[v]);
      const auto end = static_cast<std::size_t>(csr_.indptr[v + 1]);
      ++stats.vertices_processed;
      stats.edges_relaxed += end - begin;
      interrupt.poll(end - begin + 8);
      for (std::size_t e = begin; e < end; ++e) {
        const auto edge = csr_.edge(e);
        const auto sum = candidate(d, edge.weight);
        const Weight old = distance[edge.target];
        if (!improves(sum, old)) continue;
        const auto shorter = static_cast<Weight>(sum);
        if (shorter > limit_) continue;
        if constexpr (kTouch)
          if (old == unreached<Weight>()) touched_.push(edge.target);
        distance[edge.target] = shorter;
        if (!edge.dead_end) heap_.insert(edge.target, shorter);
      }
    }
  }

  const C& csr_;
  Weight limit_;
  Columns columns_;
  DaryHeap<Index, Weight, 4> heap_;
  std::unique_ptr<Weight[]> own_;
  Buffer<Index> touched_;
};

// Searches over buckets; the search asks for the next source by itself (DeltaFeed).
template <class C>
class BucketWorker {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;

  // `several`: it will search that many sources that distances of its own, which stay in the
  // caches, are worth copying to the rows.
  BucketWorker(const C& csr, const Rows<C>& rows, BatchCounter& counter, bool several)
      : csr_(csr), rows_(rows), counter_(counter), picks_(rows.columns.vertices != nullptr) {
    if (!picks_ && !several) return;
    own_.reset(new Weight[static_cast<std::size_t>(csr.n)]);
    std::fill_n(own_.get(), static_cast<std::size_t>(csr.n), unreached<Weight>());
  }

  SearchStats run(DeltaPlan plan, Interrupt& interrupt) {
    StopRule<Weight> stop;
    stop.limit = rows_.limit;
    stop.targets = rows_.columns.vertices;
    stop.n_targets = rows_.columns.count;
    const DeltaFeed<C> feed{&next, this, picks_ ? &touched_ : nullptr};
    return delta_stepping::sequential(csr_, feed, stop, plan, interrupt);
  }

 private:
  static bool next(void* self, Index& source, Weight*& distances) {
    auto& worker = *static_cast<BucketWorker*>(self);
    worker.finish();
    const int64_t i = worker.now_ = worker.counter_.take();
    if (i < 0) return false;
    source = static_cast<Index>(worker.rows_.sources[i]);
    distances = worker.own_ ? worker.own_.get() : worker.rows_.row(i);
    return true;
  }

  // Picks the columns, and drops what was lowered beyond the limit before it was compared with it.
  void finish() {
    if (now_ < 0) return;
    Weight* row = rows_.row(now_);
    if (own_ && !picks_) std::copy_n(own_.get(), rows_.width, row);
    if (picks_) {
      for (std::size_t c = 0; c < rows_.width; ++c) row[c] = own_[rows_.columns.vertices[c]];
      for (std::size_t i = 0; i < touched_.size; ++i) own_[touched_.data[i]] = unreached<Weight>();
      touched_.size = 0;
    }
    if (rows_.limit == unreached<Weight>()) return;
    for (std::size_t c = 0; c < rows_.width; ++c)
      row[c] = row[c] > rows_.limit ? unreached<Weight>() : row[c];
  }

  const C& csr_;
  const Rows<C>& rows_;
  BatchCounter& counter_;
  const bool picks_;  // columns
  int64_t now_ = -1;  // source whose search is under way
  std::unique_ptr<Weight[]> own_;
  Buffer<Index> touched_;
};

Fields per_source(GraphView& view, const Ids& sources, const Array& out,
                  const std::optional<Ids>& columns, std::optional<double> limit, int threads,
                  bool buckets) {
  Columns wanted;
  if (columns) wanted = {columns->data(), columns->size()};
  const std::size_t k = sources.size();
  SearchStats total;
  auto run = [&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    const std::size_t width = columns ? wanted.count : n;
    Weight* out_rows = checked<Weight>(out, k * width, "out");
    auto is_vertex = [n](int64_t v) { return v >= 0 && static_cast<std::size_t>(v) < n; };
    for (std::size_t i = 0; i < k; ++i)
      if (!is_vertex(sources.data()[i])) throw nb::index_error("source is not a vertex");
    for (std::size_t i = 0; i < wanted.count; ++i)
      if (!is_vertex(wanted.vertices[i])) throw nb::index_error("column is not a vertex");
    const Rows<C> rows{sources.data(), out_rows, width, limit_as<Weight>(limit), wanted};
    nb::gil_scoped_release release;
    const DeltaPlan plan = plan_for(csr, std::nullopt);
    std::mutex mutex;
    spread(static_cast<int64_t>(k), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      SearchStats sum;
      if (buckets) {
        const bool several = k >= 4 * static_cast<std::size_t>(threads);
        sum = BucketWorker<C>(csr, rows, counter, several).run(plan, interrupt);
      } else {
        HeapWorker<C> worker(csr, rows.limit, wanted);
        for (int64_t i; (i = counter.take()) >= 0;) {
          const auto source = static_cast<typename C::Index>(rows.sources[i]);
          add(sum, worker.solve(source, rows.row(i), interrupt));
        }
      }
      const std::lock_guard lock(mutex);
      add(total, sum);
    });
  };
  {
    nb::gil_scoped_release release;
    view.pack(threads);
  }
  view.visit(run);
  nb::dict stats;
  stats["iterations"] = k;
  stats["vertices_processed"] = total.vertices_processed;
  stats["edges_relaxed"] = total.edges_relaxed;
  stats["stale"] = total.stale;
  stats["queue"] = buckets ? "buckets" : "heap";
  return stats;
}

}  // namespace
}  // namespace nearfar::batched

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("per_source", &batched::per_source, arg("view"), arg("sources"), arg("out"),
        arg("columns") = nb::none(), arg("limit") = nb::none(), arg("threads") = 1,
        arg("buckets") = false);
}
}  // namespace nearfar
