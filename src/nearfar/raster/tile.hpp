// One tile of a raster in private memory: loading it with its halo, relaxing it, storing it.
//
// A tile is relaxed by sweeps while they lower many cells, and by a heap once few are lowered: a
// heap first gets a small budget, because a wave that arrives at a tile may fade within a few cells;
// sweeps take over when the budget is used up; when a whole round of them lowers few cells (a
// winding corridor, or the last corrections) a heap finishes. The counts decide, not the raster.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "raster/sweeps.hpp"

namespace nearfar {

struct RasterShape {
  int64_t planes, rows, columns;
  int64_t cells() const { return planes * rows * columns; }
};

// A raster as the engine reads it. Steps ascend by position, so the first tight one comes from the
// smallest index.
template <class T>
struct RasterView {
  RasterShape shape;
  StepRule rule;
  const T* cost;
  const T* elevation;  // or null
  bool has_no_data;
  T no_data;
  int steps;
  int8_t offset[kMostSteps][3];  // plane, row, column of the cell that a step comes from
  T factor[kMostSteps], inverse[kMostSteps];
  SlopeTable<T> table;

  bool flat() const { return shape.planes == 1; }

  // Cost as sweeps read it: barriers never improve a distance.
  NEARFAR_INLINE T passable(int64_t cell) const {
    T value = cost[cell];
    bool fine = value >= 0;  // false for NaN
    if (has_no_data) fine &= value != no_data;
    if (elevation != nullptr) fine &= std::isfinite(static_cast<double>(elevation[cell]));
    return fine ? value : unreached<T>();
  }
};

struct TilePlace {
  int64_t plane, row, column;     // of the first cell
  int planes, rows, columns;      // inside the raster
};

struct TileGrid {
  int side, depth;  // cells of a full tile
  int64_t z, y, x;  // tiles

  explicit TileGrid(const RasterShape& shape)
      : side(shape.planes == 1 ? 64 : 32),
        depth(shape.planes == 1 ? 1 : 16),
        z((shape.planes + depth - 1) / depth),
        y((shape.rows + side - 1) / side),
        x((shape.columns + side - 1) / side) {}
  int64_t tiles() const { return z * y * x; }
  TilePlace place(int64_t tile, const RasterShape& shape) const {
    TilePlace p;
    p.column = tile % x * side;
    p.row = tile / x % y * side;
    p.plane = tile / (x * y) * depth;
    p.planes = static_cast<int>(std::min<int64_t>(depth, shape.planes - p.plane));
    p.rows = static_cast<int>(std::min<int64_t>(side, shape.rows - p.row));
    p.columns = static_cast<int>(std::min<int64_t>(side, shape.columns - p.column));
    return p;
  }
  int64_t containing(int64_t plane, int64_t row, int64_t column) const {
    return (plane / depth * y + row / side) * x + column / side;
  }
};

// Other workers read the cells along a tile's border while its owner stores them.
template <class T>
NEARFAR_INLINE T load_shared(const T* p) {
  T value;
  __atomic_load(p, &value, __ATOMIC_RELAXED);
  return value;
}
template <class T>
NEARFAR_INLINE void store_shared(T* p, T value) {
  __atomic_store(p, &value, __ATOMIC_RELAXED);
}

struct TileCounts {
  uint64_t visits = 0, idle = 0, sweeps = 0, pops = 0, heaps = 0;
  void operator+=(const TileCounts& o) {
    visits += o.visits, idle += o.idle, sweeps += o.sweeps, pops += o.pops, heaps += o.heaps;
  }
};

template <class T>
class Tile {
 public:
  // Least changed distance towards each neighbouring tile, by [plane][row][column] of -1, 0, 1.
  T least[3][3][3];
  TileCounts counts;

