// Delta-stepping on one core: buckets instead of a heap, so that what comes next is known in
// advance.
//
// Meyer and Sanders 2003, without the split into light and heavy edges: an edge that leads into the
// current bucket is worked off in the same pass, any other goes to its bucket. A heap reveals its
// next vertex only after the pop; a bucket is a queue whose entries can be fetched ahead. Three
// stages run in front of the vertex at hand: row bounds and distance of the entry kRowAhead later,
// the edges of the one kEdgeAhead later, the distances of the neighbours of the one kTargetAhead
// later. On graphs that do not fit the caches this hides nearly all of the latency that Dijkstra's
// method pays. An entry carries the distance it was pushed with; one whose vertex is nearer by now
// is stale and dropped.
//
// Delta adapts while running (see Adapter): too wide, and vertices of one bucket are processed
// again and again; too narrow, and buckets are too short for the stages to run full.
#include <algorithm>

#include "algorithms/delta_stepping/adapter.hpp"
#include "algorithms/delta_stepping/bucket_ring.hpp"
#include "algorithms/delta_stepping/solve.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

constexpr std::size_t kRowAhead = 10;
constexpr std::size_t kEdgeAhead = 6;
constexpr std::size_t kTargetAhead = 3;
constexpr std::size_t kRowCap = 16;  // edges of a row that are looked at ahead of time

template <class C>
class Sequential {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;
  using Ring = BucketRing<C>;
  using Entry = typename Ring::Entry;
  using Bucket = typename Ring::Bucket;

  Sequential(const C& csr, Weight* distances, Weight limit, double delta)
      : csr_(csr), distances_(distances), limit_(limit), ring_(delta) {}

  SearchStats run(Index source, StopRule<Weight> stop, const DeltaPlan& plan,
                  Interrupt& interrupt) {
    distances_[source] = 0;
    ring_.push(Entry{source, 0});
    stats_.pushes = 1;
    Adapter adapter(plan.adapt);
    Bucket now;
    for (;;) {
      const uint64_t number = ring_.first();
      if (number == Ring::kEmpty) {
        if (!ring_.refill()) break;
        continue;
      }
      ring_.take(number, now);
      if (stop.n_targets != 0 && stop.reached_all(distances_, least(now))) break;
      const uint64_t before = stats_.edges_relaxed;
      const uint64_t rows = stats_.vertices_processed;
      repeated_ = 0;
      work_off(number, now);
      ++stats_.iterations;
      interrupt.poll(stats_.edges_relaxed - before + 64);
      const double factor = adapter.after_bucket(stats_.vertices_processed - rows, repeated_);
      now.size = 0;
      if (factor != 1) {
        const uint64_t next = ring_.first();
        if (next == Ring::kEmpty) continue;
        ring_.take(next, now);
        const Weight low = least(now);
        for (std::size_t i = 0; i < now.size; ++i) ring_.push(next, now.data[i]);
        now.size = 0;
        ring_.widen(low, ring_.delta() * factor);
      }
    }
    stats_.delta = ring_.delta();
    stats_.delta_changes = ring_.changes();
    return stats_;
  }

 private:
  static Weight least(const Bucket& bucket) {
    Weight low = bucket.data[0].distance;
    for (std::size_t i = 1; i < bucket.size; ++i)
      low = bucket.data[i].distance < low ? bucket.data[i].distance : low;
    return low;
  }

  NEARFAR_INLINE void fetch_row(const Entry& entry) const {
    prefetch(csr_.indptr + entry.vertex);
    prefetch(distances_ + entry.vertex);
  }
  NEARFAR_INLINE void fetch_edges(const Entry& entry) const {
    const auto* row = csr_.edges + csr_.indptr[entry.vertex];
    prefetch(row);
    prefetch(row + 64 / sizeof(*row));
  }
  NEARFAR_INLINE void fetch_targets(const Entry& entry) const {
    if (distances_[entry.vertex] != entry.distance) return;
    const auto begin = static_cast<std::size_t>(csr_.indptr[entry.vertex]);
    const auto end = static_cast<std::size_t>(csr_.indptr[entry.vertex + 1]);
    const std::size_t stop = end - begin < kRowCap ? end : begin + kRowCap;
    for (std::size_t e = begin; e < stop; ++e) prefetch(distances_ + csr_.edges[e].target);
  }

  void work_off(uint64_t number, Bucket& now) {
    const std::size_t ready = now.size;
    for (std::size_t i = 0; i < kRowAhead && i < ready; ++i) fetch_row(now.data[i]);
    for (std::size_t i = 0; i < kEdgeAhead && i < ready; ++i) fetch_edges(now.data[i]);
    for (std::size_t i = 0; i < kTargetAhead && i < ready; ++i) fetch_targets(now.data[i]);
    uint64_t edges = 0, rows = 0, pushes = 0, repeated = 0;
    for (std::size_t i = 0; i < now.size; ++i) {
      if (i + kRowAhead < now.size) {
        fetch_row(now.data[i + kRowAhead]);
        fetch_edges(now.data[i + kEdgeAhead]);
        fetch_targets(now.data[i + kTargetAhead]);
      } else {
        if (i + kEdgeAhead < now.size) fetch_edges(now.data[i + kEdgeAhead]);
        if (i + kTargetAhead < now.size) fetch_targets(now.data[i + kTargetAhead]);
      }
      const Entry entry = now.data[i];
      const Weight d = entry.distance;
      if (distances_[entry.vertex] != d) continue;
      const auto begin = static_cast<std::size_t>(csr_.indptr[entry.vertex]);
      const auto end = static_cast<std::size_t>(csr_.indptr[entry.vertex + 1]);
      ++rows;
      edges += end - begin;
      for (std::size_t e = begin; e < end; ++e) {
        const auto edge = csr_.edges[e];
        const auto sum = candidate(d, edge.weight);
        const Weight old = distances_[edge.target];
        if (!improves(sum, old)) continue;
        const auto shorter = static_cast<Weight>(sum);
        if (shorter > limit_) continue;
        distances_[edge.target] = shorter;
        ++pushes;
        const uint64_t to = ring_.bucket_of(shorter);
        if (to == number) {
          repeated += old != unreached<Weight>() && ring_.bucket_of(old) == number;
          now.push(Entry{edge.target, shorter});
        } else {
          ring_.push(to, Entry{edge.target, shorter});
        }
      }
    }
    stats_.edges_relaxed += edges;
    stats_.vertices_processed += rows;
    stats_.stale += now.size - rows;
    stats_.pushes += pushes;
    repeated_ += repeated;
  }

  const C& csr_;
  Weight* distances_;
  Weight limit_;
  Ring ring_;
  SearchStats stats_;
  uint64_t repeated_ = 0;
};

}  // namespace

template <class C>
SearchStats delta_sequential(const C& csr, typename C::Index source, typename C::Weight* distances,
                             StopRule<typename C::Weight> stop, DeltaPlan plan,
                             Interrupt& interrupt) {
  std::fill_n(distances, static_cast<std::size_t>(csr.n), unreached<typename C::Weight>());
  Sequential<C> solver(csr, distances, stop.limit, plan.delta);
  return solver.run(source, stop, plan, interrupt);
}

#define NEARFAR_INSTANTIATE(I, W)                                                        \
  template SearchStats delta_sequential<Csr<I, W>>(const Csr<I, W>&, I, W*, StopRule<W>, \
                                                   DeltaPlan, Interrupt&);
NEARFAR_FOR_EACH_CSR(NEARFAR_INSTANTIATE)

}  // namespace nearfar::NEARFAR_ISA
