// Relaxes a tile that is entered at few cells in place, one cell at a time in order of distance.
//
// The cells that may lower a tile are recorded with it (Givers), so a visit reads only the cells
// that it lowers and their neighbours: a passage costs as much as on the explicit graph.
#pragma once

#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

#include "cpu/heaps/dary_heap.hpp"
#include "raster/view.hpp"

namespace nearfar {

template <class T>
class Cells {
 public:
  Cells(const RasterView<T>& view, const TileGrid& grid)
      : view_(view),
        side_(grid.side),
        bits_(std::countr_zero(static_cast<uint32_t>(grid.side))),
        halo_(view.steps == 16 ? 2 : 1),
        deep_(grid.depth > 1 ? 1 : 0),
        heap_(0) {
    for (int k = 0; k < view.steps; ++k) {
      // Step k enters a cell from offset[k]; the step out of a cell is its opposite.
      const int z = -view.offset[k][0], y = -view.offset[k][1], x = -view.offset[k][2];
      away_[k] = -view.away[k];
      within_[k] = (z * side_ + y) * side_ + x;
      if (deep_ == 0 && halo_ == 1) around_[y + 1][x + 1] = view.factor[k];
    }
  }

  // Relaxes the tile from the givers to its fixed point or up to a number of settled cells. Returns
  // false if cells are left; they are then in no heap.
  bool relax(const TilePlace& p, T* distances, const Givers& givers, uint64_t most, Given<T>& given,
             TileCounts& counts) {
    place_ = p, d_ = distances;
    const RasterShape& shape = view_.shape;
    first_ = (p.plane * shape.rows + p.row) * shape.columns + p.column;
    return view_.by_rule([&](auto rule) {
      if constexpr (std::is_floating_point_v<T> && rule() != StepRule::slope)
        if (view_.as_given()) return run<rule(), true>(givers, most, given, counts);
      return run<rule(), false>(givers, most, given, counts);
    });
  }

 private:
  struct At {
    int z, y, x;
  };
  static constexpr uint32_t kFlat = uint32_t{1} << 31;  // marks a set of lower_flat()
  struct Way {
    int64_t away;    // position in the raster
    int32_t within;  // position in the tile
  };
  struct Next {
    int32_t position;
    T distance;
    int64_t cell;
    uint32_t last = ~uint32_t{0};  // the set of the only lowered neighbour,
    int k = 0;                     // its number
    Way way{};
  };

  template <StepRule Rule, bool AsGiven>
  bool run(const Givers& givers, uint64_t most, Given<T>& given, TileCounts& counts) {
    const RasterShape& shape = view_.shape;
    for (int i = 0; i < givers.count; ++i) {
      const int64_t cell = givers.cell[i], in_layer = cell % (shape.rows * shape.columns);
      const At at{static_cast<int>(cell / (shape.rows * shape.columns) - place_.plane),
                  static_cast<int>(in_layer / shape.columns - place_.row),
                  static_cast<int>(in_layer % shape.columns - place_.column)};
      if (inside(at))  // a source
        heap_.insert(position(at), d_[cell]);
      else
        lower_around<Rule, AsGiven>(cell, at, load_shared(d_ + cell), nullptr);
    }
    constexpr bool kQuick = std::is_floating_point_v<T> && AsGiven &&
                            (Rule == StepRule::mean || Rule == StepRule::enter);
    Next next;
    uint64_t left = most;
    for (bool one = false; one || heap_.pop(next.position, next.distance);) {
      const int32_t position = next.position;
      const At at{position >> 2 * bits_, position >> bits_ & (side_ - 1), position & (side_ - 1)};
      if (!one) {
        next.cell = first_ + (at.z * shape.rows + at.y) * shape.columns + at.x;
        if (d_[next.cell] != next.distance) continue;
      }
      one = false;
      const bool within = at.x >= halo_ && at.x < place_.columns - halo_ && at.y >= halo_ &&
                          at.y < place_.rows - halo_ && at.z >= deep_ &&
                          at.z < place_.planes - deep_;
      if (!within) {
        const auto give = [&, cell = next.cell](int side, T d) { given.add(side, d, cell); };
        lower_around<Rule, AsGiven>(next.cell, at, next.distance, give, left > 0);
      } else if (left > 0) {
        bool quick = false;
        if constexpr (kQuick) {
          quick = deep_ == 0 && halo_ == 1 && at.x < place_.columns - 2;
          if (quick) one = lower_flat<Rule>(next);
        }
        if (!quick) one = lower_all<Rule, AsGiven>(next);
      }
      left -= left > 0;
      ++counts.pops;
    }
    return left > 0;
  }