  Tile(const RasterView<T>& view, const TileGrid& grid)
      : view_(view),
        side_(grid.side),
        depth_(grid.depth),
        halo_(view.steps == 16 ? 2 : 1),
        deep_(grid.depth > 1 ? 1 : 0),
        row_(side_ + 2 * halo_),
        plane_(row_ * row_) {
    const std::size_t size = static_cast<std::size_t>(plane_) * (depth_ + 2 * deep_);
    const int arrays = view.rule == StepRule::slope ? 6 : 4;
    memory_.resize(size * arrays, unreached<T>());
    T* part = memory_.data();
    for (auto& arrays_of : {&plain_, &turned_}) {
      arrays_of->d = part, part += size;
      arrays_of->cost = part, part += size;
      arrays_of->elevation = view.rule == StepRule::slope ? part : nullptr;
      if (view.rule == StepRule::slope) part += size;
    }
    size_ = size;
    first_ = deep_ * plane_ + halo_ * row_ + halo_;
    inside_.assign(size, 0);
    flags_.resize(static_cast<std::size_t>(side_));
    for (int z = 0; z < depth_; ++z)
      for (int y = 0; y < side_; ++y)
        std::fill_n(inside_.data() + first_ + z * plane_ + y * row_, side_, uint8_t{1});
    make_sweeps();
  }

  void load(const TilePlace& p, const T* distances) {
    place_ = p;
    const RasterShape& shape = view_.shape;
    for (int z = -deep_; z < depth_ + deep_; ++z)
      for (int y = -halo_; y < side_ + halo_; ++y) {
        const int at = first_ + z * plane_ + y * row_ - halo_;
        T* const d = plain_.d + at;
        T* const c = const_cast<T*>(plain_.cost) + at;
        T* const h = plain_.elevation == nullptr ? nullptr : const_cast<T*>(plain_.elevation) + at;
        const int64_t gz = p.plane + z, gy = p.row + y;
        if (gz < 0 || gz >= shape.planes || gy < 0 || gy >= shape.rows) {
          std::fill_n(d, row_, unreached<T>());
          std::fill_n(c, row_, unreached<T>());
          if (h != nullptr) std::fill_n(h, row_, T{0});
          continue;
        }
        const int64_t line = (gz * shape.rows + gy) * shape.columns + p.column - halo_;
        const int from = p.column == 0 ? halo_ : 0;
        const int to = static_cast<int>(std::min<int64_t>(row_, shape.columns - p.column + halo_));
        fill_outside(d, from, to, unreached<T>());
        fill_outside(c, from, to, unreached<T>());
        for (int x = from; x < to; ++x) c[x] = view_.passable(line + x);
        if (h != nullptr) {
          fill_outside(h, from, to, T{0});
          for (int x = from; x < to; ++x) h[x] = finite_or_zero(view_.elevation[line + x]);
        }
        const bool mine = z >= 0 && z < depth_ && y >= 0 && y < side_;
        if (!mine) {
          for (int x = from; x < to; ++x) d[x] = load_shared(distances + line + x);
          continue;
        }
        for (int x = from; x < halo_; ++x) d[x] = load_shared(distances + line + x);
        const int end = std::min(to, halo_ + side_);
        std::memcpy(d + halo_, distances + line + halo_,
                    static_cast<std::size_t>(end - halo_) * sizeof(T));
        for (int x = end; x < to; ++x) d[x] = load_shared(distances + line + x);
      }
  }

  // Brings the tile to its fixed point for the halo that it was loaded with.
  void relax() {
    ++counts.visits;
    const uint32_t few = static_cast<uint32_t>(side_ * side_ * depth_ / 16);
    heap_.clear();
    pull_all();
    if (heap_.empty()) {
      ++counts.idle;
      return;
    }
    if (run_heap(few / 2)) return;
    bool turned = false;
    for (;;) {
      uint32_t lowered = run(forward_) + run(backward_);
      if (lowered > 0 || !turned) {
        turn(plain_, turned_, !turned);
        turned = true;
        const uint32_t across = run(across_forward_) + run(across_backward_);
        if (across > 0) turn_back();
        lowered += across;
      }
      if (lowered == 0) return;
      if (lowered <= few) break;
    }
    heap_.clear();
    pull_all();
    run_heap(~uint64_t{0});
  }

