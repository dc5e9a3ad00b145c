// Sweeps over the rows of one tile, compiled for several instruction sets.
#pragma once

#include "cpu/instructions/isa.hpp"
#include "raster/steps.hpp"

namespace nearfar {

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
  int first = 0;                                 // position of the first owned cell
  int planes = 1, side = 0, row = 0, plane = 0;  // extents; distances between rows and planes
  bool forward = true;
  int count = 0;           // steps into a row
  int at[kMostSteps];      // from a cell to the one that a step comes from
  int beside[kMostSteps];  // to the one in its row beside a diagonal step
  T factor[kMostSteps], inverse[kMostSteps];
  // Whether each row is also lowered along itself, to both sides, one cell after the other: where
  // no step is diagonal, a path of stairs would otherwise take a round per stair.
  bool scans = false;
  T scan_factor = 0, scan_inverse = 0;  // of the steps along a row
  SlopeTable<T> table;
  T limit = unreached<T>();  // links() takes nothing beyond it for missing
};

// Returns how many cells were lowered.
template <class T>
using SweepFunction = uint32_t (*)(const Sweep<T>&);
// Lowers one row by all steps at once; flags[x] says which cells were lowered.
template <class T>
using PullFunction = uint32_t (*)(const Sweep<T>&, int begin, uint8_t* flags);

// What links() found in a row.
constexpr uint32_t kUnlinked = 1;    // a reached cell that no strictly nearer one leads to
constexpr uint32_t kImproves = 2;    // a step that would still lower a cell
constexpr uint32_t kImpossible = 4;  // a distance that is negative or not a number
// Writes the first step that is tight and comes from a strictly nearer cell, or 255, for each cell.
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
