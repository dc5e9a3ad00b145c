// Distances from many sources to the vertices of cells, stored: a block per cell and group of sources.
//
// Macros and arrays: those of sweep_cells.cuh, rows[n][pitch] being written. LAST_USE: nothing reads these distances
// soon.
// Launch: LANES / COLUMNS threads, cells * pitch / LANES blocks. Races: none.
// requires: prepared/sweep_cells.cuh

struct Stored {
  Columns* mine;
  long long stride;
  const int* place;

  __device__ __forceinline__ int place_of(int vertex, int label) const {
    return ROW_KIND == 0 ? label : ROW_KIND == 1 ? vertex : place[label];
  }
  __device__ __forceinline__ void take(int row, const Columns& found) {
    if (LAST_USE)
      put_past(mine + row * stride, found);
    else
      put(mine + row * stride, found);
  }
};

extern "C" __global__ void __launch_bounds__(kThreads)
    sweep(const Cell* cells, const int* boundary, const int4* stream, const int* chunk,
          const int2* outline, const int* place, const value_t* space, const int* sources,
          value_t* rows, long long pitch) {
  const Sweep s{cells, boundary, stream, chunk, outline, place, space, sources, rows, pitch};
  Stored sink{reinterpret_cast<Columns*>(rows) + s.column(), pitch / COLUMNS, place};
  sweep_cell(s, sink);
}
