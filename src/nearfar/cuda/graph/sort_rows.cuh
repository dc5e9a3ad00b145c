// Sorts the edges of each vertex by weight, in place; long rows by pieces of SEGMENT edges.
//
// A tile is the run of whole pieces that begin in one window of SEGMENT positions, so it holds
// fewer than two windows of edges, and a block sorts it in shared memory by (piece, weight, place)
// in a bitonic network: every tile costs the same for any lengths of rows. Pieces of a row begin at
// multiples of SEGMENT from its start.
//
// Arrays: offsets[n + 1], edges[m]; entered[n]: set to 1 where an edge arrives.
// Launch: one block of kSortThreads a window. Races: equal bytes are stored to `entered`; else
// none.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/warp.cuh

constexpr int kSegment = SEGMENT;
constexpr int kTile = 2 * kSegment;
constexpr int kSortThreads = 256;
constexpr int kEach = kTile / kSortThreads;
constexpr int kPlaceBits = 12;

// Piece, weight and place in 64 bits where the weight has 32, else in two words.
struct NarrowKey {
  uint64 all;
  __device__ void set(uint32 piece, weight_t weight, uint32 place) {
    uint32 bits;
    memcpy(&bits, &weight, 4);
    all = static_cast<uint64>(piece) << (32 + kPlaceBits) |
          static_cast<uint64>(bits) << kPlaceBits | place;
  }
  __device__ uint32 place() const { return static_cast<uint32>(all) & ((1u << kPlaceBits) - 1); }
  __device__ bool above(const NarrowKey& other) const { return all > other.all; }
};
struct WideKey {
  uint64 weight_bits;
  uint64 piece_and_place;
  __device__ void set(uint32 piece, weight_t weight, uint32 place) {
    memcpy(&weight_bits, &weight, 8);
    piece_and_place = static_cast<uint64>(piece) << kPlaceBits | place;
  }
  __device__ uint32 place() const {
    return static_cast<uint32>(piece_and_place) & ((1u << kPlaceBits) - 1);
  }
  __device__ bool above(const WideKey& other) const {
    const uint64 mine = piece_and_place >> kPlaceBits, its = other.piece_and_place >> kPlaceBits;
    if (mine != its) return mine > its;
    if (weight_bits != other.weight_bits) return weight_bits > other.weight_bits;
    return piece_and_place > other.piece_and_place;
  }
};
template <bool Wide>
struct KeyOf {
  typedef NarrowKey type;
};
template <>
struct KeyOf<true> {
  typedef WideKey type;
};
typedef KeyOf<(sizeof(weight_t) > 4)>::type SortKey;

// Returns the last row that begins at or before position x < m.
__device__ __forceinline__ long long row_of(const offset_t* offsets, long long n, long long x) {
  long long low = 0, high = n;
  while (high - low > 1) {
    const long long middle = (low + high) / 2;
    if (offsets[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// Returns the start of the first piece at or after position x.
__device__ __forceinline__ long long next_piece(const offset_t* offsets, long long n, long long m,
                                                long long x) {
  if (x >= m) return m;
  const long long row = row_of(offsets, n, x);
  const long long begin = offsets[row], end = offsets[row + 1];
  const long long next = begin + (x - begin + kSegment - 1) / kSegment * kSegment;
  return next < end ? next : end;
}

extern "C" __global__ void __launch_bounds__(kSortThreads)
    sort_rows(const offset_t* offsets, Edge* edges, long long n, long long m,
              unsigned char* entered) {
  __shared__ SortKey keys[kTile];
  __shared__ Edge held[kTile];
  __shared__ unsigned char begins[kTile];
  __shared__ uint32 scratch[33];
  __shared__ long long bounds[2], rows[2];
  if (threadIdx.x < 2) {
    const long long at =
        next_piece(offsets, n, m, (static_cast<long long>(blockIdx.x) + threadIdx.x) * kSegment);
    bounds[threadIdx.x] = at;
    rows[threadIdx.x] = at < m ? row_of(offsets, n, at) : n;
  }
  __syncthreads();
  const long long first = bounds[0];
  const int count = static_cast<int>(bounds[1] - first);
  if (count <= 0) return;
  for (int i = threadIdx.x; i < kTile; i += kSortThreads) {
    begins[i] = 0;
    if (i < count) held[i] = edges[first + i];
  }
  __syncthreads();
  for (long long row = rows[0] + threadIdx.x; row <= rows[1] && row < n; row += kSortThreads) {
    const long long at = offsets[row] - first;
    if (at > 0 && at < count) begins[at] = 1;
  }
  __syncthreads();
  uint32 here = 0;
  for (int u = 0; u < kEach; ++u) here += begins[threadIdx.x * kEach + u];
  uint32 total = 0;
  uint32 piece = block_exclusive_sum(here, scratch, &total);
  for (int u = 0; u < kEach; ++u) {
    const int i = threadIdx.x * kEach + u;
    piece += begins[i];
    if (i < count)
      keys[i].set(piece, edge_weight(held[i]), i);
    else
      keys[i].set(kTile, weight_t(0), i);
  }
  int padded = 2;
  while (padded < count) padded *= 2;
  for (int run = 2; run <= padded; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < padded / 2; i += kSortThreads) {
        const int low = (i & ~(step - 1)) * 2 + (i & (step - 1)), high = low + step;
        const SortKey a = keys[low], b = keys[high];
        if (a.above(b) == ((low & run) == 0)) {
          keys[low] = b;
          keys[high] = a;
        }
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += kSortThreads) {
    const Edge edge = held[keys[i].place()];
    edges[first + i] = edge;
    entered[edge.target] = 1;
  }
}
