// Vertices in order of their distances.
//
// Two passes of a radix sort by the distance's share of the farthest, in 22 bits, and an insertion
// sort that settles what fell together: a few elements wherever distances are spread at all. Where
// they are not, all bits are sorted by. Equal distances stay in the order in which they came.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "cpu/arithmetic.hpp"

namespace nearfar::measures {

template <class Index, class Weight>
class ByDistance {
 public:
  explicit ByDistance(std::size_t most) : most_(most) {}

  void sort(Index* order, std::size_t count, const Weight* distance) {
    constexpr std::size_t kFew = 256;
    const auto nearer = [&](Index a, Index b) { return distance[a] < distance[b]; };
    if (count < kFew) {
      std::stable_sort(order, order + count, nearer);
      return;
    }
    if (keys_ == nullptr) {
      keys_.reset(new Key[most_]);
      other_.reset(new Key[most_]);
    }
    Weight far = 0;
    for (std::size_t i = 0; i < count; ++i) far = std::max(far, distance[order[i]]);
    const double top = static_cast<double>((1u << (2 * kDigit)) - 1);
    const bool whole = !std::is_floating_point_v<Weight> && static_cast<double>(far) <= top;
    const double scale = whole ? 1 : top / static_cast<double>(far);
    if (!(scale > 0 && scale < 1e300)) {
      std::stable_sort(order, order + count, nearer);
      return;
    }
    uint32_t low[kDigits] = {}, high[kDigits] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = static_cast<uint32_t>(static_cast<double>(distance[order[i]]) * scale);
      keys_[i] = {bits, order[i]};
      ++low[bits & (kDigits - 1)];
      ++high[bits >> kDigit];
    }
    starts(low);
    starts(high);
    for (std::size_t i = 0; i < count; ++i) other_[low[keys_[i].bits & (kDigits - 1)]++] = keys_[i];
    for (std::size_t i = 0; i < count; ++i)
      order[high[other_[i].bits >> kDigit]++] = other_[i].vertex;
    if (!whole) settle(order, count, distance);
  }

 private:
  static constexpr int kDigit = 11;
  static constexpr std::size_t kDigits = std::size_t{1} << kDigit;
  struct Key {
    uint32_t bits;
    Index vertex;
  };

  static void starts(uint32_t* counts) {
    uint32_t sum = 0;
    for (std::size_t i = 0; i < kDigits; ++i) sum += std::exchange(counts[i], sum);
  }

  static void settle(Index* order, std::size_t count, const Weight* distance) {
    std::size_t moves = 0;
    for (std::size_t i = 1; i < count; ++i) {
      const Index v = order[i];
      const Weight d = distance[v];
      std::size_t j = i;
      for (; j > 0 && distance[order[j - 1]] > d; --j) order[j] = order[j - 1];
      order[j] = v;
      moves += i - j;
      if (moves > 8 * count) {
        std::stable_sort(order, order + count,
                         [&](Index a, Index b) { return distance[a] < distance[b]; });
        return;
      }
    }
  }

  const std::size_t most_;
  std::unique_ptr<Key[]> keys_, other_;
};

}  // namespace nearfar::measures
