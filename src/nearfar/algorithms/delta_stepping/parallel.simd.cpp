// Delta-stepping on several workers that share each bucket.
//
// Meyer and Sanders 2003; the shape is that of shared-memory codes since: every worker has a bucket
// ring of its own, so that pushing needs no lock. A round works off the entries of one bucket
// number:
//   1. each worker publishes the number of its first bucket in use; barrier; the least one counts;
//   2. a worker that has such a bucket offers it as a segment and takes chunks of it through a
//      cursor; then it takes chunks of the others' segments, so that uneven shares even out;
//   3. what fell into the current bucket meanwhile it works off itself while that is little
//      (bucket fusion, Zhang et al. 2020), and leaves for another round otherwise.
// One barrier a round. Published values alternate between two places, because a slow worker may
// still read the last ones while a fast one publishes the next. All decisions (which bucket, new
// delta, stop) are computed by every worker from the same published values, so that they agree
// without another barrier. Distances are lowered by compare and swap; an entry that lost a race is
// stale and dropped.
#include <algorithm>
#include <exception>

#include "algorithms/delta_stepping/solve.hpp"
#include "cpu/buckets/adapter.hpp"
#include "cpu/buckets/scan.hpp"
#include "cpu/worker_pool.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

constexpr std::size_t kChunk = 128;  // entries taken at a time, at most
constexpr std::size_t kFuse = 512;   // entries that a worker goes on with alone

template <class C>
struct Team {
  using Weight = typename C::Weight;
  using Work = Scanner<C, SharedUpdate<Weight>>;
  using Ring = typename Work::Ring;
  using Bucket = typename Work::Bucket;

  // What a worker says before the barrier of a round.
  struct Published {
    uint64_t first = Ring::kEmpty;
    bool stop = false;
    bool has_low = false;
    Weight low = 0;  // least pending distance, where asked for or in the far pile
    uint64_t rows = 0;
    uint64_t repeated = 0;
  };

  struct alignas(128) Member {
    Member(const C& csr, Weight* distances, Weight limit, const DeltaPlan& plan, int threads)
        : work(csr, distances, limit, plan.delta), adapter(plan.adapt, 32 * threads) {}

    Published published[2];
    alignas(64) uint64_t cursor = 0;  // next entry of the segment that nobody has taken
    alignas(64) uint64_t ready = 0;   // round for which the segment is on offer
    Bucket segment;
    Bucket fresh;
    Work work;
    Adapter adapter;
    std::exception_ptr error;
  };

  const C& csr;
  Weight* distances;
  StopRule<Weight> stop;
  int threads;
  Interrupt& interrupt;
  Barrier barrier;
  Member* members;

  // Chunks of one worker's segment, until there are none left.
  void take_chunks(Member& me, Member& owner) {
    const std::size_t size = owner.segment.size;
    const std::size_t share = size / (4 * static_cast<std::size_t>(threads)) + 1;
    const std::size_t chunk = share < 32 ? 32 : share > kChunk ? kChunk : share;
    for (;;) {
      const uint64_t from = __atomic_fetch_add(&owner.cursor, chunk, __ATOMIC_RELAXED);
      if (from >= size) return;
      me.work.scan(owner.segment, from, from + chunk < size ? from + chunk : size, me.fresh);
    }
  }

  // One bucket number. `at` says who has entries of it.
  void round(int worker, uint64_t number, uint64_t turn, int parity) {
    Member& me = members[worker];
    auto& ring = me.work.ring;
    me.segment.size = 0;
    if (me.published[parity].first == number) {
      ring.take(number, me.segment);
      __atomic_store_n(&me.cursor, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&me.ready, turn, __ATOMIC_RELEASE);
      take_chunks(me, me);
    } else {
      ring.advance(number);
    }
    for (int i = 1; i < threads; ++i) {
      Member& other = members[(worker + i) % threads];
      if (other.published[parity].first != number) continue;
      // It has just passed the same barrier; if it was put to sleep there, its share is left to it.
      for (int spin = 0; spin < 200; ++spin)
        if (__atomic_load_n(&other.ready, __ATOMIC_ACQUIRE) == turn) break;
      if (__atomic_load_n(&other.ready, __ATOMIC_ACQUIRE) == turn) take_chunks(me, other);
    }
    std::size_t done = 0;
    while (done < me.fresh.size && me.fresh.size - done < kFuse) {
      const std::size_t size = me.fresh.size;
      me.work.scan(me.fresh, done, size, me.fresh);
      done = size;
    }
    for (std::size_t i = done; i < me.fresh.size; ++i) ring.push(number, me.fresh.data[i]);
    me.fresh.size = 0;
  }

  void publish(Member& me, Published& out) {
    auto& ring = me.work.ring;
    out.stop = me.error != nullptr;
    out.first = ring.next(false);
    out.has_low = false;
    if (out.first == Ring::kEmpty) {
      out.has_low = ring.far_least(out.low);
    } else if (stop.n_targets != 0) {
      out.low = ring.least_of(out.first);
      out.has_low = true;
    }
    out.rows = me.work.stats.vertices_processed;
    out.repeated = me.work.repeated;
  }

