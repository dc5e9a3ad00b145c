// A worker of delta-stepping on many cores, and the entries and rows that others may take; see
// parallel.cpp.
#pragma once

#include <algorithm>
#include <exception>

#include "algorithms/delta_stepping/adapter.hpp"
#include "algorithms/delta_stepping/eras.hpp"
#include "algorithms/delta_stepping/full_buckets.hpp"
#include "algorithms/delta_stepping/relax.hpp"
#include "cpu/threads/waiting.hpp"

namespace nearfar::delta_stepping {

constexpr std::size_t kFullShare = 512;   // a bucket is full if it holds one vertex in this many
constexpr uint64_t kSoon = 16;            // buckets before "too narrow": a worker has few
constexpr uint64_t kThin = 96;            // vertices that take as long as a bucket by itself
constexpr uint64_t kManyEdges = 1 << 15;  // repeated edges per worker that cost more than a change
constexpr std::size_t kEra = 512;         // entries between two requests for the next era

// A lock held only while some entries are copied.
class SpinLock {
 public:
  NEARFAR_INLINE bool try_lock() {
    return __atomic_load_n(&held_, __ATOMIC_RELAXED) == 0 &&
           __atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE) == 0;
  }
  NEARFAR_INLINE void lock() {
    while (!try_lock()) pause_thread();
  }
  NEARFAR_INLINE void unlock() { __atomic_store_n(&held_, 0, __ATOMIC_RELEASE); }

 private:
  uint32_t held_ = 0;
};

// Partitions entries [begin .. end) by vertex into about equal halves, lesser ids first, and
// returns where the second begins. Neighbours often have close ids, so two workers then share only
// the cache lines of a border.
template <class Entry>
NEARFAR_INLINE std::size_t split(Entry* entries, std::size_t begin, std::size_t end) {
  constexpr std::size_t kSample = 7;
  if (end - begin < 2 * kSample) return begin + (end - begin) / 2;
  decltype(entries->vertex) sample[kSample];
  const std::size_t step = (end - begin) / kSample;
  for (std::size_t i = 0; i < kSample; ++i) {
    const auto vertex = entries[begin + i * step].vertex;
    std::size_t at = i;
    for (; at > 0 && sample[at - 1] > vertex; --at) sample[at] = sample[at - 1];
    sample[at] = vertex;
  }
  const auto middle = sample[kSample / 2];
  std::size_t to = begin;
  for (std::size_t i = begin; i < end; ++i) {
    const Entry entry = entries[i];
    entries[i] = entries[to];
    entries[to] = entry;
    to += entry.vertex < middle;
  }
  return to == begin || to == end ? begin + (end - begin) / 2 : to;
}

// Entries that any idle worker may take, all from one bucket and so at about the same distance.
template <class C>
class alignas(128) Shelf {
 public:
  using Weight = typename C::Weight;
  using Bits = BitsOf<Weight>;
  using Bucket = typename BucketRing<C>::Bucket;
  using Entry = typename BucketRing<C>::Entry;

  static constexpr std::size_t kMost = 4096;  // entries taken at a time

  // Read by every worker: the number of entries, and a lower bound of the distances that the owner
  // holds on the shelf or elsewhere (the greatest distance if it holds none).
  NEARFAR_INLINE std::size_t size() const { return __atomic_load_n(&size_, __ATOMIC_ACQUIRE); }
  NEARFAR_INLINE Bits level() const { return __atomic_load_n(&level_, __ATOMIC_SEQ_CST); }
  NEARFAR_INLINE void set_level(Weight low, bool exact) {
    if (exact)  // for comparison with what others hold
      __atomic_store_n(&level_, ordered_bits(low), __ATOMIC_SEQ_CST);
    else
      __atomic_store_n(&level_, ordered_bits(low), __ATOMIC_RELAXED);
  }
  static constexpr Bits nothing() { return std::bit_cast<Bits>(unreached<Weight>()); }

  // Called by the owner: puts from[begin ..) on the shelf. `offers` counts nonempty shelves, so
  // that workers looking for entries read only one cache line while there are none, as is usual.
  void put(Bucket& from, std::size_t begin, uint32_t& offers) {
    const std::size_t count = from.size - begin;
    if (count == 0) return;
    lock_.lock();
    try {
      entries_.reserve(std::max<std::size_t>(256, entries_.size + count));
    } catch (...) {
      lock_.unlock();
      throw;
    }
    if (entries_.size == 0) __atomic_add_fetch(&offers, 1, __ATOMIC_RELAXED);
    std::copy_n(from.data + begin, count, entries_.data + entries_.size);
    entries_.size += count;
    from.size = begin;
    __atomic_store_n(&size_, entries_.size, __ATOMIC_RELEASE);
    lock_.unlock();
  }

  // Called by the owner: takes back at most `most` entries.
  bool take_back(Bucket& out, std::size_t most, uint32_t& offers) {
    if (size() == 0) return false;
    most = std::min(most, kMost);
    out.reserve(out.size + most);
    lock_.lock();
    move_out(out, std::min(most, entries_.size), offers);
    lock_.unlock();
    return out.size != 0;
  }

