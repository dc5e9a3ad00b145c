// Sums of float64 per source, with rows added by halves: entry i plus entry i + half, until one is
// left.
//
// That order is the same on every device. kLevels halvings are one launch: a thread has one source
// and one entry of the result, and adds the entries that lead to it depth first, so nothing in
// between is stored. At an odd width the last entry without a partner is kept.
//
// Macros: KIND of the terms: 0 float64 values, 1 distances, 2 their reciprocals without those of 0.
// Arrays: values[..][pitch]; listed[width], rows of `values`, or null for the first `width`;
// but[pitch], labels whose own entry does not count, or null; vertex[n], entries of labels;
// sums[after][pitch], written; step, of values.cuh.
// Launch: kAcross threads, (pitch / kAcross, up to `after`) blocks. Races: none.
// requires: prepared/cuda/values.cuh

constexpr int kLevels = 6;
constexpr int kAcross = 128;
#if KIND
typedef value_t entry_t;
#else
typedef double entry_t;
#endif

struct Row {
  const entry_t* values;
  const int* listed;
  long long pitch, column;
  int own;
  entry_t bound;
  double step;
  int width[kLevels + 1];  // of the row after this number of halvings

  __device__ __forceinline__ double entry(int i) const {
    const long long row = listed == nullptr ? i : listed[i];
    const entry_t x = values[row * pitch + column];
#if !KIND
    return x;
#endif
#if KIND
    const bool counts = x <= bound && i != own && (KIND == 1 || x > entry_t(0));
    const double distance = static_cast<double>(as_distance<out_t>(x, step));
    if (KIND == 1) return counts ? distance : 0.0;
    return counts ? 1.0 / distance : 0.0;
#endif
  }
};

// CHECKED: entries may have no partner.
template <int Level, bool Checked>
struct Half {
  __device__ static __forceinline__ double sum(const Row& row, int i) {
    const double first = Half<Level - 1, Checked>::sum(row, i);
    const int other = i + row.width[Level];
    if (Checked && other >= row.width[Level - 1]) return first;
    return first + Half<Level - 1, Checked>::sum(row, other);
  }
};
template <bool Checked>
struct Half<0, Checked> {
  __device__ static __forceinline__ double sum(const Row& row, int i) { return row.entry(i); }
};

extern "C" __global__ void __launch_bounds__(kAcross)
    by_halves(const entry_t* values, long long pitch, const int* listed, int width, entry_t bound,
              const int* but, const int* vertex, double* sums, double step) {
  Row row;
  row.values = values;
  row.listed = listed;
  row.pitch = pitch;
  row.column = static_cast<long long>(blockIdx.x) * kAcross + threadIdx.x;
  row.own = but == nullptr || but[row.column] < 0 ? -1 : vertex[but[row.column]];
  row.bound = bound;
  row.step = step;
  row.width[0] = width;
#pragma unroll
  for (int level = 1; level <= kLevels; ++level) row.width[level] = (row.width[level - 1] + 1) / 2;
  for (int i = blockIdx.y; i < row.width[kLevels]; i += gridDim.y) {
    int farthest = i;
    bool paired = true;
#pragma unroll
    for (int level = kLevels; level > 0; --level) {
      farthest += row.width[level];
      paired = paired && farthest < row.width[level - 1];
    }
    sums[i * pitch + row.column] =
        paired ? Half<kLevels, false>::sum(row, i) : Half<kLevels, true>::sum(row, i);
  }
}
