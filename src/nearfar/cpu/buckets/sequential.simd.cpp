// Delta-stepping on one core: buckets instead of a heap, so that what comes next is known in
// advance.
//
// Meyer and Sanders 2003, without the split into light and heavy edges: an edge that leads into the
// current bucket is worked off in the same visit to the bucket, any other goes to its bucket.
// Entries carry the distance they were pushed with; one whose vertex is nearer by now is stale and
// dropped. Delta adapts while running (adapter.hpp), unless the caller fixed it.
#include "cpu/buckets/sequential.hpp"

#include <algorithm>

#include "cpu/buckets/adapter.hpp"
#include "cpu/buckets/scan.hpp"
#include "cpu/buffer.hpp"

namespace nearfar::NEARFAR_ISA {

namespace {

constexpr std::size_t kPart = 1 << 14;  // entries of a bucket between two looks for Ctrl-C, at most

// Drops stale and repeated entries and puts the others into the order of their rows in memory. Long
// rows of a full bucket are then read at nearly the speed of a stream.
template <class Bucket, class Weight>
void put_in_order(Bucket& bucket, const Weight* distances, Buffer<uint64_t>& marks, std::size_t n) {
  const std::size_t words = n / 64 + 1;
  marks.reserve(words);
  std::fill_n(marks.data, words, uint64_t{0});
  for (std::size_t i = 0; i < bucket.size; ++i) {
    const auto entry = bucket.data[i];
    const auto v = static_cast<std::size_t>(entry.vertex);
    marks.data[v / 64] |= uint64_t{distances[v] == entry.distance} << (v % 64);
  }
  bucket.size = 0;
  for (std::size_t word = 0; word < words; ++word)
    for (uint64_t bits = marks.data[word]; bits != 0; bits &= bits - 1) {
      const std::size_t v = word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
      auto& entry = bucket.data[bucket.size++];
      entry.vertex = static_cast<decltype(entry.vertex)>(v);
      entry.distance = distances[v];
    }
}

// Memory that lasts from one search to the next.
template <class C>
struct Memory {
  using Work = Scanner<C, PlainUpdate<typename C::Weight>>;
  Work work;
  typename Work::Bucket now;
  Buffer<uint64_t> marks;
};

// Every distance is unreached.
template <class C>
void search(Memory<C>& memory, const C& csr, typename C::Index source,
            typename C::Weight* distances, StopRule<typename C::Weight> stop, bool adapt,
            Interrupt& interrupt, IterationLog* log) {
  using Weight = typename C::Weight;
  using Ring = typename Memory<C>::Work::Ring;
  auto& work = memory.work;
  auto& ring = work.ring;
  auto& stats = work.stats;
  auto& now = memory.now;
  distances[source] = 0;
  ring.push({source, 0});
  ++stats.pushes;
  Adapter adapter(adapt, 32);
  const auto n = static_cast<std::size_t>(csr.n), m = static_cast<std::size_t>(csr.m);
  const std::size_t full = m / 16 >= n ? n / 64 + 64 : ~std::size_t{0};
  now.size = 0;
  for (;;) {
    const uint64_t number = ring.next();
    if (number == Ring::kEmpty) {
      Weight low;
      if (!ring.far_least(low)) break;
      ring.deal(low);
      continue;
    }
    ring.take(number, now);
    if (stop.n_targets != 0 && stop.reached_all(distances, Ring::least(now))) break;
    if (now.size > full) {
      stats.stale += now.size;
      put_in_order(now, distances, memory.marks, n);
      stats.stale -= now.size;
    }
    const uint64_t rows = stats.vertices_processed, edges = stats.edges_relaxed;
    work.repeated = 0;
    std::size_t done = 0;
    while (done < now.size) {
      const std::size_t size = now.size;
      while (done < size) {
        const std::size_t end = size - done < kPart ? size : done + kPart;
        const uint64_t before = stats.edges_relaxed;
        work.scan(now, done, end, now);
        done = end;
        interrupt.poll(stats.edges_relaxed - before + 64);
      }
      if (adapter.hopeless(stats.vertices_processed - rows, work.repeated)) break;
    }
    work.renew_bound();
    ++stats.iterations;
    const double factor =
        adapter.after_bucket(stats.vertices_processed - rows, work.repeated, ring.delta());
    if (factor != 1) ring.widen(ring.lower_end(), ring.delta() * factor);
    for (std::size_t i = done; i < now.size; ++i) ring.push(now.data[i]);
    now.size = 0;
    if (log != nullptr)
      note_iteration(*log, stats.vertices_processed - rows, ring.near_size(), ring.far_size(),
                     stats.edges_relaxed - edges);
  }
  stats.delta = ring.delta();
  stats.delta_changes = ring.changes();
}

}  // namespace

template <class C>
SearchStats delta_sequential(const C& csr, typename C::Index source, typename C::Weight* distances,
                             StopRule<typename C::Weight> stop, DeltaPlan plan,
                             Interrupt& interrupt, IterationLog* log) {
  Memory<C> memory{{csr, distances, stop.limit, plan.delta}, {}, {}};
  std::fill_n(distances, static_cast<std::size_t>(csr.n), unreached<typename C::Weight>());
  search(memory, csr, source, distances, stop, plan.adapt, interrupt, log);
  return memory.work.stats;
}

template <class C>
SearchStats delta_feed(const C& csr, const DeltaFeed<C>& feed, StopRule<typename C::Weight> stop,
                       DeltaPlan plan, Interrupt& interrupt) {
  using Weight = typename C::Weight;
  typename C::Index source = 0;
  Weight* distances = nullptr;
  Memory<C> memory{{csr, distances, stop.limit, plan.delta}, {}, {}};
  while (feed.next(feed.self, source, distances)) {
    memory.work.start(distances, feed.touched);
    if (feed.touched == nullptr)
      std::fill_n(distances, static_cast<std::size_t>(csr.n), unreached<Weight>());
    else
      feed.touched->push(source);
    search(memory, csr, source, distances, stop, plan.adapt, interrupt, nullptr);
  }
  return memory.work.stats;
}

#define NEARFAR_INSTANTIATE(I, W)                                                           \
  template SearchStats delta_sequential<Csr<I, W>>(const Csr<I, W>&, I, W*, StopRule<W>,    \
                                                   DeltaPlan, Interrupt&, IterationLog*);   \
  template SearchStats delta_feed<Csr<I, W>>(const Csr<I, W>&, const DeltaFeed<Csr<I, W>>&, \
                                             StopRule<W>, DeltaPlan, Interrupt&);
NEARFAR_FOR_EACH_CSR(NEARFAR_INSTANTIATE)

#define NEARFAR_INSTANTIATE_BARE(C)                                                            \
  template SearchStats delta_sequential<C>(const C&, int32_t, C::Weight*, StopRule<C::Weight>, \
                                           DeltaPlan, Interrupt&, IterationLog*);
NEARFAR_FOR_EACH_BARE(NEARFAR_INSTANTIATE_BARE)

}  // namespace nearfar::NEARFAR_ISA