  // Stores what was lowered, and notes the least of it towards each neighbour.
  void store(T* distances) {
    for (auto& plane : least)
      for (auto& row : plane) std::fill_n(row, 3, unreached<T>());
    const TilePlace& p = place_;
    for (int z = 0; z < p.planes; ++z)
      for (int y = 0; y < p.rows; ++y) {
        const T* const d = plain_.d + first_ + z * plane_ + y * row_;
        T* const out = distances +
                       ((p.plane + z) * view_.shape.rows + p.row + y) * view_.shape.columns +
                       p.column;
        if (std::memcmp(d, out, static_cast<std::size_t>(p.columns) * sizeof(T)) == 0) continue;
        T all = unreached<T>(), left = all, right = all;
        for (int x = 0; x < p.columns; ++x)
          if (d[x] < out[x]) all = std::min(all, d[x]);
        for (int x = 0; x < std::min(halo_, p.columns); ++x)
          if (d[x] < out[x]) left = std::min(left, d[x]);
        for (int x = std::max(0, side_ - halo_); x < p.columns; ++x)
          if (d[x] < out[x]) right = std::min(right, d[x]);
        const bool edge_row = y < halo_ || y >= side_ - halo_ || (deep_ && (z == 0 || z == depth_ - 1));
        if (edge_row) {
          for (int x = 0; x < p.columns; ++x) store_shared(out + x, d[x]);
        } else {
          const int end = std::max(halo_, std::min(p.columns, side_ - halo_));
          for (int x = 0; x < std::min(halo_, p.columns); ++x) store_shared(out + x, d[x]);
          for (int x = halo_; x < end; ++x) out[x] = d[x];
          for (int x = end; x < p.columns; ++x) store_shared(out + x, d[x]);
        }
        for (int sz = 0; sz < 3; ++sz) {
          if ((sz == 0 && !(deep_ && z == 0)) || (sz == 2 && !(deep_ && z == depth_ - 1))) continue;
          for (int sy = 0; sy < 3; ++sy) {
            if ((sy == 0 && y >= halo_) || (sy == 2 && y < side_ - halo_)) continue;
            T* const to = least[sz][sy];
            to[0] = std::min(to[0], left), to[1] = std::min(to[1], all);
            to[2] = std::min(to[2], right);
          }
        }
      }
  }

  // Links of the tile's cells into `out` (the raster's array); returns what links() found.
  uint32_t link(uint8_t* out) {
    uint32_t found = 0;
    const LinkFunction<T> links = NEARFAR_PICK_ISA(raster_links<T>)(view_.rule, side_);
    for (int z = 0; z < place_.planes; ++z)
      for (int y = 0; y < place_.rows; ++y) {
        found |= links(all_, first_ + z * plane_ + y * row_, flags_.data());
        std::memcpy(out + ((place_.plane + z) * view_.shape.rows + place_.row + y) *
                              view_.shape.columns + place_.column,
                    flags_.data(), static_cast<std::size_t>(place_.columns));
      }
    return found;
  }

 private:
  struct Entry {
    T d;
    int at;
    bool operator<(const Entry& o) const { return d > o.d; }  // for a heap with the least on top
  };
  struct Half {
    SweepFunction<T> function = nullptr;
    Sweep<T> sweep;
  };

  static T finite_or_zero(T h) { return std::isfinite(static_cast<double>(h)) ? h : T{0}; }
  void fill_outside(T* line, int from, int to, T value) const {
    std::fill(line, line + from, value);
    std::fill(line + std::max(from, to), line + row_, value);
  }

  void make_sweeps() {
    const auto start = [&](Sweep<T>& s, const TileArrays<T>& arrays, bool forward) {
      s.tile = arrays, s.first = first_, s.planes = depth_, s.side = side_, s.row = row_;
      s.plane = plane_, s.forward = forward, s.count = 0, s.table = view_.table;
    };
    start(all_, plain_, true);
    start(forward_.sweep, plain_, true), start(backward_.sweep, plain_, false);
    start(across_forward_.sweep, turned_, true), start(across_backward_.sweep, turned_, false);
    for (int k = 0; k < view_.steps; ++k) {
      const int z = view_.offset[k][0], y = view_.offset[k][1], x = view_.offset[k][2];
      const auto add = [&](Sweep<T>& s, int at) {
        s.at[s.count] = at;
        s.factor[s.count] = view_.factor[k], s.inverse[s.count] = view_.inverse[k];
        ++s.count;
      };
      const int at = z * plane_ + y * row_ + x;
      add(all_, at);
      if (z < 0 || (z == 0 && y < 0)) add(forward_.sweep, at);
      if (z > 0 || (z == 0 && y > 0)) add(backward_.sweep, at);
      if (z == 0 && x < 0) add(across_forward_.sweep, x * row_ + y);
      if (z == 0 && x > 0) add(across_backward_.sweep, x * row_ + y);
    }
    for (Half* half : {&forward_, &backward_, &across_forward_, &across_backward_})
      half->function = NEARFAR_PICK_ISA(raster_sweep<T>)(view_.rule, side_, half->sweep.count);
    pull_ = NEARFAR_PICK_ISA(raster_pull<T>)(view_.rule, side_, view_.steps);
  }

