// Radix heap (Ahuja, Mehlhorn, Orlin and Tarjan 1990), one level, lazy.
//
// Dijkstra pops in rising order, so every key is at least the last one popped. Bucket 0 holds keys
// equal to it, bucket b those whose highest bit that differs from it is bit b - 1. When bucket 0
// runs out, the first bucket in use is emptied: its least key becomes the last one, and its entries
// move to smaller buckets, at most once per bit. No comparison of keys against each other but in
// that one pass. Made for integer weights; the bit patterns of non-negative floats order like the
// numbers, so those work through them, at the price of more redistribution.
#pragma once

#include <bit>
#include <memory>

#include "cpu/memory/buffer.hpp"

namespace nearfar {

template <class IndexT, class WeightT>
class RadixHeap {
 public:
  using Index = IndexT;
  using Weight = WeightT;
  static constexpr bool indexed = false;

  explicit RadixHeap(Index) : buckets_(new Buffer<Entry>[kBuckets]) {}

  void insert(Index v, Weight d) {
    const Bits key = ordered_bits(d);
    buckets_[bucket_of(key)].push(Entry{key, v});
    ++size_;
  }
  void decrease(Index v, Weight d) { insert(v, d); }

  bool pop(Index& v, Weight& d) {
    if (size_ == 0) return false;
    if (buckets_[0].size == 0) redistribute();
    const Entry entry = buckets_[0].data[--buckets_[0].size];
    --size_;
    v = entry.vertex;
    d = from_ordered_bits<Weight>(entry.key);
    return true;
  }

 private:
  using Bits = BitsOf<Weight>;
  static constexpr int kBuckets = 8 * sizeof(Bits) + 1;
  struct Entry {
    Bits key;
    Index vertex;
  };

  int bucket_of(Bits key) const { return std::bit_width(static_cast<Bits>(key ^ last_)); }

  void redistribute() {
    int used = 1;
    while (buckets_[used].size == 0) ++used;
    Buffer<Entry>& from = buckets_[used];
    Bits least = from.data[0].key;
    for (std::size_t i = 1; i < from.size; ++i)
      least = from.data[i].key < least ? from.data[i].key : least;
    last_ = least;
    for (std::size_t i = 0; i < from.size; ++i)
      buckets_[bucket_of(from.data[i].key)].push(from.data[i]);
    from.size = 0;
  }

  std::unique_ptr<Buffer<Entry>[]> buckets_;
  Bits last_ = 0;
  std::size_t size_ = 0;
};

}  // namespace nearfar
