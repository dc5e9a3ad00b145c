// Radix heap (Ahuja, Mehlhorn, Orlin and Tarjan 1990), one level, lazy.
//
// Dijkstra's method pops keys in ascending order, so every key is at least the last one popped.
// Bucket 0 holds keys equal to it, bucket b those whose highest differing bit is bit b - 1. When
// bucket 0 is empty, the first nonempty bucket is redistributed: its least key becomes the last
// one, and its entries move to smaller buckets, so an entry moves at most once per bit. Keys are
// compared with each other only in that pass. Designed for integers; floats use their bit patterns,
// which have the same order if non-negative, at the cost of more redistribution.
#pragma once

#include <bit>
#include <memory>

#include "cpu/memory/buffer.hpp"

namespace nearfar {

template <class WeightT>
class RadixHeap {
 public:
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
