// worker_per_source@cpu: each worker searches from one source after another.
//
// A worker keeps its queue and, unless whole rows are requested, a distance array and the list of
// vertices it touched, so that a search that ends early (limit, columns) costs what it visits and
// not O(n): a thousand isochrones on a continent are a thousand small searches. The queue is the
// lazy 4-ary heap of cpu/heaps over packed (distance, vertex) keys, or the buckets of sequential
// delta-stepping, whichever is measured to be faster over many sources. Both give the same
// distances: sums are rounded along each path from its source, and the least of them does not
// depend on the order of the search.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <mutex>
#include <utility>

#include "algorithms/delta_stepping/plan.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/memory/fill.hpp"
#include "cpu/memory/huge_pages.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::batched {
namespace {

struct Columns {
  const int64_t* vertices = nullptr;  // null: every vertex
  std::size_t count = 0;
};

// Result of a search: one row per source.
template <class C>
struct Rows {
  const int64_t* sources;
  typename C::Weight* first;
  const typename C::Weight* end;
  std::size_t width;
  typename C::Weight limit;
  Columns columns;

  typename C::Weight* row(int64_t i) const { return first + static_cast<std::size_t>(i) * width; }
};

// One worker's distances, and their conversion to rows.
template <class C>
class Distances {
 public:
  using Weight = typename C::Weight;

  // `several`: whether there are enough sources that a private distance array, which stays in the
  // caches, pays for the copy to the rows.
  Distances(const C& csr, const Rows<C>& rows, bool several, GraphView& view)
      : rows_(rows),
        n_(static_cast<std::size_t>(csr.n)),
        picks_(rows.columns.vertices != nullptr),
        view_(view) {
    if (!picks_ && !several) return;
    block_ = view.cleared.take<Weight>(n_);
    own_ = reinterpret_cast<Weight*>(block_.data());
  }

  // Returns the list for the vertices that the search lowers, all unreached before it; or null.
  Buffer<Index>* touched() { return picks_ || (own_ && limited()) ? &touched_ : nullptr; }

  // Returns the distances for a search, all unreached.
  Weight* begin(int64_t i) {
    if (own_) return own_;
    make_pages(rows_.row(i), rows_.width, rows_.end);
    fill_numbers(rows_.row(i), rows_.width, unreached<Weight>());
    return rows_.row(i);
  }

  // The greatest distance so far, if columns are picked from lists of touched vertices.
  Weight farthest() const { return farthest_; }

  // Writes the row of a search, without the distances beyond the limit that delta-stepping left.
  void finish(int64_t i) {
    Weight* row = rows_.row(i);
    if (picks_) {
      for (std::size_t c = 0; c < rows_.width; ++c)
        row[c] = within(own_[rows_.columns.vertices[c]]);
      for (std::size_t t = 0; t < touched_.size; ++t)
        farthest_ = std::max(farthest_, own_[touched_.data[t]]);
      clear();
    } else if (!own_) {
      if (limited())
        for (std::size_t c = 0; c < rows_.width; ++c) row[c] = within(row[c]);
    } else {
      make_pages(row, rows_.width, rows_.end);
      if (limited() && touched_.size < n_ / kFew) {
        fill_numbers(row, rows_.width, unreached<Weight>());
        for (std::size_t k = 0; k < touched_.size; ++k)
          row[touched_.data[k]] = within(own_[touched_.data[k]]);
        clear();
      } else {
        for (std::size_t c = 0; c < n_; ++c) {
          row[c] = within(own_[c]);
          own_[c] = unreached<Weight>();
        }
        touched_.size = 0;
      }
    }
  }

  // Leaves the distances, which the last search has cleared, to later calls.
  void keep() {
    if (own_) view_.cleared.keep(std::move(block_), view_.packed_bytes() / 2);
    own_ = nullptr;
  }

 private:
  static constexpr std::size_t kFew = 8;  // share of the vertices that are cleared one by one

