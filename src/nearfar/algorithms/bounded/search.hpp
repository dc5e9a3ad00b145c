// One bounded search: time and memory depend on the vertices within the limit, not on the graph.
//
// Dijkstra's method over a lazy heap, with the distances in an open-addressing hash table that the
// worker reuses: a slot counts only if it carries the stamp of the search under way, so nothing is
// cleared between searches. Vertices come out in order of distance, equal distances in order of the
// vertex. Weights are not negative, and the limit lies below the value that means "unreached".
//
// Sums are those of every other search: left to right along a path, the least of all paths, so the
// bits do not depend on the engine.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "cpu/buffer.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/interrupt.hpp"
#include "cpu/search.hpp"

namespace nearfar::bounded {

// Distances of the vertices reached by the search under way.
template <class Index, class Weight>
class ReachedTable {
 public:
  ReachedTable() { allocate(1024); }

  // Forget all vertices.
  void clear() {
    size_ = 0;
    if (++stamp_ == 0) {
      std::fill_n(slots_.get(), capacity(), Slot{});
      stamp_ = 1;
    }
  }

  // The distance of v, or where it is to be stored: unreached() if v is new, which then counts.
  NEARFAR_INLINE Weight& at(Index v) {
    for (std::size_t i = place(v);; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.stamp != stamp_) {
        if (2 * ++size_ > mask_) [[unlikely]] {
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

  std::size_t capacity() const { return mask_ + 1; }
  // Fibonacci hashing: the high bits of the product depend on all bits of v.
  NEARFAR_INLINE std::size_t place(Index v) const {
    return (static_cast<uint64_t>(v) * 0x9E3779B97F4A7C15u) >> shift_;
  }

  void allocate(std::size_t slots) {
    slots_.reset(new Slot[slots]());
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
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
    const std::size_t before = capacity();
    const uint32_t stamp = stamp_;
    allocate(2 * before);
    for (std::size_t i = 0; i < before; ++i)
      if (old[i].stamp == stamp) at_new(old[i].vertex) = old[i].distance;
  }

  std::unique_ptr<Slot[]> slots_;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
  int shift_ = 0;
  uint32_t stamp_ = 1;
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

  // most: vertices after which a search stops, for a look at how far a limit leads.
  Search(const C& csr, std::size_t most) : csr_(csr), heap_(csr.n), most_(most) {}

  // Settles the vertices within the limit; the source comes first.
  void run(Index source, Weight limit, Interrupt& interrupt) {
    settled_.size = 0;
    table_.clear();
    table_.at(source) = 0;
    relax(source, 0, limit, interrupt);
    Index v;
    Weight d;
    while (heap_.pop(v, d)) {
      if (table_.at(v) != d || settled_.size >= most_) continue;  // stale, or only emptied
      relax(v, d, limit, interrupt);
    }
    order_ties();
  }

  // The distance of a vertex, unreached() beyond the limit.
  Weight distance(Index v) const { return table_.find(v); }
  const Settled* begin() const { return settled_.data; }
  const Settled* end() const { return settled_.data + settled_.size; }
  std::size_t size() const { return settled_.size; }
  uint64_t edges() const { return edges_; }

 private:
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
      heap_.insert(edge.target, old);
    }
  }

  // An edge of weight 0 can lead to a lesser vertex of the distance that was just settled.
  void order_ties() {
    const auto less = [](const Settled& a, const Settled& b) {
      return a.distance < b.distance || (a.distance == b.distance && a.vertex < b.vertex);
    };
    Settled* first = settled_.data + 1;
    Settled* last = settled_.data + settled_.size;
    if (!std::is_sorted(first, last, less)) std::sort(first, last, less);
  }

  const C& csr_;
  DaryHeap<Index, Weight, 4> heap_;
  ReachedTable<Index, Weight> table_;
  Buffer<Settled> settled_;
  const std::size_t most_;
  uint64_t edges_ = 0;
};

}  // namespace nearfar::bounded
