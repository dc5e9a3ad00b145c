// One bounded search: time and memory depend on the vertices within the limit, not on the graph.
//
// Dijkstra's method over a lazy queue, with the distances in an open-addressing hash table that the
// worker reuses: a slot counts only if it carries the stamp of the search under way, so nothing is
// cleared between searches. A table that would have more slots than the graph has vertices becomes
// one slot per vertex. Vertices come out in order of distance, equal distances in order of the
// vertex. Weights are not negative, and the limit lies below the value that means "unreached".
//
// The queue knows the limit, so entries lie in buckets of distance, about one for every two
// vertices that the last search settled, and only the bucket under way is a heap: of two or three
// entries.
//
// Sums are those of every other search: left to right along a path, the least of all paths, so the
// bits do not depend on the engine.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>

#include "cpu/heaps/dary_heap.hpp"
#include "cpu/memory/buffer.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar::bounded {

// Distances of the vertices reached by the search under way.
template <class Index, class Weight>
class ReachedTable {
 public:
  // For graphs of n vertices; grows beyond the expected number of them.
  ReachedTable(Index n, std::size_t expected) : n_(static_cast<std::size_t>(n)) {
    allocate(std::bit_ceil(std::max<std::size_t>(1024, 2 * expected + 1)));
  }

  // Forget all vertices.
  void clear() {
    size_ = 0;
    if (++stamp_ == 0) {
      std::fill_n(slots_.get(), mask_ + 1, Slot{});
      stamp_ = 1;
    }
  }

  // The distance of v, or where it is to be stored: unreached() if v is new, which then counts.
  NEARFAR_INLINE Weight& at(Index v) {
    for (std::size_t i = place(v);; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.stamp != stamp_) {
        if (++size_ > most_) [[unlikely]] {
          grow();
          return at_new(v);
        }
        slot = {v, stamp_, unreached<Weight>()};
        return slot.distance;
      }
      if (slot.vertex == v) return slot.distance;
    }
  }

  Weight find(Index v) const {
    for (std::size_t i = place(v); slots_[i].stamp == stamp_; i = (i + 1) & mask_)
      if (slots_[i].vertex == v) return slots_[i].distance;
    return unreached<Weight>();
  }

 private:
  struct Slot {
    Index vertex = 0;
    uint32_t stamp = 0;
    Weight distance = 0;
  };

  // Fibonacci hashing: the high bits of the product depend on all bits of v. With a slot per vertex
  // the factor is 1 and the shift 0.
  NEARFAR_INLINE std::size_t place(Index v) const {
    return (static_cast<uint64_t>(v) * factor_) >> shift_;
  }

  void allocate(std::size_t slots) {
    const bool hashed = slots < n_;
    factor_ = hashed ? 0x9E3779B97F4A7C15u : 1;
    shift_ = hashed ? 64 - std::countr_zero(slots) : 0;
    if (!hashed) slots = std::bit_ceil(n_ + 1);
    slots_.reset(new Slot[slots]());
    mask_ = slots - 1;
    most_ = hashed ? slots / 2 : slots;
    stamp_ = 1;
  }

  NEARFAR_INLINE Weight& at_new(Index v) {
    std::size_t i = place(v);
    while (slots_[i].stamp == stamp_) i = (i + 1) & mask_;
    slots_[i] = {v, stamp_, unreached<Weight>()};
    return slots_[i].distance;
  }

  NEARFAR_COLD void grow() {
    const std::unique_ptr<Slot[]> old = std::move(slots_);
    const std::size_t before = mask_ + 1;
    const uint32_t stamp = stamp_;
    allocate(4 * before);
    for (std::size_t i = 0; i < before; ++i)
      if (old[i].stamp == stamp) at_new(old[i].vertex) = old[i].distance;
  }

  const std::size_t n_;
  std::unique_ptr<Slot[]> slots_;
  uint64_t factor_ = 1;
  std::size_t mask_ = 0;
  std::size_t size_ = 0, most_ = 0;
  int shift_ = 0;
  uint32_t stamp_ = 1;
};

// Pending vertices in order of distance, then vertex, of a search that does not leave a limit.
template <class Index, class Weight>
class BucketedHeap {
 public:
  explicit BucketedHeap(Index n) : heap_(n) {}

  // Empties the queue for a search within the limit that may settle about so many vertices.
  void start(Weight limit, std::size_t expected) {
    Index v;
    Weight d;
    while (heap_.pop(v, d)) {
    }
    entries_.size = 0;
    buckets_ = std::min(kMost, std::bit_ceil(expected / 2 + 1));
    while (heads_.size < buckets_) heads_.push(kNone);
    std::fill_n(heads_.data, buckets_, kNone);
    // Rounding may move the limit itself one bucket on.
    const double most = static_cast<double>(limit);
    scale_ = most > 0 ? static_cast<double>(buckets_) / most : 0.0;
    if (!(scale_ <= std::numeric_limits<double>::max())) scale_ = 0.0;
    current_ = 0;
    pending_ = 0;
  }

