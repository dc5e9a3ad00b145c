// One bounded search: time and memory depend on the vertices within the limit, not on the graph.
//
// Dijkstra's method with a lazy queue. Reached vertices are numbered as they are found, with their
// distances in an array; an open-addressing table maps a vertex to its number. A search clears only
// the slots that it used. A table that would need more slots than the graph has vertices becomes an
// array with one slot per vertex. Vertices are returned in order of distance, ties in order of the
// vertex. Weights are not negative, and the limit is below the value that means "unreached".
//
// The queue divides the distances up to the limit into buckets, about one for every two vertices
// that the last search settled. Only the current bucket is sorted: two or three entries.
//
// Sums are added left to right along a path, and the least of all paths is kept, so all engines
// give the same bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#include "cpu/memory/buffer.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar::bounded {

// Returns the greatest distance that counts: the limit, or the greatest that is not "unreached".
template <class Weight>
Weight farthest(std::optional<double> limit) {
  if constexpr (std::is_floating_point_v<Weight>)
    return std::min(limit_as<Weight>(limit), std::numeric_limits<Weight>::max());
  else
    return std::min(limit_as<Weight>(limit), unreached<Weight>() - 1);
}

// Vertices reached by the current search, numbered from 0, with their distances.
template <class Weight>
class Reached {
 public:
  struct One {
    Weight distance;
    Index vertex;
    uint32_t slot;
  };
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // For graphs of n vertices; grows if more vertices are reached than expected.
  Reached(Index n, std::size_t expected) : n_(static_cast<std::size_t>(n)) {
    allocate(std::bit_ceil(std::max<std::size_t>(1024, 2 * expected + 1)));
  }

  void clear() {
    for (std::size_t i = 0; i < all_.size; ++i) slots_[all_.data[i].slot] = kNone;
    all_.size = 0;
  }

  One& operator[](uint32_t id) { return all_.data[id]; }
  const One& operator[](uint32_t id) const { return all_.data[id]; }
  std::size_t size() const { return all_.size; }

  // Lowers the distance of v to d. Returns its number if d was less, else kNone.
  NEARFAR_INLINE uint32_t lower(Index v, Weight d) {
    for (std::size_t i = place(v);; i = (i + 1) & mask_) {
      const uint32_t id = slots_[i];
      if (id == kNone) return add(v, d, i);
      One& one = all_.data[id];
      if (one.vertex != v) continue;
      if (!improves(d, one.distance)) return kNone;
      one.distance = d;
      return id;
    }
  }

  // Returns the number of v, or kNone if it is not reached.
  NEARFAR_INLINE uint32_t find(Index v) const {
    for (std::size_t i = place(v);; i = (i + 1) & mask_) {
      const uint32_t id = slots_[i];
      if (id == kNone || all_.data[id].vertex == v) return id;
    }
  }

 private:
  // Fibonacci hashing: the high bits of the product depend on all bits of v. With a slot per vertex
  // the factor is 1 and the shift 0.
  NEARFAR_INLINE std::size_t place(Index v) const {
    return (static_cast<uint64_t>(v) * factor_) >> shift_;
  }

  NEARFAR_INLINE uint32_t add(Index v, Weight d, std::size_t slot) {
    const auto id = static_cast<uint32_t>(all_.size);
    slots_[slot] = id;
    all_.push({d, v, static_cast<uint32_t>(slot)});
    if (all_.size > most_) [[unlikely]]
      grow();
    return id;
  }

  void allocate(std::size_t slots) {
    const bool hashed = slots < n_;
    factor_ = hashed ? 0x9E3779B97F4A7C15u : 1;
    shift_ = hashed ? 64 - std::countr_zero(slots) : 0;
    if (!hashed) slots = std::bit_ceil(n_ + 1);
    if (slots > kNone) throw std::bad_alloc();  // numbers and slots have 32 bits
    slots_.reset(new uint32_t[slots]);
    std::fill_n(slots_.get(), slots, kNone);
    mask_ = slots - 1;
    most_ = hashed ? slots / 2 : slots;
  }