  uint32_t run(const Half& half) {
    ++counts.sweeps;
    return half.function(half.sweep);
  }

  void turn_one(const T* from, T* to) const {
    constexpr int kBlock = 8;
    for (int z = 0; z < depth_ + 2 * deep_; ++z) {
      const T* const in = from + z * plane_;
      T* const out = to + z * plane_;
      for (int y = 0; y < row_; y += kBlock)
        for (int x = 0; x < row_; x += kBlock)
          for (int i = y; i < std::min(row_, y + kBlock); ++i)
            for (int j = x; j < std::min(row_, x + kBlock); ++j) out[j * row_ + i] = in[i * row_ + j];
    }
  }
  void turn(const TileArrays<T>& from, const TileArrays<T>& to, bool costs) const {
    turn_one(from.d, to.d);
    if (!costs) return;
    turn_one(from.cost, const_cast<T*>(to.cost));
    if (from.elevation != nullptr) turn_one(from.elevation, const_cast<T*>(to.elevation));
  }
  void turn_back() const { turn_one(turned_.d, plain_.d); }

  // Lowers rows from all their neighbours and puts what was lowered on the heap.
  void pull_all() {
    for (int z = 0; z < depth_; ++z)
      for (int y = 0; y < side_; ++y) {
        const int begin = first_ + z * plane_ + y * row_;
        if (pull_(all_, begin, flags_.data()) == 0) continue;
        for (int x = 0; x < side_; ++x)
          if (flags_[static_cast<std::size_t>(x)]) heap_.push_back({plain_.d[begin + x], begin + x});
      }
    std::make_heap(heap_.begin(), heap_.end());
  }

  template <StepRule Rule>
  bool run_heap_by(uint64_t budget) {
    T* const d = plain_.d;
    const T* const c = plain_.cost;
    const T* const h = plain_.elevation;
    ++counts.heaps;
    while (!heap_.empty()) {
      if (budget-- == 0) return false;
      std::pop_heap(heap_.begin(), heap_.end());
      const Entry top = heap_.back();
      heap_.pop_back();
      if (top.d != d[top.at]) continue;
      ++counts.pops;
      for (int k = 0; k < all_.count; ++k) {
        // A step of `all_` comes from at[k]; the one out of this cell goes the other way.
        const int to = top.at - all_.at[k];
        if (!inside_[static_cast<std::size_t>(to)]) continue;
        T height_from = 0, height_to = 0;
        if constexpr (Rule == StepRule::slope) height_from = h[top.at], height_to = h[to];
        const T next = lesser(
            top.d, step_cost<T, Rule>(c[top.at], c[to], height_from, height_to, all_.factor[k],
                                      all_.inverse[k], view_.table),
            d[to]);
        if (next == d[to]) continue;
        d[to] = next;
        heap_.push_back({next, to});
        std::push_heap(heap_.begin(), heap_.end());
      }
    }
    return true;
  }
  bool run_heap(uint64_t budget) {
    switch (view_.rule) {
      case StepRule::mean: return run_heap_by<StepRule::mean>(budget);
      case StepRule::enter: return run_heap_by<StepRule::enter>(budget);
      default: return run_heap_by<StepRule::slope>(budget);
    }
  }

  const RasterView<T>& view_;
  const int side_, depth_, halo_, deep_, row_, plane_;
  int first_ = 0;
  std::size_t size_ = 0;
  TilePlace place_{};
  std::vector<T> memory_;
  std::vector<uint8_t> inside_, flags_;
  std::vector<Entry> heap_;
  TileArrays<T> plain_{}, turned_{};
  Half forward_, backward_, across_forward_, across_backward_;
  Sweep<T> all_;
  PullFunction<T> pull_ = nullptr;
};

}  // namespace nearfar
