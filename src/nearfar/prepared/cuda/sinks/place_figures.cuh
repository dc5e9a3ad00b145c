// Reductions of rows in the caller's form and order, from the sums that a sweep left per column.
//
// Macros: WHOLE, as for figures.cuh; DOUBLES: sums are doubles, else integers whose bits these are.
// Arrays of the sweep: sums, missed and greatest[pitch] as in figures.cuh, sums or the other two
// null; back[count], the column of each source, or null: in order; step, of values.cuh.
// order[count]: the place of each source. Written if not null: counts, totals, means (NaN where
// nothing counts) and most (-1 there). `every` distances of a row could count. status[2], 0 before:
// the greatest integer distance of all; and whether a distance may be missing because it does not
// fit: one is missing from a row that has others beyond `top`.
// Launch: 256 threads, a thread per source. Races: maxima.
// requires: prepared/cuda/values.cuh

#if WHOLE
typedef long long top_t;
#else
typedef double top_t;
#endif

extern "C" __global__ void __launch_bounds__(256)
    place_figures(const uint64* sums, const uint32* missed, const value_t* greatest,
                  const long long* back, const int* order, int count, long long every, top_t top,
                  long long* counts, double* totals, double* means, out_t* most, uint64* status,
                  double step) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  uint64 farthest = 0;
  bool lost = false;
  if (i < count) {
    const long long column = back == nullptr ? i : back[i];
    const int at = order[i];
    double total = 0;
    if (sums != nullptr) {
      const long long bits = static_cast<long long>(sums[column]);
      total = DOUBLES ? __longlong_as_double(bits) : static_cast<double>(bits);
    }
    if (totals != nullptr) totals[at] = total;
    if (missed != nullptr) {
      const long long none = missed[column], found = every - none;
      const value_t far = greatest[column];
      if (WHOLE) farthest = static_cast<uint64>(far);
      lost = none > 0 && static_cast<top_t>(far) > top;
      if (counts != nullptr) counts[at] = found;
      if (means != nullptr)
        means[at] = found > 0 ? total / static_cast<double>(found)
                              : __longlong_as_double(0x7ff8000000000000ll);
      if (most != nullptr) most[at] = found > 0 ? as_distance<out_t>(far, step) : static_cast<out_t>(-1);
    }
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2) {
    const uint64 other = __shfl_xor_sync(0xffffffffu, farthest, by);
    farthest = other > farthest ? other : farthest;
  }
  const bool any = __any_sync(0xffffffffu, lost);
  if (threadIdx.x % 32 != 0) return;
  if (farthest > 0) atomicMax(status, farthest);
  if (any) atomicMax(status + 1, static_cast<uint64>(1));
}