  NEARFAR_COLD void grow() {
    slots_.reset();
    allocate(4 * (mask_ + 1));
    for (std::size_t id = 0; id < all_.size; ++id) {
      std::size_t i = place(all_.data[id].vertex);
      while (slots_[i] != kNone) i = (i + 1) & mask_;
      slots_[i] = static_cast<uint32_t>(id);
      all_.data[id].slot = static_cast<uint32_t>(i);
    }
  }

  const std::size_t n_;
  std::unique_ptr<uint32_t[]> slots_;
  Buffer<One> all_;
  uint64_t factor_ = 1;
  std::size_t mask_ = 0, most_ = 0;
  int shift_ = 0;
};

// Queue of pending vertex numbers by distance, for a search within a limit.
template <class Weight>
class Buckets {
 public:
  struct Entry {
    Weight distance;
    uint32_t id;
    uint32_t next;
  };

  // Empties the queue for a search within the limit that may settle about `expected` vertices.
  void start(Weight limit, std::size_t expected) {
    now_.size = entries_.size = 0;
    buckets_ = std::min(kMost, std::bit_ceil(expected / 2 + 1));
    heads_.reserve(buckets_);
    std::fill_n(heads_.data, buckets_, kNone);
    // Rounding may move the limit itself into the next bucket.
    const double most = static_cast<double>(limit);
    scale_ = most > 0 ? static_cast<double>(buckets_) / most : 0.0;
    if (!(scale_ <= std::numeric_limits<double>::max())) scale_ = 0.0;
    current_ = 0;
    pending_ = 0;
  }

  NEARFAR_INLINE void insert(uint32_t id, Weight d) {
    const auto bucket = std::min(static_cast<std::size_t>(static_cast<double>(d) * scale_),
                                 static_cast<std::size_t>(buckets_ - 1));
    if (bucket <= current_) {
      put({d, id, 0});
      return;
    }
    entries_.push({d, id, heads_.data[bucket]});
    heads_.data[bucket] = static_cast<uint32_t>(entries_.size - 1);
    ++pending_;
  }

  // Removes the least entry that is not stale; returns false if there is none.
  template <class R>
  NEARFAR_INLINE bool pop(const R& reached, Entry& least) {
    for (;;) {
      while (now_.size) {
        take(least);
        if (reached[least.id].distance == least.distance) return true;
      }
      if (pending_ == 0) return false;
      uint32_t entry;
      while ((entry = heads_.data[++current_]) == kNone) {
      }
      for (; entry != kNone; entry = entries_.data[entry].next) {
        --pending_;
        const Entry& one = entries_.data[entry];
        if (reached[one.id].distance == one.distance) put(one);
      }
    }
  }

 private:
  // The current bucket: sorted with its least entry last while it is short, else a heap.
  static constexpr std::size_t kShort = 16;
  static bool after(const Entry& a, const Entry& b) { return a.distance > b.distance; }

  NEARFAR_INLINE void put(Entry one) {
    now_.push(one);
    Entry* const all = now_.data;
    std::size_t i = now_.size - 1;
    if (i >= kShort) [[unlikely]] {
      if (i == kShort) std::reverse(all, all + i);
      std::push_heap(all, all + i + 1, after);
      return;
    }
    for (; i > 0 && all[i - 1].distance < one.distance; --i) all[i] = all[i - 1];
    all[i] = one;
  }

  NEARFAR_INLINE void take(Entry& least) {
    Entry* const all = now_.data;
    const std::size_t size = now_.size;
    if (size > kShort) [[unlikely]] {
      std::pop_heap(all, all + size, after);
      least = all[size - 1];
      if (--now_.size == kShort) std::sort(all, all + kShort, after);
      return;
    }
    least = all[size - 1];
    --now_.size;
  }

  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  static constexpr std::size_t kMost = 1 << 14;

  Buffer<Entry> now_, entries_;
  Buffer<uint32_t> heads_;
  std::size_t buckets_ = 1, current_ = 0, pending_ = 0;
  double scale_ = 0;
};

template <class C>
class Search {
 public:
  using Weight = typename C::Weight;
  struct Settled {
    Weight distance;
    Index vertex;
    uint32_t id;
  };

  static constexpr uint32_t kNone = Reached<Weight>::kNone;

