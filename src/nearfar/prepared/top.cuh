// Distances from many sources to the top of the elimination tree: a product of matrices with (min, +).
//
// A path to a label of the top goes over an ancestor of the source that lies in the top, and the climb has the
// distance to it. With the distances within the top at hand there is no chain from label to label. The labels of a
// top are closed under parents.
//
// Macros: COLUMNS sources side by side, GROUPS of them per thread, ACROSS threads side by side; EACH labels per
// thread, DOWN threads one below the other. ROW_KIND as in sweep.cuh.
// Arrays: between[top][top], from row to column, top a multiple of kDeep and of the labels of a block; labels[top],
// then -1; depth, low, place, space, sources, rows and pitch as in sweep.cuh.
// Launch: ACROSS * DOWN threads, (top / labels of a block, pitch / sources of a block) blocks. Races: none.
// requires: prepared/values.cuh
// requires: prepared/columns.cuh

constexpr int kDeep = 16;  // ancestors that are worked on together
constexpr int kThreads = ACROSS * DOWN;
constexpr int kWide = ACROSS * GROUPS;  // in units of COLUMNS sources
constexpr int kHigh = DOWN * EACH;

extern "C" __global__ void __launch_bounds__(ACROSS * DOWN)
    top_of_tree(const value_t* between, int top, const int* labels, const int* depth,
                const int* low, const int* place, const value_t* space, const int* sources,
                value_t* rows, long long pitch) {
  __shared__ Columns climbed[kDeep][kWide];
  __shared__ value_t within[kDeep][kHigh];
  __shared__ int source[kWide * COLUMNS];
  const int across = threadIdx.x % ACROSS, down = threadIdx.x / ACROSS;
  const int first = blockIdx.x * kHigh;
  const long long stride = pitch / COLUMNS;
  const long long column = static_cast<long long>(blockIdx.y) * kWide;
  const Columns* const spaces = reinterpret_cast<const Columns*>(space) + column;
  for (int i = threadIdx.x; i < kWide * COLUMNS; i += kThreads)
    source[i] = sources[column * COLUMNS + i];
  Columns best[EACH][GROUPS];
#pragma unroll
  for (int t = 0; t < EACH; ++t)
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) best[t][g] = all_far();
  __syncthreads();
  for (int x = 0; x < top; x += kDeep) {
    bool any = false;
    for (int i = threadIdx.x; i < kDeep * kWide; i += kThreads) {
      const int k = i / kWide, c = i % kWide;
      const int label = labels[x + k];
      const int from = label < 0 ? 0 : low[label];
      bool above = false;
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j)
        above |= from <= source[c * COLUMNS + j] && source[c * COLUMNS + j] <= label;
      Columns there = all_far();
      if (above) {
        const Columns found = get(spaces + depth[label] * stride + c);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          if (from <= source[c * COLUMNS + j] && source[c * COLUMNS + j] <= label)
            there.x[j] = found.x[j];
      }
      put(&climbed[k][c], there);
      any |= above;
    }
    for (int i = threadIdx.x; i < kDeep * kHigh; i += kThreads) {
      const int k = i / kHigh, t = i % kHigh;
      within[k][t] = between[static_cast<long long>(x + k) * top + first + t];
    }
    if (__syncthreads_or(any)) {
#pragma unroll
      for (int k = 0; k < kDeep; ++k) {
        Columns from[GROUPS];
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) from[g] = get(&climbed[k][across + g * ACROSS]);
#pragma unroll
        for (int t = 0; t < EACH; ++t) {
          const value_t way = within[k][down + t * DOWN];
#pragma unroll
          for (int g = 0; g < GROUPS; ++g) best[t][g] = over(from[g], way, best[t][g]);
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int t = 0; t < EACH; ++t) {
    const int label = labels[first + down + t * DOWN];
    if (label < 0) continue;
    const long long row = ROW_KIND ? place[label] : label;
    Columns* const to = reinterpret_cast<Columns*>(rows) + row * stride + column + across;
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) put(to + g * ACROSS, best[t][g]);
  }
}