  // Called by another worker: takes half of the entries, or all if there are few, unless it would
  // have to wait. `claim` receives their least distance before the owner can miss them.
  template <class Claim>
  bool take(Bucket& out, std::size_t grain, uint32_t& offers, const Claim& claim) {
    out.reserve(out.size + kMost);
    if (!lock_.try_lock()) return false;
    const std::size_t there = entries_.size;
    const std::size_t count =
        there <= 2 * grain
            ? there
            : std::min(kMost, std::max(grain, there - split(entries_.data, 0, there)));
    if (count != 0) {
      Weight low = unreached<Weight>();
      for (std::size_t i = there - count; i < there; ++i)
        low = std::min(low, entries_.data[i].distance);
      claim(low);
      move_out(out, count, offers);
    }
    lock_.unlock();
    return count != 0;
  }

 private:
  void move_out(Bucket& out, std::size_t count, uint32_t& offers) {
    if (count == 0) return;
    entries_.size -= count;
    if (entries_.size == 0) __atomic_sub_fetch(&offers, 1, __ATOMIC_RELAXED);
    std::copy_n(entries_.data + entries_.size, count, out.data + out.size);
    out.size += count;
    __atomic_store_n(&size_, entries_.size, __ATOMIC_RELEASE);
  }

  Bits level_ = nothing();
  std::size_t size_ = 0;
  SpinLock lock_;
  Bucket entries_;  // under the lock
};

// A row of very many edges of which all workers take pieces; one row at a time.
template <class C>
class alignas(128) LongRow {
 public:
  using Piece = typename Relaxer<C, SharedUpdate<typename C::Weight>>::Piece;
  static constexpr std::size_t kPiece = std::size_t{1} << 11;  // edges

  NEARFAR_INLINE bool open() const { return __atomic_load_n(&open_, __ATOMIC_ACQUIRE) != 0; }

  // Returns false while pieces of another row are left.
  bool put(const Piece& row) {
    lock_.lock();
    const bool idle = left_.begin == left_.end;
    if (idle) left_ = row;
    __atomic_store_n(&open_, 1, __ATOMIC_RELEASE);
    lock_.unlock();
    return idle;
  }

  // `claim` receives the row before the piece is removed, and returns whether to take it; it may
  // also empty the row.
  template <class Claim>
  bool take(Piece& piece, const Claim& claim) {
    if (!open()) return false;
    lock_.lock();
    const bool some = left_.begin != left_.end && claim(left_);
    if (some) {
      piece = left_;
      piece.end = std::min(left_.end, left_.begin + kPiece);
      left_.begin = piece.end;
    }
    if (left_.begin == left_.end) __atomic_store_n(&open_, 0, __ATOMIC_RELEASE);
    lock_.unlock();
    return some;
  }

 private:
  uint32_t open_ = 0;
  SpinLock lock_;
  Piece left_{};  // under the lock
};

// Private state of a worker, allocated by the worker so that the memory is local to its core.
template <class C>
struct Own {
  using Weight = typename C::Weight;
  using Work = Relaxer<C, SharedUpdate<Weight>>;

  Own(const C& csr, Weight* distances, Weight limit, const DeltaPlan& plan)
      : work(csr, distances, limit, plan),
        full(csr, kFullShare),
        adapter(plan.adapt, kManyEdges + work.n_edges() / 32) {}

  // Entries that the worker believes final, by era: only after Era::kOver more can no other worker
  // raise them. Kept until then.
  struct Page {
    typename Work::Bucket entries;
    Weight least = unreached<Weight>();  // lower bound of its entries, used only with targets
  };
  static constexpr uint64_t kPages = Era::kOver + 1;

  void open(uint64_t era, std::size_t size) {
    page = &pages[era % kPages];
    work.log = &page->entries;
    ask_at = size;
  }
  bool nothing_to_check() const {
    for (const Page& one : pages)
      if (one.entries.size != 0) return false;
    return true;
  }
  Weight least_to_check() const {
    Weight low = unreached<Weight>();
    for (const Page& one : pages)
      if (one.entries.size != 0 && one.least < low) low = one.least;
    return low;
  }

  typename Work::Bucket now;  // entries of the current bucket
  Page pages[kPages];
  Page* page = nullptr;              // entries of this era
  Weight low = unreached<Weight>();  // lower bound of those that the worker adds to it
  std::size_t ask_at = 0;            // entries in `page`
  Work work;
  FullBuckets<C, SharedUpdate<Weight>> full;
  Adapter adapter;
  MeanWidth widths;
};

template <class C>
struct alignas(128) Worker {
  ~Worker() { delete own; }

  Shelf<C> shelf;
  // Written by the worker, read by all.
  alignas(128) uint64_t era = Era::kAway;
  // Written by the worker, read by the leader.
  alignas(128) uint64_t taken = 0;  // times that it took entries of others
  uint32_t declined = 0;            // times it left because the leader needs the core
  // Used by the worker; read by the leader after the worker has left the crew.
  alignas(128) Own<C>* own = nullptr;
  SearchStats stats;  // set when `own` is freed
  MeanWidth widths;
  int64_t rang_at = 0;
  std::exception_ptr error;
  bool asked = false;  // the leader's
};

}  // namespace nearfar::delta_stepping
