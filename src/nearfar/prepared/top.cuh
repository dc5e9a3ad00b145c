// Distances from many sources to the top of the elimination tree: a product of matrices with (min, +).
//
// A path to a label of the top goes over an ancestor of the source that lies in the top, and the climb has the
// distance to the first of them on it. With the distances within the top at hand there is no chain from label to
// label. The labels of a top are closed under parents.
//
// Few sources fill few blocks: with SHARES > 1 so many warps take the ancestors of one tile in turns, each with
// memory of its own and no barrier, and join what they found at the end.
//
// Macros: COLUMNS sources side by side, GROUPS of them per thread, ACROSS threads side by side; EACH labels per
// thread, DOWN threads one below the other; SHARES, with more than 1 ACROSS * DOWN is 32. ROW_KIND as in sweep.cuh.
// Arrays: between[top][top], from row to column, top a multiple of kDeep and of the labels of a block;
// labels[top], then -1, with their depth and low; place, space, sources, rows and pitch as in sweep.cuh.
// Launch: ACROSS * DOWN * SHARES threads, (top / labels of a block, pitch / sources of a block) blocks. Races: none.
// requires: prepared/values.cuh
// requires: prepared/columns.cuh

constexpr int kDeep = 16;  // ancestors that are worked on together
constexpr int kTeam = ACROSS * DOWN, kThreads = kTeam * SHARES;
constexpr int kWide = ACROSS * GROUPS;  // in units of COLUMNS sources
constexpr int kHigh = DOWN * EACH;
static_assert(SHARES == 1 || (kTeam == 32 && kHigh <= kDeep), "a share is a warp with a small tile");

__device__ __forceinline__ void share_barrier() {
  if (SHARES > 1)
    __syncwarp();
  else
    __syncthreads();
}
// Whether any thread of the share says so; a barrier for them.
__device__ __forceinline__ bool any_of_share(bool mine) {
  if (SHARES == 1) return __syncthreads_or(mine) != 0;
  share_barrier();
  return __any_sync(0xffffffffu, mine) != 0;
}

extern "C" __global__ void __launch_bounds__(ACROSS * DOWN * SHARES)
    top_of_tree(const value_t* between, int top, const int* labels, const int* depth,
                const int* low, const int* place, const value_t* space, const int* sources,
                value_t* rows, long long pitch) {
  __shared__ Columns all_climbed[SHARES * kDeep * kWide];
  __shared__ value_t all_within[SHARES * kDeep * kHigh];
  __shared__ int source[kWide * COLUMNS];
  const int share = threadIdx.x / kTeam, thread = threadIdx.x % kTeam;
  const int across = thread % ACROSS, down = thread / ACROSS;
  const int first = blockIdx.x * kHigh;
  const long long stride = pitch / COLUMNS;
  const long long column = static_cast<long long>(blockIdx.y) * kWide;
  const Columns* const spaces = reinterpret_cast<const Columns*>(space) + column;
  Columns* const climbed = all_climbed + share * kDeep * kWide;
  value_t* const within = all_within + share * kDeep * kHigh;
  for (int i = threadIdx.x; i < kWide * COLUMNS; i += kThreads)
    source[i] = sources[column * COLUMNS + i];
  Columns best[EACH][GROUPS];
#pragma unroll
  for (int t = 0; t < EACH; ++t)
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) best[t][g] = all_far();
  __syncthreads();
  for (int x = share * kDeep; x < top; x += SHARES * kDeep) {
    bool any = false;
#pragma unroll 4
    for (int i = thread; i < kDeep * kWide; i += kTeam) {
      const int k = i / kWide, c = i % kWide;
      const int label = labels[x + k], from = low[x + k], deep = depth[x + k];
      bool above = false;
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j)
        above |= from <= source[c * COLUMNS + j] && source[c * COLUMNS + j] <= label;
      Columns there = all_far();
      if (above) {
        const Columns found = get(spaces + deep * stride + c);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          if (from <= source[c * COLUMNS + j] && source[c * COLUMNS + j] <= label)
            there.x[j] = found.x[j];
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) any |= there.x[j] < far_value();
      }
      put(climbed + k * kWide + c, there);
    }
#pragma unroll 4
    for (int i = thread; i < kDeep * kHigh; i += kTeam) {
      const int k = i / kHigh, t = i % kHigh;
      within[k * kHigh + t] = between[static_cast<long long>(x + k) * top + first + t];
    }
    if (any_of_share(any)) {
#pragma unroll
      for (int k = 0; k < kDeep; ++k) {
        Columns from[GROUPS];
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) from[g] = get(climbed + k * kWide + across + g * ACROSS);
#pragma unroll
        for (int t = 0; t < EACH; ++t) {
          const value_t way = within[k * kHigh + down + t * DOWN];
#pragma unroll
          for (int g = 0; g < GROUPS; ++g) best[t][g] = over(from[g], way, best[t][g]);
        }
      }
    }
    share_barrier();
  }
  if (SHARES > 1) {
    // Each thread joins what all warps have of some entries, in the memory that the loop is done with.
    constexpr int kEntries = EACH * GROUPS * kTeam;
#pragma unroll
    for (int t = 0; t < EACH; ++t)
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) put(climbed + (t * GROUPS + g) * kTeam + thread, best[t][g]);
    __syncthreads();
    for (int i = threadIdx.x; i < kEntries; i += kThreads) {
      Columns a = get(all_climbed + i);
      for (int w = 1; w < SHARES; ++w) {
        const Columns b = get(all_climbed + w * kDeep * kWide + i);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) a.x[j] = b.x[j] < a.x[j] ? b.x[j] : a.x[j];
      }
      const int g = i / kTeam % GROUPS, t = i / kTeam / GROUPS, who = i % kTeam;
      const int label = labels[first + who / ACROSS + t * DOWN];
      if (label < 0) continue;
      const long long row = ROW_KIND ? place[label] : label;
      put(reinterpret_cast<Columns*>(rows) + row * stride + column + who % ACROSS + g * ACROSS, a);
    }
    return;
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
