// Delta-stepping on one core.
//
// The queue is an array of buckets instead of a heap (cpu/search/bucket_ring.hpp). Bucket i holds
// entries with distances from i * delta to (i + 1) * delta, in any order. The loop takes the first
// nonempty bucket and relaxes the edges of its entries (relax.hpp): an improved vertex is appended
// to the same bucket if its distance belongs there, else to a later one. A vertex may be relaxed
// several times while its bucket is processed, and never afterwards.
//
// Why buckets: a heap reveals the next vertex only after the pop. The entries of a bucket are all
// known, so row bounds, edges and distances can be prefetched, and memory latency is most of the
// time of a search.
//
// Stale entries. An entry carries the distance it was pushed with. A vertex that improves is pushed
// again and its earlier entries remain: removing them would need a position per vertex, written
// with every push, while recognising them takes one comparison with a distance that is read anyway.
// An entry whose distance is no longer the vertex's is dropped. The same comparison makes a wrong
// bucket harmless: rounding may put an entry into a neighbouring one.
//
// Delta. Narrow buckets repeat little work but have few entries to prefetch; wide ones turn the
// search into Bellman-Ford's method. The first width comes from the weights (plan.hpp), and unless
// the caller fixed it, it changes by factors of two during the search (adapter.hpp).
//
// Full buckets. A bucket with a large share of the vertices is sorted by vertex first if rows are
// long or many entries are stale (full_buckets.hpp).
//
// Departures from the paper [1]. Light and heavy edges are not distinguished: that would save the
// heavy edges of vertices relaxed repeatedly, which are few at a good delta, but requires
// partitioning every row. A bucket is not processed in phases with a set of requests between them;
// new entries are appended to it. Later codes do the same [2]; [3] adds bucket fusion to the
// parallel form (parallel.cpp).
//
// [1] Ulrich Meyer and Peter Sanders. "Delta-stepping: a parallelizable shortest path algorithm."
//     Journal of Algorithms, 49(1):114-152, 2003.
// [2] Scott Beamer, Krste Asanovic and David Patterson. "The GAP benchmark suite."
//     arXiv:1508.03619, 2015.
// [3] Yunming Zhang, Ajay Brahmakshatriya, Xinyi Chen, Laxman Dhulipala, Shoaib Kamil, Saman
//     Amarasinghe and Julian Shun. "Optimizing ordered graph algorithms with GraphIt." CGO, 2020.
#include <algorithm>

#include "algorithms/delta_stepping/adapter.hpp"
#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "algorithms/delta_stepping/full_buckets.hpp"
#include "algorithms/delta_stepping/relax.hpp"
#include "cpu/memory/buffer.hpp"
#include "cpu/memory/fill.hpp"

