// Reduction of the distances of each source, read once in the sweep's layout [label][source], never
// as rows.
//
// A thread has its own sources (COLUMNS of them, or one) and processes a slice of the labels, so
// that a warp reads adjacent memory and is independent of other warps until the end of its slice.
// Slices are merged by atomics on integers and maxima, or by a second run over the nearest of each
// slice: the result does not depend on any order.
//
// Distances beyond `bound` and "no path" do not count. The source itself counts where it is listed;
// the caller subtracts it, except from the nearest, where it would take a place.
//
// Macros: COLUMNS of a thread (figures); SPAN (histogram); KEEP, the nearest per source, and
// FOUND_NAMES: names are stored with the values (nearest). Arrays: values[..][pitch]; listed[some],
// rows of `values`, or null for the first `some`; sources[pitch], labels or -1. All outputs have
// one entry per column of the sweep, the unused ones of its padding included.
// Races: atomics, whose results do not depend on their order.
// requires: prepared/cuda/values.cuh
// requires: prepared/cuda/columns.cuh
// requires: prepared/cuda/sinks/figures.cuh

constexpr int kReduceWarps = 8;
constexpr int kAcross = 128;  // sources per block where a thread has one

__device__ __forceinline__ const value_t* row_of(const value_t* values, const int* listed, int j,
                                                 long long pitch) {
  return values + static_cast<long long>(listed == nullptr ? j : listed[j]) * pitch;
}

// Count, sum and greatest distance.
// sums, missed (number that does not count) and greatest [pitch], merged with their present values.
// Launch: 32 * kReduceWarps threads, (pitch / (32 * COLUMNS), slices) blocks.
extern "C" __global__ void __launch_bounds__(32 * kReduceWarps)
    figures(const value_t* values, long long pitch, const int* listed, int some, value_t bound,
            uint64* sums, uint32* missed, value_t* greatest) {
  __shared__ Figures joined[kReduceWarps * 32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const long long column = (static_cast<long long>(blockIdx.x) * 32 + lane) * COLUMNS;
  const int slice = (some + gridDim.y - 1) / gridDim.y, begin = slice * blockIdx.y;
  const int end = min(begin + slice, some);
  Figures mine;
  mine.clear();
#pragma unroll 8
  for (int j = begin + warp; j < end; j += kReduceWarps)
    mine.look(get(reinterpret_cast<const Columns*>(row_of(values, listed, j, pitch) + column)),
              bound);
  joined[threadIdx.x] = mine;
  __syncthreads();
  if (warp > 0) return;
  for (int w = 1; w < kReduceWarps; ++w) mine.join(joined[w * 32 + lane]);
  mine.leave(sums + column, missed + column, greatest + column);
}

// Calls take with the number and the distance in a column for each row of a slice. Rows without a
// list are adjacent in memory.
template <class Take>
__device__ __forceinline__ void each_row(const value_t* values, const int* listed, int begin, int end,
                                         long long pitch, long long column, Take take) {
  if (listed == nullptr) {
    const value_t* from = values + begin * pitch + column;
#pragma unroll 4
    for (int j = begin; j < end; ++j) {
      take(j, *from);
      from += pitch;
    }
  } else {
#pragma unroll 4
    for (int j = begin; j < end; ++j) take(j, row_of(values, listed, j, pitch)[column]);
  }
}

// Number of distances per half-open bin. edges[SPAN], bins + 1 of them, ascending, then the
// greatest number; SPAN is a power of two. counts[bins][pitch], merged with their present values.
// The first counter of a thread is for distances that are below or do not count, the last for those
// beyond, so that all lanes take the same steps. Dynamic shared memory: edges, rounded up to 16
// bytes, then (bins + 2) * kAcross counters of 32 bits.
// Launch: kAcross threads, (pitch / kAcross, slices) blocks.
extern "C" __global__ void __launch_bounds__(kAcross)
    histogram(const value_t* values, long long pitch, const int* listed, int some, value_t bound,
              const edge_t* edges, int bins, uint32* counts) {
  extern __shared__ __align__(16) int4 memory[];
  edge_t* const edge = reinterpret_cast<edge_t*>(memory);
  uint32* const mine =
      reinterpret_cast<uint32*>(memory + (SPAN * sizeof(edge_t) + 15) / 16) + threadIdx.x;
  const long long column = static_cast<long long>(blockIdx.x) * kAcross + threadIdx.x;
  const int slice = (some + gridDim.y - 1) / gridDim.y, begin = slice * blockIdx.y;
  const int end = min(begin + slice, some);
  for (int i = threadIdx.x; i < SPAN; i += kAcross) edge[i] = edges[i];
  for (int b = 0; b < bins + 2; ++b) mine[b * kAcross] = 0;
  __syncthreads();
  each_row(values, listed, begin, end, pitch, column, [&](int, value_t x) {
    const edge_t at = static_cast<edge_t>(x);
    int below = 0;  // edges that are not above
#pragma unroll
    for (int step = SPAN / 2; step > 0; step /= 2) below += at < edge[below + step - 1] ? 0 : step;
    ++mine[(x <= bound ? below : 0) * kAcross];
  });
  for (int b = 0; b < bins; ++b) {
    const uint32 found = mine[(b + 1) * kAcross];
    if (found != 0) atomicAdd(counts + static_cast<long long>(b) * pitch + column, found);
  }
}

// The KEEP nearest of each slice, equal distances in order of their names.
// names[some], of the listed rows, or with FOUND_NAMES names[..][pitch], of each entry of `values`; but[pitch], labels
// whose own name does not count, or null; vertex[n], names of labels. near and who [slices * KEEP][pitch], written:
// nearest first, "no path" and -1 where there are fewer.
// Launch: kAcross threads, (pitch / kAcross, slices) blocks.
extern "C" __global__ void __launch_bounds__(kAcross)
    nearest(const value_t* values, long long pitch, const int* listed, int some, value_t bound,
            const int* names, const int* but, const int* vertex, value_t* near, int* who) {
  const long long column = static_cast<long long>(blockIdx.x) * kAcross + threadIdx.x;
  const int slice = (some + gridDim.y - 1) / gridDim.y, begin = slice * blockIdx.y;
  const int end = min(begin + slice, some);
  const int own = but == nullptr || but[column] < 0 ? -1 : vertex[but[column]];
  value_t best[KEEP];
  int name[KEEP];
#pragma unroll
  for (int i = 0; i < KEEP; ++i) {
    best[i] = far_value();
    name[i] = -1;
  }
  each_row(values, listed, begin, end, pitch, column, [&](int j, value_t x) {
    if (!(x <= bound) || x > best[KEEP - 1]) return;
    int v = FOUND_NAMES ? names[static_cast<long long>(j) * pitch + column] : names[j];
    if (v == own || v < 0) return;
#pragma unroll
    for (int i = 0; i < KEEP; ++i) {
      if (x < best[i] || (x == best[i] && static_cast<uint32>(v) < static_cast<uint32>(name[i]))) {
        const value_t farther = best[i];
        const int other = name[i];
        best[i] = x;
        name[i] = v;
        x = farther;
        v = other;
      }
    }
  });
#pragma unroll
  for (int i = 0; i < KEEP; ++i) {
    const long long to = (static_cast<long long>(blockIdx.y) * KEEP + i) * pitch + column;
    near[to] = best[i];
    who[to] = name[i];
  }
}
