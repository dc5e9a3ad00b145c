// Count, sum and maximum of the distances in the cells of the bottom pass; no distance is stored.
//
// A thread keeps the figures of its sources in registers while it goes through a cell, and merges them with those of other
// cells at the end by atomics, whose results do not depend on their order.
//
// Macros and arrays: those of sweep_cells.cuh; bound, sums, missed and greatest as in reduce.cuh.
// Launch: cells * pitch / LANES blocks.
// requires: prepared/cuda/bottoms/sweep_cells.cuh
// requires: prepared/cuda/sinks/figures.cuh

struct Counted {
  Figures found;
  value_t bound;

  __device__ __forceinline__ int place_of(int, int) const { return 0; }
  __device__ __forceinline__ void take(int, const Columns& distances) { found.look(distances, bound); }
};

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    sweep_figures(const Cell* cells, const int* boundary, const int4* stream, const int2* outline,
                  const value_t* space, const int* sources, value_t* rows, long long pitch, value_t bound,
                  uint64* sums, uint32* missed, value_t* greatest) {
  const Sweep s{cells, boundary, stream, outline, space, sources, rows, pitch};
  Counted sink;
  sink.found.clear();
  sink.bound = bound;
  sweep_cell(s, sink);
  const long long column = s.column() * COLUMNS;
  sink.found.leave(sums + column, missed + column, greatest + column);
}