  // Lowers all neighbours of a cell that are in its tile. Returns whether exactly one was lowered
  // while no cell is pending: it is the next one, as along a passage.
  template <StepRule Rule, bool AsGiven>
  NEARFAR_INLINE bool lower_all(Next& next) {
    const int64_t cell = next.cell;
    const T* const d = d_ + cell;
    const T from = cost<AsGiven>(cell);
    SumOf<T> sums[kMostSteps];
    uint32_t lowered = 0;
    for (int k = 0; k < view_.steps; ++k) {
      sums[k] = candidate(next.distance, step<Rule, AsGiven>(cell, from, cell + away_[k], k));
      lowered |= static_cast<uint32_t>(improves(sums[k], d[away_[k]])) << k;
    }
    return lower(
        lowered, lowered, next, [&](int k) { return static_cast<T>(sums[k]); },
        [&](int k) { return Way{away_[k], within_[k]}; });
  }

  // The same for four or eight neighbours, row by row in vectors of four cells. Factors are NaN for
  // positions without a step, which improve nothing.
  template <StepRule Rule>
  NEARFAR_INLINE bool lower_flat(Next& next) {
    const int64_t cell = next.cell;
    using Row __attribute__((vector_size(4 * sizeof(T)))) = T;
    using Bits = BitsOf<T>;
    using Flags __attribute__((vector_size(4 * sizeof(T)))) = std::make_signed_t<Bits>;
    const int64_t columns = view_.shape.columns;
    T sums[12];
    Flags found{};
    for (int y = 0; y < 3; ++y) {
      const int64_t at = cell + (y - 1) * columns - 1;
      Row to, here, factor;
      std::memcpy(&to, view_.cost + at, sizeof(Row));
      std::memcpy(&here, d_ + at, sizeof(Row));
      std::memcpy(&factor, around_[y], sizeof(Row));
      const Row step = Rule == StepRule::mean ? factor * (view_.cost[cell] + to) : factor * to;
      const Row sum = next.distance + step;
      std::memcpy(sums + 4 * y, &sum, sizeof(Row));
      found |= (sum < here) & (Flags{1, 2, 4, 8} << 4 * y);
    }
    const auto lowered = static_cast<uint32_t>(found[0] | found[1] | found[2] | found[3]);
    return lower(
        lowered, lowered | kFlat, next, [&](int k) { return sums[k]; },
        [&](int k) {
          const int y = k / 4 - 1, x = k % 4 - 1;
          return Way{y * columns + x, y * side_ + x};
        });
  }

  // Lowers the neighbours in a set to their sums and records their directions. Along a straight
  // passage the direction repeats: the branch is predicted, and the next cell does not wait for
  // these comparisons.
  template <class Sum, class WayOf>
  NEARFAR_INLINE bool lower(uint32_t lowered, uint32_t set, Next& next, const Sum& sum,
                            const WayOf& way_of) {
    if (set != next.last || !heap_.empty()) {
      if (!std::has_single_bit(lowered) || !heap_.empty()) {
        for (; lowered != 0; lowered &= lowered - 1) {
          const int k = std::countr_zero(lowered);
          const Way way = way_of(k);
          store_shared(d_ + next.cell + way.away, sum(k));
          heap_.insert(next.position + way.within, sum(k));
        }
        return false;
      }
      next.last = set;
      next.k = std::countr_zero(lowered);
      next.way = way_of(next.k);
    }
    next.cell += next.way.away;
    next.position += next.way.within;
    next.distance = sum(next.k);
    store_shared(d_ + next.cell, next.distance);
    return true;
  }

