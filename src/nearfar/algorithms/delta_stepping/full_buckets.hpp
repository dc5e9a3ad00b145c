// Sorts full buckets by vertex before they are processed and drops stale and repeated entries. This
// saves one mispredicted branch per entry, and long rows are read at nearly streaming speed.
// Whether it pays is decided from the search so far.
#pragma once

#include <algorithm>

#include "cpu/memory/buffer.hpp"
#include "cpu/search/search.hpp"

namespace nearfar::delta_stepping {

constexpr uint64_t kLongRows = 16;  // edges per row from which full buckets are ordered
constexpr uint64_t kDropped = 2;    // or with one stale entry per this many others

template <class C, class Update>
class FullBuckets {
 public:
  using Weight = typename C::Weight;

  // A bucket is full if it holds one vertex in `share`.
  FullBuckets(const C& csr, std::size_t share)
      : n_(static_cast<std::size_t>(csr.n)), full_(n_ / share + 64) {}

  // Orders a bucket if it is full and that pays, and counts what was dropped. `log`: as in Relaxer.
  template <class Bucket>
  NEARFAR_INLINE void order(Bucket& bucket, Weight* distances, SearchStats& stats,
                            Bucket* log = nullptr) {
    if (bucket.size <= full_) return;
    const uint64_t rows = stats.vertices_processed;
    if (stats.edges_relaxed < kLongRows * rows && stats.stale * kDropped < rows) return;
    stats.stale += put_in_order(bucket, distances, log);
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
      if constexpr (Update::shared) {  // distances read again below may have been raised meanwhile
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