  bool limited() const { return rows_.limit != unreached<Weight>(); }
  Weight within(Weight d) const { return d > rows_.limit ? unreached<Weight>() : d; }

  void clear() {
    for (std::size_t k = 0; k < touched_.size; ++k) own_[touched_.data[k]] = unreached<Weight>();
    touched_.size = 0;
  }

  const Rows<C>& rows_;
  const std::size_t n_;
  const bool picks_;  // columns
  GraphView& view_;
  HugeBlock block_;
  Weight* own_ = nullptr;
  Buffer<Index> touched_;
  Weight farthest_ = 0;
};

// Searches with a heap, which is left empty.
template <bool kTouch, class C>
void search_heap(const C& csr, DaryHeap<typename C::Weight, 4>& heap, Index source,
                 typename C::Weight* distance, Buffer<Index>* touched,
                 StopRule<typename C::Weight> stop, SearchStats& stats, Interrupt& interrupt) {
  using Weight = typename C::Weight;
  if constexpr (kTouch) touched->push(source);
  distance[source] = 0;
  heap.insert(source, 0);
  Index v;
  Weight d;
  bool open = true;
  while (heap.pop(v, d)) {
    if (!open) continue;
    if (d != distance[v]) {
      ++stats.stale;
      continue;
    }
    if (stop.reached_all(distance, d)) {
      open = false;
      continue;
    }
    const auto begin = static_cast<std::size_t>(csr.indptr[v]);
    const auto end = static_cast<std::size_t>(csr.indptr[v + 1]);
    ++stats.vertices_processed;
    stats.edges_relaxed += end - begin;
    interrupt.poll(end - begin + 8);
    for (std::size_t e = begin; e < end; ++e) {
      const auto edge = csr.edge(e);
      const auto sum = candidate(d, edge.weight);
      const Weight old = distance[edge.target];
      if (!improves(sum, old)) continue;
      const auto shorter = static_cast<Weight>(sum);
      if (shorter > stop.limit) continue;
      if constexpr (kTouch)
        if (old == unreached<Weight>()) touched->push(edge.target);
      distance[edge.target] = shorter;
      if (!edge.dead_end) heap.insert(edge.target, shorter);
    }
  }
}

// One worker's searches, with either queue.
template <class C>
class Worker {
 public:
  using Weight = typename C::Weight;

  Worker(const C& csr, const Rows<C>& rows, const DeltaPlan& plan, bool several, GraphView& view,
         BatchCounter& counter, Interrupt& interrupt)
      : csr_(csr),
        rows_(rows),
        plan_(plan),
        counter_(counter),
        interrupt_(interrupt),
        memory_(csr, rows, several, view) {
    stop_.limit = rows.limit;
    stop_.targets = rows.columns.vertices;
    stop_.n_targets = rows.columns.count;
  }

  // Searches from up to `most` further sources.
  void search(bool buckets, int64_t most) { buckets ? by_buckets(most) : by_heap(most); }

  // Returns the faster queue for some sources. Where buckets are well filled, a heap is not tried.
  bool faster(bool buckets) {
    search(buckets, 1);
    keeping_ = kTried;
    const double usual = seconds(buckets);
    if (buckets && sum_.vertices_processed > kFilled * sum_.iterations) return true;
    again_ = kTried;
    return seconds(!buckets) < usual ? !buckets : buckets;
  }

  // After all searches; an exception in one of them leaves distances that are not cleared.
  void keep() { memory_.keep(); }

  const SearchStats& stats() const { return sum_; }
  Weight farthest() const { return memory_.farthest(); }

 private:
  static constexpr std::size_t kTried = 2;  // sources
  static constexpr uint64_t kFilled = 16;   // vertices per bucket

  // Returns the place of the next source, or -1.
  int64_t take() {
    if (again_ > 0) return tried_[kTried - again_--];
    const int64_t place = counter_.take();
    if (keeping_ > 0) tried_[kTried - keeping_--] = place;
    return place;
  }

