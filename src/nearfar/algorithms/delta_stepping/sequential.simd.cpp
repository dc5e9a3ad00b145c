// Delta-stepping on one core: buckets instead of a heap, so that what comes next is known in
// advance.
//
// Meyer and Sanders 2003, without the split into light and heavy edges: an edge that leads into the
// current bucket is worked off in the same visit to the bucket, any other goes to its bucket.
// Entries carry the distance they were pushed with; one whose vertex is nearer by now is stale and
// dropped. Delta adapts while running (adapter.hpp), unless the caller fixed it.
#include <algorithm>

#include "algorithms/delta_stepping/adapter.hpp"
#include "algorithms/delta_stepping/scan.hpp"
#include "algorithms/delta_stepping/solve.hpp"

namespace nearfar::NEARFAR_ISA {

template <class C>
SearchStats delta_sequential(const C& csr, typename C::Index source, typename C::Weight* distances,
                             StopRule<typename C::Weight> stop, DeltaPlan plan,
                             Interrupt& interrupt) {
  using Weight = typename C::Weight;
  using Work = Scanner<C, PlainUpdate<Weight>>;
  std::fill_n(distances, static_cast<std::size_t>(csr.n), unreached<Weight>());
  Work work(csr, distances, stop.limit, plan.delta);
  auto& ring = work.ring;
  auto& stats = work.stats;
  distances[source] = 0;
  ring.push({source, 0});
  stats.pushes = 1;
  Adapter adapter(plan.adapt, 32);
  typename Work::Bucket now;
  for (;;) {
    const uint64_t number = ring.next();
    if (number == Work::Ring::kEmpty) {
      Weight low;
      if (!ring.far_least(low)) break;
      ring.deal(low);
      continue;
    }
    ring.take(number, now);
    if (stop.n_targets != 0 && stop.reached_all(distances, Work::Ring::least(now))) break;
    const uint64_t edges = stats.edges_relaxed;
    const uint64_t rows = stats.vertices_processed;
    work.repeated = 0;
    std::size_t done = 0;
    while (done < now.size) {
      const std::size_t size = now.size;
      work.scan(now, done, size, now);
      done = size;
      if (adapter.hopeless(stats.vertices_processed - rows, work.repeated)) break;
    }
    ++stats.iterations;
    interrupt.poll(stats.edges_relaxed - edges + 64);
    const double factor =
        adapter.after_bucket(stats.vertices_processed - rows, work.repeated, ring.delta());
    if (factor != 1) ring.widen(ring.lower_end(), ring.delta() * factor);
    for (std::size_t i = done; i < now.size; ++i) ring.push(now.data[i]);
    now.size = 0;
  }
  stats.delta = ring.delta();
  stats.delta_changes = ring.changes();
  return stats;
}

#define NEARFAR_INSTANTIATE(I, W)                                                        \
  template SearchStats delta_sequential<Csr<I, W>>(const Csr<I, W>&, I, W*, StopRule<W>, \
                                                   DeltaPlan, Interrupt&);
NEARFAR_FOR_EACH_CSR(NEARFAR_INSTANTIATE)

}  // namespace nearfar::NEARFAR_ISA
