// Stores distances from many sources to the vertices of cells: one block per cell and group of
// sources.
//
// Macros and arrays: those of sweep_cells.cuh; rows[n][pitch] is written. BY_VERTEX: a row per
// vertex instead of one per label; such rows are not read soon.
// Launch: LANES / COLUMNS threads, cells * pitch / LANES blocks. Races: none.
// requires: prepared/cuda/bottoms/sweep_cells.cuh

struct Stored {
  char* mine;
  uint32 stride;  // bytes

  __device__ __forceinline__ Columns* place_of(int vertex, int label) const {
    const uint64 row = static_cast<uint32>(BY_VERTEX ? vertex : label);
    return reinterpret_cast<Columns*>(mine + row * stride);
  }
  __device__ __forceinline__ void take(Columns* to, const Columns& found) {
    if (BY_VERTEX)
      put_past(to, found);
    else
      put(to, found);
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    sweep(const Cell* cells, const int* boundary, const int4* stream, const int2* outline,
          const value_t* space, const int* sources, value_t* rows, long long pitch) {
  const Sweep s{cells, boundary, stream, outline, space, sources, rows, pitch};
  Stored sink{reinterpret_cast<char*>(rows + s.column() * COLUMNS), static_cast<uint32>(pitch * sizeof(value_t))};
  sweep_cell(s, sink);
}