  void run(int worker) {
    Member& me = members[worker];
    auto& ring = me.work.ring;
    StopRule<Weight> rule = stop;
    uint64_t rows = 0, repeated = 0;
    for (uint64_t turn = 1;; ++turn) {
      const int parity = static_cast<int>(turn & 1);
      publish(me, me.published[parity]);
      barrier.arrive_and_wait();
      Published all;
      for (int i = 0; i < threads; ++i) {
        const Published& one = members[i].published[parity];
        all.stop |= one.stop;
        all.rows += one.rows;
        all.repeated += one.repeated;
        if (one.first < all.first) all.first = one.first;
      }
      // Least distance among those who hold the least bucket, or among all far piles.
      for (int i = 0; i < threads; ++i) {
        const Published& one = members[i].published[parity];
        if (one.first != all.first || !one.has_low) continue;
        all.low = !all.has_low || one.low < all.low ? one.low : all.low;
        all.has_low = true;
      }
      if (all.stop) return;
      if (all.first == Ring::kEmpty) {
        // A worker with an empty ring and an empty far pile has nothing to deal, but moves its
        // base.
        if (!all.has_low) return;
        ring.deal(all.low, false);
        continue;
      }
      if (rule.n_targets != 0 && rule.reached_all(distances, all.low)) return;
      const double factor =
          me.adapter.after_bucket(all.rows - rows, all.repeated - repeated, ring.delta());
      rows = all.rows;
      repeated = all.repeated;
      if (factor != 1) {
        ring.advance(all.first);
        ring.widen(ring.lower_end(), ring.delta() * factor);
        continue;
      }
      ++me.work.stats.iterations;
      try {
        const uint64_t edges = me.work.stats.edges_relaxed;
        round(worker, all.first, turn, parity);
        me.work.renew_bound();
        if (worker == 0) interrupt.poll(me.work.stats.edges_relaxed - edges + 64);
      } catch (...) {
        me.error = std::current_exception();
      }
    }
  }
};

}  // namespace

template <class C>
SearchStats delta_parallel(const C& csr, typename C::Index source, typename C::Weight* distances,
                           StopRule<typename C::Weight> stop, DeltaPlan plan, WorkerPool& pool,
                           int threads, Interrupt& interrupt) {
  using T = Team<C>;
  using Member = typename T::Member;
  struct Members {
    Member* data;
    int built = 0;
    ~Members() {
      while (built > 0) data[--built].~Member();
      std::free(data);
    }
  } members{static_cast<Member*>(
      std::aligned_alloc(alignof(Member), sizeof(Member) * static_cast<std::size_t>(threads)))};
  if (members.data == nullptr) throw std::bad_alloc();
  for (; members.built < threads; ++members.built)
    new (members.data + members.built) Member(csr, distances, stop.limit, plan, threads);
  const auto n = static_cast<std::size_t>(csr.n);
  T team{csr,         distances, stop, threads, interrupt, Barrier(static_cast<uint32_t>(threads)),
         members.data};
  members.data[0].work.stats.pushes = 1;
  members.data[0].work.ring.push({source, 0});
  const auto parts = static_cast<std::size_t>(threads);
  pool.run(threads, [&](int worker) {
    const auto part = static_cast<std::size_t>(worker);
    std::fill(distances + n * part / parts, distances + n * (part + 1) / parts,
              unreached<typename C::Weight>());
    team.barrier.arrive_and_wait();
    if (worker == 0) distances[source] = 0;
    team.barrier.arrive_and_wait();
    team.run(worker);
  });
  SearchStats stats = members.data[0].work.stats;
  stats.delta = members.data[0].work.ring.delta();
  stats.delta_changes = members.data[0].work.ring.changes();
  for (int i = 0; i < threads; ++i) {
    if (members.data[i].error) std::rethrow_exception(members.data[i].error);
    if (i == 0) continue;
    const SearchStats& one = members.data[i].work.stats;
    stats.vertices_processed += one.vertices_processed;
    stats.edges_relaxed += one.edges_relaxed;
    stats.pushes += one.pushes;
    stats.stale += one.stale;
  }
  return stats;
}

#define NEARFAR_INSTANTIATE(I, W)                                                                 \
  template SearchStats delta_parallel<Csr<I, W>>(const Csr<I, W>&, I, W*, StopRule<W>, DeltaPlan, \
                                                 WorkerPool&, int, Interrupt&);
NEARFAR_FOR_EACH_CSR(NEARFAR_INSTANTIATE)

#define NEARFAR_INSTANTIATE_BARE(C)                                                          \
  template SearchStats delta_parallel<C>(const C&, int32_t, C::Weight*, StopRule<C::Weight>, \
                                         DeltaPlan, WorkerPool&, int, Interrupt&);
NEARFAR_FOR_EACH_BARE(NEARFAR_INSTANTIATE_BARE)

}  // namespace nearfar::NEARFAR_ISA
