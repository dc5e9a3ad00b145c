// A raster in the form that the engine reads, its tiles, and the updates from a visited tile to
// others.
#pragma once

#include <algorithm>
#include <cmath>

#include "raster/sweeps.hpp"

namespace nearfar {

struct RasterShape {
  int64_t planes, rows, columns;
  int64_t cells() const { return planes * rows * columns; }
};

// A raster in the form that the engine reads. Steps ascend by position, so the first tight one
// comes from the smallest index.
template <class T>
struct RasterView {
  RasterShape shape;
  StepRule rule;
  const T* cost;
  const T* elevation;  // or null
  bool has_no_data;
  bool negative;  // negative costs, which are barriers, may occur
  T no_data;
  int steps;
  int8_t offset[kMostSteps][3];  // plane, row, column of the cell that a step comes from
  int64_t away[kMostSteps];      // the same in the array
  int64_t reach;                 // greatest of the offsets
  T factor[kMostSteps], inverse[kMostSteps];
  SlopeTable<T> table;

  bool flat() const { return shape.planes == 1; }

  // Called once shape, steps and offsets are set.
  void measure_steps() {
    reach = 0;
    for (int k = 0; k < steps; ++k) {
      away[k] = (offset[k][0] * shape.rows + offset[k][1]) * shape.columns + offset[k][2];
      for (const int8_t along : offset[k]) reach = std::max<int64_t>(reach, std::abs(along));
    }
  }

  // A cell, with its position divided out once for all of its neighbours.
  struct Place {
    int64_t cell, plane, row, column;
    bool inner;  // no neighbour is outside
  };
  NEARFAR_INLINE Place place(int64_t cell) const {
    const int64_t line = cell / shape.columns;
    const int64_t z = line / shape.rows, y = line - z * shape.rows, x = cell - line * shape.columns;
    const auto within = [this](int64_t at, int64_t extent) {
      return at >= reach && at < extent - reach;
    };
    const bool inner =
        within(x, shape.columns) && within(y, shape.rows) && (flat() || within(z, shape.planes));
    return {cell, z, y, x, inner};
  }

  // Returns the neighbour from which step k comes, or -1 outside.
  NEARFAR_INLINE int64_t neighbour(const Place& at, int k) const {
    if (at.inner) return at.cell + away[k];
    const int64_t x = at.column + offset[k][2];
    const int64_t y = at.row + offset[k][1];
    const int64_t z = at.plane + offset[k][0];
    const bool inside =
        x >= 0 && x < shape.columns && y >= 0 && y < shape.rows && z >= 0 && z < shape.planes;
    return inside ? at.cell + away[k] : -1;
  }
  NEARFAR_INLINE int64_t neighbour(int64_t cell, int k) const { return neighbour(place(cell), k); }

  // Returns the cost of step k between two cells.
  T step(int64_t from, int64_t to, int k) const {
    return by_rule([&](auto by) {
      T more_from = 0, more_to = 0;
      if constexpr (by() == StepRule::slope) more_from = elevation[from], more_to = elevation[to];
      if constexpr (by() == StepRule::corner) {
        const int64_t beside = to + offset[k][2];
        more_from = passable(beside), more_to = passable(to + from - beside);
      }
      return step_cost<T, by()>(passable(from), passable(to), more_from, more_to, factor[k],
                                inverse[k], table);
    });
  }

  // Returns true if sweeps may read the costs unchecked: NaN and infinity never improve a distance.
  bool as_given() const {
    return std::is_floating_point_v<T> && !has_no_data && elevation == nullptr && !negative;
  }

  // Calls f with the rule as a constant. A step over integers costs as much as the cell that it
  // enters.
  template <class F>
  NEARFAR_INLINE auto by_rule(F&& f) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (rule == StepRule::mean) return f(std::integral_constant<StepRule, StepRule::mean>());
      if (rule == StepRule::corner) return f(std::integral_constant<StepRule, StepRule::corner>());
      if (rule == StepRule::slope) return f(std::integral_constant<StepRule, StepRule::slope>());
    }
    return f(std::integral_constant<StepRule, StepRule::enter>());
  }

  // Returns the cost in the form that sweeps read: barriers never improve a distance.
  NEARFAR_INLINE T passable(int64_t cell) const {
    T value = cost[cell];
    bool fine = value >= 0;  // false for NaN
    if (has_no_data) fine &= value != no_data;
    if (elevation != nullptr) fine &= std::isfinite(static_cast<double>(elevation[cell]));
    return fine ? value : unreached<T>();
  }
};

constexpr uint8_t kNoLink = 255;    // an unreached cell
constexpr uint8_t kRootLink = 254;  // a source that no other source reaches earlier

struct TilePlace {
  int64_t plane, row, column;  // position of the first cell
  int planes, rows, columns;   // extents inside the raster
};

struct TileGrid {
  int side, depth;  // cells of a full tile
  int64_t z, y, x;  // numbers of tiles

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
  // Returns the number (0 to 26) of the second cell's tile as seen from the first cell's.
  int side_towards(int64_t z0, int64_t y0, int64_t x0, int64_t z1, int64_t y1, int64_t x1) const {
    return static_cast<int>((z1 / depth - z0 / depth + 1) * 9 + (y1 / side - y0 / side + 1) * 3 +
                            x1 / side - x0 / side + 1);
  }
};

// Accesses border cells atomically: other workers read them while the owner stores them.
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

// Cells that may lower cells of a tile, recorded by the worker that lowered them.
struct Givers {
  static constexpr int kMost = 8;
  int count = 0;  // above kMost: more than were recorded
  int64_t cell[kMost];

  NEARFAR_INLINE void add(int64_t giver) {
    if (count > kMost) return;
    for (int i = 0; i < count; ++i)
      if (cell[i] == giver) return;
    if (count < kMost) cell[count] = giver;
    ++count;
  }
  void add(const Givers& others) {
    for (int i = 0; i < std::min(others.count, kMost); ++i) add(others.cell[i]);
    if (others.count > kMost) count = kMost + 1;
  }
  bool noted() const { return count <= kMost; }
};

// Updates from a visit to the neighbouring tiles, numbered (plane * 3 + row) * 3 + column with 0,
// 1, 2 each: the least distance of a cell that it would lower, and the cells that lower them.
template <class T>
struct Given {
  T least[27];
  Givers givers[27];

  void clear() {
    for (int side = 0; side < 27; ++side) least[side] = unreached<T>(), givers[side].count = 0;
  }
  // Whether an update at this distance adds nothing.
  NEARFAR_INLINE bool has_enough(int side, T distance) const {
    return !givers[side].noted() && !(distance < least[side]);
  }
  NEARFAR_INLINE void add(int side, T distance, int64_t giver) {
    least[side] = std::min(least[side], distance);
    givers[side].add(giver);
  }
};

struct TileCounts {
  uint64_t visits = 0, idle = 0, in_place = 0, sweeps = 0, pops = 0;
  void operator+=(const TileCounts& o) {
    visits += o.visits, idle += o.idle, in_place += o.in_place;
    sweeps += o.sweeps, pops += o.pops;
  }
};

}  // namespace nearfar
