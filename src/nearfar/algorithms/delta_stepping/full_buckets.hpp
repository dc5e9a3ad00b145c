// Full buckets of graphs with long rows, put into the order of memory before they are worked off,
// without their stale and repeated entries: long rows are then read at nearly the speed of a
// stream.
#pragma once

#include <algorithm>

#include "cpu/memory/buffer.hpp"

namespace nearfar::delta_stepping {

constexpr std::size_t kLongRows = 16;  // edges per vertex from which full buckets are ordered

template <class C, class Update>
class FullBuckets {
 public:
  using Weight = typename C::Weight;

  // A bucket is full with one vertex in `share`.
  FullBuckets(const C& csr, std::size_t share)
      : n_(static_cast<std::size_t>(csr.n)),
        full_(static_cast<std::size_t>(csr.m) / kLongRows >= n_ ? n_ / share + 64
                                                                : ~std::size_t{0}) {}

  // Orders a bucket if it is full; returns how many entries were dropped. `log`: as in Relaxer.
  template <class Bucket>
  NEARFAR_INLINE uint64_t order(Bucket& bucket, Weight* distances, Bucket* log = nullptr) {
    return bucket.size > full_ ? put_in_order(bucket, distances, log) : 0;
  }

 private:
  template <class Bucket>
  __attribute__((noinline)) uint64_t put_in_order(Bucket& bucket, Weight* distances, Bucket* log) {
    const std::size_t words = n_ / 64 + 1, before = bucket.size;
    Weight low = bucket.data[0].distance;
    marks_.reserve(words);
    std::fill_n(marks_.data, words, uint64_t{0});
    for (std::size_t i = 0; i < bucket.size; ++i) {
      const auto entry = bucket.data[i];
      const auto v = static_cast<std::size_t>(entry.vertex);
      low = std::min(low, entry.distance);
      const Weight seen = Update::load(distances + v);
      const bool fresh = seen >= entry.distance;
      marks_.data[v / 64] |= uint64_t{fresh} << (v % 64);
      if constexpr (Update::shared) {  // what is read again below may have been raised until then
        if (seen > entry.distance) Update::store(distances + v, entry.distance);
        if (fresh) log->push(entry);
      }
    }
    bucket.size = 0;
    for (std::size_t word = 0; word < words; ++word)
      for (uint64_t bits = marks_.data[word]; bits != 0; bits &= bits - 1) {
        const std::size_t v = word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
        const Weight d = Update::load(distances + v);
        if (d < low) continue;  // another worker lowered it meanwhile, and has an entry for it
        auto& entry = bucket.data[bucket.size++];
        entry.vertex = static_cast<decltype(entry.vertex)>(v);
        entry.distance = d;
      }
    return before - bucket.size;
  }

  const std::size_t n_;
  const std::size_t full_;
  Buffer<uint64_t> marks_;
};

}  // namespace nearfar::delta_stepping
