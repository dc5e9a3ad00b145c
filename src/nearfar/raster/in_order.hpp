// Volumes whose steps cost as much as the entered cell: one worker settles cells in order of
// distance.
//
// The first neighbour of a cell to be settled determines its distance, because later ones add the
// same cost to no smaller distance. So each cell is labelled once, and a pop only finds the
// neighbours without a label: the 26 neighbours are nine groups of bits. Costs are integers, in any
// dtype, and cells wait in a ring of buckets, one per distance. The time hardly depends on the
// costs, while tiles take longer the more often they are visited (search.cpp).
#pragma once

#include <bit>
#include <vector>

#include "cpu/threads/interrupt.hpp"
#include "raster/view.hpp"

namespace nearfar {

// Sets the distance of the sources to 0 and of all other cells to unreached.
template <class T>
void start(T* distances, int64_t cells, const int64_t* sources, std::size_t n_sources) {
  std::fill(distances, distances + cells, unreached<T>());
  for (std::size_t i = 0; i < n_sources; ++i) distances[sources[i]] = 0;
}

template <class T>
class InOrder {
 public:
  explicit InOrder(const RasterView<T>& view)
      : view_(view), row_(view.shape.columns + 2), plane_(row_ * (view.shape.rows + 2)) {}

  // Prepares the search; returns whether the raster is of this kind, with small integers as costs.
  bool prepare() { return has_steps() && open_cells(); }

  // Labels the cells up to a bound, after prepare(). Returns false if a distance is so large that
  // sums would be rounded.
  bool run(T* distances, const int64_t* sources, std::size_t n_sources, T limit,
           const int64_t* targets, std::size_t n_targets, TileCounts& counts) {
    start(distances, view_.shape.cells(), sources, n_sources);
    for (std::size_t i = 0; i < n_sources; ++i) {
      const Place source = place_of(sources[i]);
      if (is_open(source.bit)) label(source.bit), ring_[0].push_back(source);
    }
    Interrupt interrupt;
    std::size_t waiting = ring_[0].size(), met = 0;
    T farthest = 0;  // greatest distance of the targets reached
    for (uint64_t now = 0; waiting > 0; ++now) {
      std::vector<Place>& bucket = ring_[now & (ring_.size() - 1)];
      if (bucket.empty()) continue;
      for (; met < n_targets && distances[targets[met]] < unreached<T>(); ++met)
        farthest = std::max(farthest, distances[targets[met]]);
      const T distance = static_cast<T>(now);
      if (distance > limit || (n_targets > 0 && met == n_targets && distance > farthest)) break;
      if (now > kExact) return false;
      while (!bucket.empty()) {  // steps of cost 0 fill it again
        const std::size_t some = std::min(bucket.size(), kAtOnce);
        part_.assign(bucket.end() - static_cast<std::ptrdiff_t>(some), bucket.end());
        bucket.resize(bucket.size() - some);
        interrupt.poll(some);
        counts.pops += some;
        find_neighbours();
        waiting += found_ - some;
        settle(distances, distance);
      }
    }
    return true;
  }

 private:
  struct Place {
    uint32_t bit, cell;
  };
  static constexpr int kRows = 9;  // rows of three neighbours each
  static constexpr uint64_t kMostCost = 1 << 16;
  static constexpr uint64_t kExact =
      (uint64_t{1} << (std::numeric_limits<T>::digits - 1)) - kMostCost;
  static constexpr std::size_t kAtOnce = 1024, kAhead = 6, kAheadCells = 16;

  bool has_steps() {
    if (view_.flat() || view_.rule != StepRule::enter || view_.steps > 26) return false;
    if (plane_ * (view_.shape.planes + 2) > int64_t{std::numeric_limits<uint32_t>::max()} - 64)
      return false;
    const RasterShape& shape = view_.shape;
    for (int z = -1; z <= 1; ++z)
      for (int y = -1; y <= 1; ++y) {
        const int k = (z + 1) * 3 + y + 1;
        bits_away_[k] = static_cast<uint32_t>(z * plane_ + y * row_ - 1);
        cells_away_[k] = static_cast<uint32_t>((z * shape.rows + y) * shape.columns - 1);
      }
    for (int k = 0; k < view_.steps; ++k) {
      if (view_.factor[k] != 1) return false;
      const int8_t* const o = view_.offset[k];
      steps_[(o[0] + 1) * 3 + o[1] + 1] |= uint32_t{1} << (o[2] + 1);
    }
    return true;
  }