  // Lowers the neighbours of a cell in the tile, and passes those in other tiles to `give`, unless
  // it is null: a giver's neighbours may be inside its own tile, which is not stored atomically.
  template <StepRule Rule, bool AsGiven, class Give>
  void lower_around(int64_t cell, At at, T distance, const Give& give, bool lowers = true) {
    const RasterShape& shape = view_.shape;
    const T from = cost<AsGiven>(cell);
    for (int k = 0; k < view_.steps; ++k) {
      const At to{at.z - view_.offset[k][0], at.y - view_.offset[k][1], at.x - view_.offset[k][2]};
      if (place_.plane + to.z < 0 || place_.plane + to.z >= shape.planes || place_.row + to.y < 0 ||
          place_.row + to.y >= shape.rows || place_.column + to.x < 0 ||
          place_.column + to.x >= shape.columns)
        continue;
      const bool mine = inside(to);
      if constexpr (std::is_same_v<Give, std::nullptr_t>)
        if (!mine) continue;
      const int64_t other = cell + away_[k];
      const T here = load_shared(d_ + other);
      const T next = lesser(distance, step<Rule, AsGiven>(cell, from, other, k), here);
      if (next == here) continue;
      if (!mine) {
        const auto part = [](int i, int extent) { return i < 0 ? 0 : i < extent ? 1 : 2; };
        if constexpr (!std::is_same_v<Give, std::nullptr_t>)
          give(part(to.z, place_.planes) * 9 + part(to.y, place_.rows) * 3 +
                   part(to.x, place_.columns),
               next);
      } else if (lowers) {
        store_shared(d_ + other, next);
        heap_.insert(position(to), next);
      }
    }
  }

  bool inside(At at) const {
    return at.x >= 0 && at.x < place_.columns && at.y >= 0 && at.y < place_.rows && at.z >= 0 &&
           at.z < place_.planes;
  }
  int32_t position(At at) const { return (at.z << 2 * bits_) + (at.y << bits_) + at.x; }

  template <bool AsGiven>
  NEARFAR_INLINE T cost(int64_t cell) const {
    return AsGiven ? view_.cost[cell] : view_.passable(cell);
  }
  template <StepRule Rule, bool AsGiven>
  NEARFAR_INLINE T step(int64_t from, T cost_from, int64_t to, int k) const {
    T more_from = 0, more_to = 0;
    if constexpr (Rule == StepRule::slope)
      more_from = view_.elevation[from], more_to = view_.elevation[to];
    if constexpr (Rule == StepRule::corner) {
      const int64_t beside = to + view_.offset[k][2];
      more_from = cost<AsGiven>(beside), more_to = cost<AsGiven>(from + to - beside);
    }
    return step_cost<T, Rule>(cost_from, cost<AsGiven>(to), more_from, more_to, view_.factor[k],
                              view_.inverse[k], view_.table);
  }

  const RasterView<T>& view_;
  const int side_, bits_, halo_, deep_;  // a side is a power of two
  int64_t away_[kMostSteps], first_ = 0;
  int32_t within_[kMostSteps];
  static constexpr T kNoStep = std::numeric_limits<T>::quiet_NaN();
  T around_[3][4] = {{kNoStep, kNoStep, kNoStep, kNoStep},
                     {kNoStep, kNoStep, kNoStep, kNoStep},
                     {kNoStep, kNoStep, kNoStep, kNoStep}};
  TilePlace place_{};
  T* d_ = nullptr;
  DaryHeap<T, 4> heap_;
};

}  // namespace nearfar
