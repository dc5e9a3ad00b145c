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

namespace {

// Whether a row is one that the loop may read: every target a vertex, no weight negative. NaN and
// infinity improve nothing, so a row with them is relaxed as if they were not there; an infinite
// greatest weight tells the caller. The row is in the first-level cache by now, which makes this
// cheaper than a pass over all edges in memory beforehand.
template <class C>
struct RowCheck {
  using Index = typename C::Index;
  using Weight = typename C::Weight;

  NEARFAR_INLINE bool row(const C& csr, std::size_t begin, std::size_t end) {
    using Unsigned = std::make_unsigned_t<Index>;
    Unsigned top = 0;
    for (std::size_t e = begin; e < end; ++e) {
      const auto target = static_cast<Unsigned>(csr.indices[e]);
      top = target > top ? target : top;
    }
    typedef Weight Vector __attribute__((vector_size(32)));
    constexpr std::size_t kLanes = sizeof(Vector) / sizeof(Weight);
    std::size_t e = begin;
    if (end - begin >= 2 * kLanes) {
      const auto load = [&](std::size_t at) __attribute__((always_inline)) {
        Vector w;
        __builtin_memcpy(&w, csr.weights + at, sizeof(w));
        return w;
      };
      Vector low = {}, high = {}, low2 = {}, high2 = {};
      for (; e + 2 * kLanes <= end; e += 2 * kLanes) {
        const Vector w = load(e), w2 = load(e + kLanes);
        low = w < low ? w : low, high = w > high ? w : high;
        low2 = w2 < low2 ? w2 : low2, high2 = w2 > high2 ? w2 : high2;
      }
      low = low2 < low ? low2 : low, high = high2 > high ? high2 : high;
      for (std::size_t i = 0; i < kLanes; ++i) {
        least = low[i] < least ? low[i] : least;
        greatest = high[i] > greatest ? high[i] : greatest;
      }
    }
    for (; e < end; ++e) {
      const Weight w = csr.weights[e];
      least = w < least ? w : least;
      greatest = w > greatest ? w : greatest;
    }
    if (begin != end && (top >= static_cast<Unsigned>(csr.n) || least < 0)) [[unlikely]]
      refused = true;
    return !refused;
  }

  Weight least = 0;
  Weight greatest = 0;
  bool refused = false;
};

// The greatest distance so far. Once every vertex is reached, an edge of a dense graph that leads
// beyond it is dropped before the distance of its target is looked up, and there most are.
template <class Weight>
Weight greatest_of(const Weight* distances, std::size_t n) {
  Weight most = 0;
  for (std::size_t v = 0; v < n; ++v) most = distances[v] > most ? distances[v] : most;
  return most;
}

template <class Work, class C>
void search(Work& work, const C& csr, typename C::Index source, typename C::Weight* distances,
            StopRule<typename C::Weight> stop, const DeltaPlan& plan, Interrupt& interrupt) {
  using Weight = typename C::Weight;
  std::fill_n(distances, static_cast<std::size_t>(csr.n), unreached<Weight>());
  auto& ring = work.ring;
  auto& stats = work.stats;
  distances[source] = 0;
  ring.push({source, 0});
  stats.pushes = 1;
  Adapter adapter(plan.adapt, 32);
  typename Work::Bucket now;
  const auto n = static_cast<std::size_t>(csr.n), m = static_cast<std::size_t>(csr.m);
  const uint64_t between = m / 32 >= n ? 4 * n : ~uint64_t{0};  // edges, two looks at the bound
  uint64_t look = between;
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
      if (work.check.refused) return;
      if (adapter.hopeless(stats.vertices_processed - rows, work.repeated)) break;
    }
    if (stats.edges_relaxed >= look) {
      work.bound = greatest_of(distances, n);
      look = stats.edges_relaxed + between;
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
}

}  // namespace

template <class C>
SearchStats delta_sequential(const C& csr, typename C::Index source, typename C::Weight* distances,
                             StopRule<typename C::Weight> stop, DeltaPlan plan,
                             Interrupt& interrupt) {
  Scanner<C, PlainUpdate<typename C::Weight>> work(csr, distances, stop.limit, plan.delta);
  search(work, csr, source, distances, stop, plan, interrupt);
  return work.stats;
}

template <class C>
CheckedSearch<typename C::Weight> delta_checked(const C& csr, typename C::Index source,
                                                typename C::Weight* distances,
                                                StopRule<typename C::Weight> stop, DeltaPlan plan,
                                                Interrupt& interrupt) {
  using Weight = typename C::Weight;
  Scanner<C, PlainUpdate<Weight>, RowCheck<C>> work(csr, distances, stop.limit, plan.delta);
  search(work, csr, source, distances, stop, plan, interrupt);
  // Rows that the search had no reason to read are part of the matrix all the same.
  auto& check = work.check;
  for (typename C::Index v = 0; v < csr.n && !check.refused; ++v)
    if (distances[v] == unreached<Weight>() || distances[v] > stop.limit)
      check.row(csr, static_cast<std::size_t>(csr.indptr[v]),
                static_cast<std::size_t>(csr.indptr[v + 1]));
  return {work.stats, check.greatest, check.refused};
}

#define NEARFAR_INSTANTIATE(I, W)                                                        \
  template SearchStats delta_sequential<Csr<I, W>>(const Csr<I, W>&, I, W*, StopRule<W>, \
                                                   DeltaPlan, Interrupt&);
NEARFAR_FOR_EACH_CSR(NEARFAR_INSTANTIATE)

using Bare = SplitCsr<int32_t, double>;
template CheckedSearch<double> delta_checked<Bare>(const Bare&, int32_t, double*, StopRule<double>,
                                                   DeltaPlan, Interrupt&);

}  // namespace nearfar::NEARFAR_ISA