  // Creates the ring, and bits that are 0 for passable cells. Returns false if a cost is not a
  // small integer.
  bool open_cells() {
    const RasterShape& shape = view_.shape;
    closed_.assign(static_cast<std::size_t>(plane_ * (shape.planes + 2) / 64 + 2), ~uint64_t{0});
    T most = 0;
    std::vector<T> line(static_cast<std::size_t>(shape.columns));
    for (int64_t z = 0; z < shape.planes; ++z)
      for (int64_t y = 0; y < shape.rows; ++y) {
        bool small = true;
        for (int64_t x = 0; x < shape.columns; ++x) {
          const T cost = view_.passable((z * shape.rows + y) * shape.columns + x);
          const bool open = cost < unreached<T>(), fits = cost <= static_cast<T>(kMostCost);
          const T known = fits ? cost : T{0};
          small &= int{!open} | (fits & (static_cast<T>(static_cast<int32_t>(known)) == known));
          most = std::max(most, known);
          line[static_cast<std::size_t>(x)] = open ? known : T{-1};
        }
        if (!small) return false;
        const auto first = static_cast<std::size_t>((z + 1) * plane_ + (y + 1) * row_ + 1);
        for (std::size_t x = 0; x < line.size(); ++x)
          closed_[(first + x) / 64] ^= uint64_t{line[x] >= 0} << ((first + x) % 64);
      }
    ring_.resize(std::bit_ceil(static_cast<std::size_t>(most) + 2));
    return true;
  }

  Place place_of(int64_t cell) const {
    const RasterShape& shape = view_.shape;
    const int64_t x = cell % shape.columns, y = cell / shape.columns % shape.rows;
    const int64_t z = cell / shape.columns / shape.rows;
    return {static_cast<uint32_t>((z + 1) * plane_ + (y + 1) * row_ + x + 1),
            static_cast<uint32_t>(cell)};
  }
  bool is_open(uint32_t bit) const { return (closed_[bit / 64] >> (bit % 64) & 1) == 0; }
  void label(uint32_t bit) { closed_[bit / 64] |= uint64_t{1} << (bit % 64); }

  // Labels the unlabelled neighbours of the cells of the part, and lists them.
  void find_neighbours() {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(closed_.data());
    Place* out = list_.data();
    for (std::size_t i = 0; i < part_.size(); ++i) {
      if (i + kAhead < part_.size())
        for (int k = 0; k < kRows; ++k)
          __builtin_prefetch(bytes + (part_[i + kAhead].bit + bits_away_[k]) / 8);
      const Place at = part_[i];
      uint32_t open = 0;
      for (int k = 0; k < kRows; ++k) {
        const uint32_t first = at.bit + bits_away_[k];
        uint32_t word;
        std::memcpy(&word, bytes + first / 8, sizeof word);
        open |= (~(word >> (first % 8)) & steps_[k]) << (3 * k);
      }
      for (; open != 0; open &= open - 1) {
        const int place = std::countr_zero(open), k = place / 3;
        const auto x = static_cast<uint32_t>(place % 3);
        *out = {at.bit + bits_away_[k] + x, at.cell + cells_away_[k] + x};
        label((out++)->bit);
      }
    }
    found_ = static_cast<std::size_t>(out - list_.data());
  }

  // Sets the distances of the listed cells.
  void settle(T* distances, T distance) {
    for (std::size_t i = 0; i < found_; ++i) {
      if (i + kAheadCells < found_) {
        __builtin_prefetch(view_.cost + list_[i + kAheadCells].cell);
        __builtin_prefetch(distances + list_[i + kAheadCells].cell, 1);
      }
      const Place at = list_[i];
      const T sum = distance + view_.cost[at.cell];
      distances[at.cell] = sum;
      ring_[static_cast<uint64_t>(sum) & (ring_.size() - 1)].push_back(at);
    }
  }

  const RasterView<T>& view_;
  const int64_t row_, plane_;  // bits per row and plane, with a border of closed cells
  uint32_t bits_away_[kRows], cells_away_[kRows], steps_[kRows] = {};
  std::vector<uint64_t> closed_;  // labelled, a barrier or outside
  std::vector<std::vector<Place>> ring_;
  std::vector<Place> part_, list_ = std::vector<Place>(26 * kAtOnce);
  std::size_t found_ = 0;
};

}  // namespace nearfar
