// The rows of up to 32 vertices, each walked by a group of lanes that its length alone chooses.
//
// So a sum over a row has one order, wherever the vertex stands in a queue: short rows are walked by kGroup
// lanes (lane i takes entries i, i + kGroup, ...), longer ones by the whole warp. All 32 lanes stay
// together, so that what is done with an entry may vote.
//
// A policy has a type Item and
//   int vertex                         of this lane's row, set before the walk
//   void open(owner, begin)            a row begins; its vertex is held by lane `owner`
//   Item load(offset_t at)             what is read of entry `at`
//   void look<Lanes>(there, at, item)  an entry; not there: this lane has none
//   void close<Lanes>(there, first)    the row ends; first: the group's first lane
// where Lanes is the size of the group.
// requires: cuda/edges.cuh
// requires: cuda/warp.cuh
#pragma once

constexpr int kInFlight = 2;  // entries that a lane loads before it looks at the first

template <int Lanes, class Policy>
__device__ __forceinline__ void walk_group(offset_t begin, int size, int owner, bool there,
                                           Policy& policy) {
  const int mine = lane_id() & (Lanes - 1);
  const offset_t from = __shfl_sync(kAllLanes, begin, owner);
  int count = __shfl_sync(kAllLanes, size, owner);
  if (!there) count = 0;
  policy.open(owner, from);
  int most = count;
#pragma unroll
  for (int step = Lanes; step < 32; step <<= 1) {
    const int other = __shfl_xor_sync(kAllLanes, most, step);
    most = other > most ? other : most;
  }
  for (int base = 0; base < most; base += kInFlight * Lanes) {
    typename Policy::Item held[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int i = base + u * Lanes + mine;
      if (i < count) held[u] = policy.load(from + i);
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int i = base + u * Lanes + mine;
      policy.template look<Lanes>(i < count, from + i, held[u]);
    }
  }
  policy.template close<Lanes>(there, mine == 0);
}

// Each of the first `rows` lanes brings a row. Called by whole warps.
template <int kGroup, class Policy>
__device__ __forceinline__ void walk_groups(offset_t begin, int size, int rows, Policy& policy) {
  const int lane = lane_id();
  const bool is_long = lane < rows && size > (kGroup < 8 ? 32 : 4 * kGroup);
  uint32 long_rows = __ballot_sync(kAllLanes, is_long);
  const uint32 apart = long_rows;
  constexpr int kAtOnce = 32 / kGroup;
  for (int first = 0; first < rows; first += kAtOnce) {
    const int owner = first + lane / kGroup;
    const bool there = owner < rows && !(apart >> (owner & 31) & 1);
    if (!__any_sync(kAllLanes, there)) continue;
    walk_group<kGroup>(begin, size, owner & 31, there, policy);
  }
  while (long_rows) {
    const int owner = __ffs(long_rows) - 1;
    long_rows &= long_rows - 1;
    walk_group<32>(begin, size, owner, true, policy);
  }
}

// The rows of the vertices at places `low` to `high` of an order (null: the vertices of these numbers), over
// all warps of the block; few are spread over all of them. sizes: of each vertex's row, if not all of it.
template <int kGroup, class Policy>
__device__ __forceinline__ void walk_vertices(const int* order, int low, int high,
                                              const offset_t* offsets, const int* sizes,
                                              Policy& policy) {
  const int lane = lane_id(), warps = blockDim.x >> 5;
  int each = (high - low + warps - 1) / warps;
  each = each > 32 ? 32 : each;
  for (int base = low + (threadIdx.x >> 5) * each; base < high; base += warps * each) {
    const int rows = high - base < each ? high - base : each;
    offset_t begin = 0;
    int size = 0;
    policy.vertex = 0;
    if (lane < rows) {
      const int v = order ? order[base + lane] : base + lane;
      begin = offsets[v];
      size = sizes ? sizes[v] : static_cast<int>(offsets[v + 1] - begin);
      policy.vertex = v;
    }
    walk_groups<kGroup>(begin, size, rows, policy);
  }
}

// Appends a vertex to a queue whose length is *tail; all lanes call it.
__device__ __forceinline__ void append(bool wanted, int vertex, int* queue, int* tail) {
  const uint32 all = __ballot_sync(kAllLanes, wanted);
  if (all == 0) return;
  const int lane = lane_id(), first = __ffs(all) - 1;
  int at = 0;
  if (lane == first) at = atomicAdd(tail, __popc(all));
  at = __shfl_sync(kAllLanes, at, first);
  if (wanted) queue[at + __popc(all & ((1u << lane) - 1))] = vertex;
}
