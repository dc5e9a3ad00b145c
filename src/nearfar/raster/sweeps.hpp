// Costs of a raster's steps, and sweeps over the rows of one tile, compiled for several instruction
// sets.
//
// All sums are left to right in the distances' dtype, and a step's cost is rounded in one order:
//   mean   factor * (cost[u] + cost[v]), where factor is half the length
//   enter  factor * cost[v]
//   slope  the same as mean, times a function of (elevation[v] - elevation[u]) / length
//   corner the same as mean, but NaN, which improves nothing, if one of the two cells beside a
//          diagonal step is a barrier
// so every engine has the same bits. No product may be contracted with a sum into one rounding:
// CMakeLists.txt compiles this folder with -ffp-contract=off.
#pragma once

#include <cstdint>

#include "cpu/instructions/isa.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar {

enum class StepRule : int { mean = 0, enter = 1, slope = 2, corner = 3 };

constexpr int kMostSteps = 26;

// A function of the slope: linear between equally spaced slopes, constant beyond them.
template <class T>
struct SlopeTable {
  const T* values = nullptr;  // one more than intervals + 1, the last one twice
  T low = 0;                  // the first slope
  T scale = 0;                // intervals per unit of slope
  T last = 0;                 // number of intervals

  NEARFAR_INLINE T at(T slope) const {
    T place = (slope - low) * scale;
    place = place > 0 ? place : T{0};
    place = place < last ? place : last;
    const int32_t i = static_cast<int32_t>(place);
    const T part = place - static_cast<T>(i);
    const T difference = values[i + 1] - values[i];
    // A slope of the table has its factor, also before an infinite one, where 0 * inf is NaN.
    return part > 0 ? values[i] + part * difference : values[i];
  }
};

// `more`: for slopes the elevations of the ends, for corners the costs of the two adjacent cells.
template <class T, StepRule Rule>
NEARFAR_INLINE T step_cost(T from, T to, T more_from, T more_to, T factor, T inverse,
                           const SlopeTable<T>& table) {
  if constexpr (std::is_integral_v<T>) {
    return to;
  } else if constexpr (Rule == StepRule::enter) {
    return factor * to;
  } else {
    const T flat = factor * (from + to);
    if constexpr (Rule == StepRule::mean) return flat;
    if constexpr (Rule == StepRule::corner) return flat + T{0} * (more_from + more_to);
    return flat * table.at((more_to - more_from) * inverse);
  }
}

// Returns the distance after one more step; not below `here` if it saturates or is NaN.
template <class T>
NEARFAR_INLINE T lesser(T distance, T cost, T here) {
  const SumOf<T> sum = candidate(distance, cost);
  return improves(sum, here) ? static_cast<T>(sum) : here;
}

// One tile in private memory: square planes of `side` rows with a halo around them.
template <class T>
struct TileArrays {
  T* d;                // distances; the halo is only read
  const T* cost;       // barriers are infinite, or the dtype's maximum
  const T* elevation;  // or null
};

// One sweep: rows in one order, each lowered from rows before it in that order.
template <class T>
struct Sweep {
  TileArrays<T> tile;
  int first = 0;                                 // position of the first cell of the tile
  int planes = 1, side = 0, row = 0, plane = 0;  // extents; distances between rows and planes
  bool forward = true;
  int count = 0;           // steps into a row
  int at[kMostSteps];      // from a cell to the one that a step comes from
  int beside[kMostSteps];  // from a cell to its row neighbour adjacent to a diagonal step
  T factor[kMostSteps], inverse[kMostSteps];
  // Whether each row is also relaxed along itself in both directions, cell by cell: without
  // diagonal steps, a staircase path would otherwise take a round per stair.
  bool scans = false;
  T scan_factor = 0, scan_inverse = 0;  // factors of the steps along a row
  SlopeTable<T> table;
  T limit = unreached<T>();  // links() does not require links beyond it
};

// Returns how many cells were lowered.
template <class T>
using SweepFunction = uint32_t (*)(const Sweep<T>&);
// Lowers one row by all steps at once; flags[x] tells which cells were lowered.
template <class T>
using PullFunction = uint32_t (*)(const Sweep<T>&, int begin, uint8_t* flags);

// Results of links() for a row.
constexpr uint32_t kUnlinked = 1;    // a reached cell without a strictly nearer predecessor
constexpr uint32_t kImproves = 2;    // a step that lowers a cell
constexpr uint32_t kImpossible = 4;  // a distance that is negative or not a number
// Writes each cell's first tight step from a strictly nearer cell, or 255.
template <class T>
using LinkFunction = uint32_t (*)(const Sweep<T>&, int begin, uint8_t* links);

#define NEARFAR_DECLARE_SWEEPS(level)                                  \
  namespace level {                                                    \
  /* The sweep for a rule, a tile's side and a number of steps. */     \
  template <class T>                                                   \
  SweepFunction<T> raster_sweep(StepRule rule, int side, int count);   \
  template <class T>                                                   \
  PullFunction<T> raster_pull(StepRule rule, int side, int count);     \
  /* Transposes the square of `side` rows; side is a multiple of 8. */ \
  template <class T>                                                   \
  void raster_turn(const T* in, T* out, int side, int row);            \
  template <class T>                                                   \
  LinkFunction<T> raster_links(StepRule rule, int side);               \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_SWEEPS)
#undef NEARFAR_DECLARE_SWEEPS

}  // namespace nearfar