  // most: number of vertices after which a search stops, for estimates. expected: number of
  // vertices that the first search may settle.
  Search(const C& csr, std::size_t most, std::size_t expected = 0)
      : csr_(csr), reached_(csr.n, expected), most_(most), expected_(expected) {}

  // Settles the vertices within the limit; the source comes first.
  void run(Index source, Weight limit, Interrupt& interrupt) {
    begin(source, limit, interrupt);
    settle(limit, most_, interrupt);
    order_ties(1);
  }

  // Starts a search within `limit` that proceeds in steps, and settles the source.
  __attribute__((noinline)) void begin(Index source, Weight limit, Interrupt& interrupt) {
    start(limit);
    reached_.lower(source, 0);
    relax(0, 0, interrupt);
  }

  // Continues in order of distance up to `far`, or until `most` vertices are settled.
  __attribute__((noinline)) void settle(Weight far, std::size_t most, Interrupt& interrupt) {
    typename Buckets<Weight>::Entry least;
    while (settled_.size < most && queue_.pop(reached_, least)) {
      if (least.distance > far) {
        queue_.insert(least.id, least.distance);
        return;
      }
      relax(least.id, least.distance, interrupt);
    }
  }

  // Searches from several sources, all at distance 0.
  void run(const int64_t* sources, std::size_t count, Weight limit, Interrupt& interrupt) {
    start(limit);
    for (std::size_t i = 0; i < count; ++i) {
      const uint32_t id = reached_.lower(static_cast<Index>(sources[i]), 0);
      if (id != kNone) queue_.insert(id, 0);
    }
    settle(limit, most_, interrupt);
    order_ties(0);
  }

  // Returns the id of a vertex in Settled, or kNone if it is not reached. Ids are below ids().
  uint32_t id_of(Index v) const { return reached_.find(v); }
  std::size_t ids() const { return reached_.size(); }
  // Returns the distance of a vertex, or unreached() beyond the limit.
  Weight distance(Index v) const {
    const uint32_t id = reached_.find(v);
    return id == kNone ? unreached<Weight>() : reached_[id].distance;
  }
  const Settled* begin() const { return settled_.data; }
  const Settled* end() const { return settled_.data + settled_.size; }
  std::size_t size() const { return settled_.size; }
  uint64_t edges() const { return edges_; }

 private:
  void start(Weight limit) {
    queue_.start(limit, std::max(expected_, settled_.size));
    expected_ = 0;
    limit_ = limit;
    settled_.size = 0;
    reached_.clear();
  }

  NEARFAR_INLINE void relax(uint32_t id, Weight d, Interrupt& interrupt) {
    const Index v = reached_[id].vertex;
    settled_.push({d, v, id});
    const auto begin = static_cast<std::size_t>(csr_.indptr[v]);
    const auto end = static_cast<std::size_t>(csr_.indptr[v + 1]);
    edges_ += end - begin;
    interrupt.poll(end - begin + 8);
    for (std::size_t e = begin; e < end; ++e) {
      const auto edge = csr_.edge(e);
      const auto sum = candidate(d, edge.weight);
      if (sum > static_cast<SumOf<Weight>>(limit_)) continue;
      const uint32_t to = reached_.lower(edge.target, static_cast<Weight>(sum));
      if (to != kNone) queue_.insert(to, static_cast<Weight>(sum));
    }
  }

  // An edge of weight 0 may lead to a smaller vertex at the distance just settled.
  __attribute__((noinline)) void order_ties(std::size_t from) {
    const auto less = [](const Settled& a, const Settled& b) {
      return a.distance < b.distance || (a.distance == b.distance && a.vertex < b.vertex);
    };
    Settled* first = settled_.data + from;
    Settled* last = settled_.data + settled_.size;
    if (!std::is_sorted(first, last, less)) std::sort(first, last, less);
  }

  const C& csr_;
  Reached<Weight> reached_;
  Buckets<Weight> queue_;
  Buffer<Settled> settled_;
  const std::size_t most_;
  std::size_t expected_;
  Weight limit_ = 0;
  uint64_t edges_ = 0;
};

}  // namespace nearfar::bounded