  // Returns the time of kTried searches.
  double seconds(bool buckets) {
    const auto began = std::chrono::steady_clock::now();
    search(buckets, kTried);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  void by_buckets(int64_t most) {
    int64_t now = -1;  // current source
    const auto next = [&](Index& source, Weight*& distances) {
      if (now >= 0) memory_.finish(now);
      now = most-- > 0 ? take() : -1;
      if (now < 0) return false;
      source = static_cast<Index>(rows_.sources[now]);
      distances = memory_.begin(now);
      return true;
    };
    const DeltaFeed<C> feed{next, memory_.touched()};
    sum_ += delta_stepping::sequential(csr_, feed, stop_, plan_, interrupt_);
  }

  void by_heap(int64_t most) {
    DaryHeap<Weight, 4> heap(csr_.n);
    for (int64_t i; most-- > 0 && (i = take()) >= 0;) {
      const auto source = static_cast<Index>(rows_.sources[i]);
      const auto search = memory_.touched() ? search_heap<true, C> : search_heap<false, C>;
      search(csr_, heap, source, memory_.begin(i), memory_.touched(), stop_, sum_, interrupt_);
      memory_.finish(i);
    }
  }

  const C& csr_;
  const Rows<C>& rows_;
  const DeltaPlan& plan_;
  BatchCounter& counter_;
  Interrupt& interrupt_;
  Distances<C> memory_;
  StopRule<Weight> stop_;
  SearchStats sum_;
  // Places of the sources from which both queues search: so many are still to be noted, or to be
  // repeated.
  std::array<int64_t, kTried> tried_{};
  std::size_t keeping_ = 0, again_ = 0;
};

// `compare`: whether workers that have many sources for whole rows may use the other queue.
Fields per_source(GraphView& view, const Ids& sources, const Array& out,
                  const std::optional<Ids>& columns, std::optional<double> limit, int threads,
                  bool buckets, bool compare) {
  constexpr std::size_t kMany = 64;  // sources per worker
  Columns wanted;
  if (columns) wanted = {columns->data(), columns->size()};
  const std::size_t k = sources.size(), workers = static_cast<std::size_t>(std::max(threads, 1));
  compare = compare && !columns && !limit && k >= kMany * workers;
  SearchStats total;
  double farthest = 0;
  std::size_t with_buckets = 0, ran = 0;  // workers
  auto run = [&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    const std::size_t width = columns ? wanted.count : n;
    Weight* out_rows = checked<Weight>(out, k * width, "out");
    check_vertices(sources, n, "source is not a vertex");
    if (columns) check_vertices(*columns, n, "column is not a vertex");
    const Rows<C> rows{sources.data(),          out_rows, out_rows + k * width, width,
                       limit_as<Weight>(limit), wanted};
    nb::gil_scoped_release release;
    const DeltaPlan plan = plan_for(csr, std::nullopt);
    std::mutex mutex;
    spread(static_cast<int64_t>(k), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      const bool several = compare || (buckets && k >= 4 * workers);
      Worker<C> worker(csr, rows, plan, several, view, counter, interrupt);
      const bool chosen = compare ? worker.faster(buckets) : buckets;
      worker.search(chosen, std::numeric_limits<int64_t>::max());
      worker.keep();
      const std::lock_guard lock(mutex);
      total += worker.stats();
      farthest = std::max(farthest, static_cast<double>(worker.farthest()));
      with_buckets += chosen, ++ran;
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
  if (columns) stats["farthest"] = farthest;
  stats["queue"] = 2 * with_buckets >= ran ? "buckets" : "heap";
  return stats;
}

}  // namespace
}  // namespace nearfar::batched

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("per_source", &batched::per_source, arg("view"), arg("sources"), arg("out"),
        arg("columns") = nb::none(), arg("limit") = nb::none(), arg("threads") = 1,
        arg("buckets") = false, arg("compare") = false);
}
}  // namespace nearfar