namespace nearfar::delta_stepping {
namespace {

constexpr std::size_t kPart = 1 << 14;    // most entries between two checks for Ctrl-C
constexpr std::size_t kFullShare = 64;    // a bucket is full if it holds one vertex in this many
constexpr uint64_t kManyEdges = 1 << 16;  // repeated edges that cost more than changing the width

// Memory kept from one search to the next.
template <class C>
struct Memory {
  using Work = Relaxer<C, PlainUpdate<typename C::Weight>>;
  Work work;
  typename Work::Bucket now;
  FullBuckets<C, PlainUpdate<typename C::Weight>> full;
};

// Runs the main loop on distances that are all unreached.
template <class C>
void search(Memory<C>& memory, Index source, typename C::Weight* distances,
            StopRule<typename C::Weight> stop, bool adapt, Interrupt& interrupt,
            IterationLog* log) {
  using Weight = typename C::Weight;
  using Ring = typename Memory<C>::Work::Ring;
  auto& work = memory.work;
  auto& ring = work.ring;
  auto& stats = work.stats;
  auto& now = memory.now;
  MeanWidth widths;
  Adapter adapter(adapt, kManyEdges + work.n_edges() / 32);
  distances[source] = 0;
  ring.push({source, 0});
  ++stats.pushes;
  now.size = 0;
  for (;;) {
    const uint64_t number = ring.next();
    if (number == Ring::kEmpty) {  // only the far pile has entries
      Weight low;
      if (!ring.far_least(low)) break;
      ring.deal(low);
      continue;
    }
    ring.take(number, now);
    if (stop.n_targets != 0 && stop.reached_all(distances, Ring::least(now))) break;
    memory.full.order(now, distances, stats);
    const uint64_t rows = stats.vertices_processed, edges = stats.edges_relaxed;
    work.repeated = {};
    std::size_t done = 0;
    while (done < now.size) {  // grows by vertices improved within the bucket
      const std::size_t size = now.size;
      while (done < size) {
        const std::size_t end = size - done < kPart ? size : done + kPart;
        const uint64_t before = stats.edges_relaxed;
        work.relax(now, done, end, now);
        done = end;
        interrupt.poll(stats.edges_relaxed - before + 64);
      }
      if (adapter.hopeless(stats.vertices_processed - rows, stats.edges_relaxed - edges,
                           work.repeated))
        break;
    }
    work.renew_bound();
    ++stats.iterations;
    widths.note(stats.vertices_processed - rows, ring.delta());
    const double factor =
        adapter.after_bucket(stats.vertices_processed - rows, stats.edges_relaxed - edges,
                             work.repeated, 0, ring.delta());
    if (factor != 1) ring.widen(ring.lower_end(), ring.delta() * factor);
    for (std::size_t i = done; i < now.size; ++i) ring.push(now.data[i]);
    now.size = 0;
    if (log != nullptr)
      note_iteration(*log, stats.vertices_processed - rows, ring.near_size(), ring.far_size(),
                     stats.edges_relaxed - edges);
  }
  stats.delta = adapt ? widths.mean(ring.delta()) : ring.delta();
  stats.delta_changes = ring.changes();
  stats.last_threshold = ring.reach();
}

}  // namespace

template <class C>
SearchStats sequential(const C& csr, Index source, typename C::Weight* distances,
                       StopRule<typename C::Weight> stop, DeltaPlan plan, Interrupt& interrupt,
                       IterationLog* log) {
  Memory<C> memory{{csr, distances, stop.limit, plan}, {}, {csr, kFullShare}};
  fill_numbers(distances, static_cast<std::size_t>(csr.n), unreached<typename C::Weight>());
  search(memory, source, distances, stop, plan.adapt, interrupt, log);
  return memory.work.stats;
}

template <class C>
SearchStats sequential(const C& csr, const DeltaFeed<C>& feed, StopRule<typename C::Weight> stop,
                       DeltaPlan plan, Interrupt& interrupt) {
  using Weight = typename C::Weight;
  Index source = 0;
  Weight* distances = nullptr;
  Memory<C> memory{{csr, distances, stop.limit, plan}, {}, {csr, kFullShare}};
  while (feed.next(source, distances)) {
    memory.work.start(distances, feed.touched, plan.delta);
    if (feed.touched != nullptr) feed.touched->push(source);
    search(memory, source, distances, stop, plan.adapt, interrupt, nullptr);
  }
  return memory.work.stats;
}

#define NEARFAR_INSTANTIATE(W)                                                                     \
  template SearchStats sequential(const Csr<W>&, Index, W*, StopRule<W>, DeltaPlan, Interrupt&,    \
                                  IterationLog*);                                                  \
  template SearchStats sequential(const Csr<W>&, const DeltaFeed<Csr<W>>&, StopRule<W>, DeltaPlan, \
                                  Interrupt&);
NEARFAR_FOR_EACH_WEIGHT(NEARFAR_INSTANTIATE)

#define NEARFAR_INSTANTIATE_BARE(C)                                                              \
  template SearchStats sequential(const C&, int32_t, C::Weight*, StopRule<C::Weight>, DeltaPlan, \
                                  Interrupt&, IterationLog*);
NEARFAR_FOR_EACH_BARE(NEARFAR_INSTANTIATE_BARE)

}  // namespace nearfar::delta_stepping
