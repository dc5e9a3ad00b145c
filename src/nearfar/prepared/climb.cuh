// The climb of each source through the elimination tree: distances to all ancestors over arcs upwards; a block per source.
//
// Only labels below the top of the tree hand on what they have: the distances within the top are known (upper.cuh),
// so that the chain ends at the first ancestor that lies there.
//
// Arrays: those of WaysUp (climbing.cuh); label[n] of vertices; sources[count], vertices; stop[n], the depth
// of the first ancestor in the top, the label itself included, or -1 (null: there is no top); labels[pitch],
// written: those of the sources, then -1; with `unit` > 0 in the order of column_order.cuh for so many columns side by side;
// space[height][pitch], written for depths 0 to that of the source.
// Dynamic shared memory: kClimbBytes, then `height` values. Launch: 32 * WARPS threads, pitch blocks.
// Races: none; the lanes of a warp lower distances of different depths.
// requires: prepared/climbing.cuh
// requires: prepared/column_order.cuh

extern "C" __global__ void __launch_bounds__(kClimbThreads)
    climb(const int4* node, const int4* lift, const int* head_depth, const value_t* weight, const int* label,
          const long long* sources, int count, int unit, const int* stop, int* labels, value_t* space,
          long long pitch) {
  extern __shared__ __align__(16) char memory[];
  value_t* const mine = reinterpret_cast<value_t*>(memory + kClimbBytes);
  const int k = blockIdx.x;
  const long long number = unit > 0 ? source_of_column(k, unit) : k;
  const int from = number < count ? label[sources[number]] : -1;
  if (threadIdx.x == 0) labels[k] = from;
  if (from < 0) return;
  Climb climb({node, lift, head_depth, weight}, memory, mine);
  const int top = climb.run(from, stop == nullptr ? -1 : stop[from]);
  for (int i = threadIdx.x; i <= top; i += kClimbThreads) space[static_cast<long long>(i) * pitch + k] = mine[i];
}
