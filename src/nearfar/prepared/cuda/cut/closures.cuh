// Matrices of the pieces of an elimination tree: distances from the boundary and the members to the
// members.
//
// A warp takes 32 rows of a matrix, one per lane, and processes the members from the highest label
// down, like a sweep from one vertex of the boundary or from one member. The top of the tree has no
// boundary and ends the climbs; its distances are those over all paths, so a climb precedes the
// sweep.
//
// Arrays: pieces; jobs[..] {piece, first row}; for each member, from *_first on, its arcs in *_way
// {row that the arc leads to, arc}: down and, in the top, up; weights of the arcs; matrices,
// written. Dynamic shared memory: 33 values per member of the largest piece. Launch: 32 threads, a
// block per job. Races: none.
// requires: prepared/cuda/pieces.cuh

// Calls f(row, weight) for the arcs of a member; by all lanes of a warp.
template <class F>
__device__ __forceinline__ void for_ways(const int* first, const int2* way, const value_t* weight, int member, F&& f) {
  const int end = first[member + 1];
  for (int base = first[member]; base < end; base += 32) {
    const int at = base + static_cast<int>(threadIdx.x);
    const int2 mine = at < end ? way[at] : make_int2(0, -1);
    const value_t my_weight = mine.y >= 0 ? weight[mine.y] : far_value();
    const int some = min(32, end - base);
#pragma unroll 4
    for (int k = 0; k < some; ++k)
      f(__shfl_sync(0xffffffffu, mine.x, k), __shfl_sync(0xffffffffu, my_weight, k));
  }
}

extern "C" __global__ void __launch_bounds__(32)
    closures(const Piece* pieces, const int2* jobs, const int* down_first, const int2* down_way,
             const value_t* down_weight, const int* up_first, const int2* up_way, const value_t* up_weight,
             value_t* matrices) {
  extern __shared__ __align__(16) value_t found[];
  const int2 job = jobs[blockIdx.x];
  const Piece piece = pieces[job.x];
  const int lane = threadIdx.x, row = job.y + lane, bound = piece.boundary_count;
  auto here = [&](int member) -> value_t& { return found[member * 33 + lane]; };
  for (int t = 0; t < piece.count; ++t) here(t) = bound + t == row ? value_t(0) : far_value();
  if (piece.is_top)
    for (int t = piece.count - 1; t >= 0; --t) {
      const value_t d = here(t);
      for_ways(up_first, up_way, up_weight, piece.members + t, [&](int to, value_t weight) {
        here(to) = add_min(d, weight, here(to));
      });
    }
  for (int t = 0; t < piece.count; ++t) {
    value_t a = here(t);
    for_ways(down_first, down_way, down_weight, piece.members + t, [&](int from, value_t weight) {
      const value_t there = from >= bound ? here(from - bound) : from == row ? value_t(0) : far_value();
      a = add_min(there, weight, a);
    });
    here(t) = a;
  }
  __syncwarp();
  value_t* const out = matrices + matrix_of(piece);
  const int rows = min(32, bound + piece.count - job.y);
  for (int r = 0; r < rows; ++r)
    for (int t = lane; t < piece.count; t += 32)
      out[static_cast<long long>(job.y + r) * piece.count + t] = found[t * 33 + r];
}