  NEARFAR_INLINE void insert(Index v, Weight d) {
    const auto bucket = std::min(static_cast<std::size_t>(static_cast<double>(d) * scale_),
                                 static_cast<std::size_t>(buckets_ - 1));
    if (bucket <= current_) {
      heap_.insert(v, d);
      return;
    }
    entries_.push({d, v, heads_.data[bucket]});
    heads_.data[bucket] = static_cast<uint32_t>(entries_.size - 1);
    ++pending_;
  }

  // The least entry that is still the distance of its vertex in the table; false where none is.
  NEARFAR_INLINE bool pop(ReachedTable<Index, Weight>& table, Index& v, Weight& d) {
    for (;;) {
      while (heap_.pop(v, d))
        if (table.at(v) == d) return true;
      if (pending_ == 0) return false;
      uint32_t entry;
      while ((entry = heads_.data[++current_]) == kNone) {
      }
      for (; entry != kNone; entry = entries_.data[entry].next) {
        const Entry& one = entries_.data[entry];
        --pending_;
        if (table.at(one.vertex) == one.distance) heap_.insert(one.vertex, one.distance);
      }
    }
  }

 private:
  struct Entry {
    Weight distance;
    Index vertex;
    uint32_t next;
  };
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t kMost = 1 << 14;

  DaryHeap<Index, Weight, 4> heap_;  // what is in buckets up to the current one
  Buffer<Entry> entries_;
  Buffer<uint32_t> heads_;
  std::size_t buckets_ = 1, current_ = 0, pending_ = 0;
  double scale_ = 0;
};

template <class C>
class Search {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;
  struct Settled {
    Index vertex;
    Weight distance;
  };

  // most: vertices after which a search stops, for a look at how far a limit leads. expected: how
  // many the first search may settle.
  Search(const C& csr, std::size_t most, std::size_t expected = 0)
      : csr_(csr), table_(csr.n, expected), queue_(csr.n), most_(most), expected_(expected) {}

  // Settles the vertices within the limit; the source comes first.
  void run(Index source, Weight limit, Interrupt& interrupt) {
    start(limit);
    table_.at(source) = 0;
    relax(source, 0, limit, interrupt);
    settle_all(limit, interrupt);
    order_ties(1);
  }

  // The same from several sources, which are vertices 0 apart.
  void run(const int64_t* sources, std::size_t count, Weight limit, Interrupt& interrupt) {
    start(limit);
    for (std::size_t i = 0; i < count; ++i) {
      const auto source = static_cast<Index>(sources[i]);
      table_.at(source) = 0;
      queue_.insert(source, 0);
    }
    settle_all(limit, interrupt);
    order_ties(0);
  }

  // The distance of a vertex, unreached() beyond the limit.
  Weight distance(Index v) const { return table_.find(v); }
  const Settled* begin() const { return settled_.data; }
  const Settled* end() const { return settled_.data + settled_.size; }
  std::size_t size() const { return settled_.size; }
  uint64_t edges() const { return edges_; }

 private:
  void start(Weight limit) {
    queue_.start(limit, std::max(expected_, settled_.size));
    expected_ = 0;
    settled_.size = 0;
    table_.clear();
  }

  void settle_all(Weight limit, Interrupt& interrupt) {
    Index v;
    Weight d;
    while (settled_.size < most_ && queue_.pop(table_, v, d)) relax(v, d, limit, interrupt);
  }

  NEARFAR_INLINE void relax(Index v, Weight d, Weight limit, Interrupt& interrupt) {
    settled_.push({v, d});
    const auto begin = static_cast<std::size_t>(csr_.indptr[v]);
    const auto end = static_cast<std::size_t>(csr_.indptr[v + 1]);
    edges_ += end - begin;
    interrupt.poll(end - begin + 8);
    for (std::size_t e = begin; e < end; ++e) {
      const auto edge = csr_.edge(e);
      const auto sum = candidate(d, edge.weight);
      if (sum > static_cast<SumOf<Weight>>(limit)) continue;
      Weight& old = table_.at(edge.target);
      if (!improves(sum, old)) continue;
      old = static_cast<Weight>(sum);
      queue_.insert(edge.target, old);
    }
  }

  // An edge of weight 0 can lead to a lesser vertex of the distance that was just settled.
  void order_ties(std::size_t from) {
    const auto less = [](const Settled& a, const Settled& b) {
      return a.distance < b.distance || (a.distance == b.distance && a.vertex < b.vertex);
    };
    Settled* first = settled_.data + from;
    Settled* last = settled_.data + settled_.size;
    if (!std::is_sorted(first, last, less)) std::sort(first, last, less);
  }

  const C& csr_;
  ReachedTable<Index, Weight> table_;
  BucketedHeap<Index, Weight> queue_;
  Buffer<Settled> settled_;
  const std::size_t most_;
  std::size_t expected_;
  uint64_t edges_ = 0;
};

}  // namespace nearfar::bounded
