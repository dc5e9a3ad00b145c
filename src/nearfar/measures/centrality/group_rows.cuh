// Walk over the rows of up to 32 vertices, each by a number of lanes that depends on its length
// only.
//
// A sum over a row therefore has one order, wherever the vertex is in a queue: a short row is
// walked by one lane, a longer one by kGroup lanes (lane i takes entries i, i + kGroup, ...), a
// long one by the whole warp. Most rows of a social network and all rows of a road network are
// short: 32 of them are walked at once. All lanes stay converged, so the actions on an entry may
// vote.
//
// A policy has types Item and Seen, and
//   int vertex                            of this lane's row, set before the walk
//   void open<Lanes>(owner, begin)        a row begins; its vertex is held by lane `owner`
//   Item load(offset_t at)                reads entry `at`
//   Seen look(there, at, item)            reads values of the target; `there` false: no entry here
//   void take<Lanes>(there, at, item, seen)  acts on the entry, with all lanes converged
//   void close<Lanes>(there, first)       the row ends; first: the group's first lane
// where Lanes is the size of the group. Several entries are loaded, then looked at, then taken
// together, so that their reads overlap.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/warp.cuh
#pragma once

constexpr int kShortRow = 4, kLongRow = 64;  // entries
constexpr int kGroup = 8;                    // lanes

// Reads a value of another lane, or of this one if each lane has its own row.
template <int Lanes>
__device__ __forceinline__ int of_owner(int value, int owner) {
  return Lanes == 1 ? value : __shfl_sync(kAllLanes, value, owner);
}

template <int Lanes, class Policy>
__device__ __forceinline__ void walk_group(offset_t begin, int size, int owner, bool there,
                                           Policy& policy) {
  constexpr int kInFlight = Lanes == 1 ? kShortRow : 2;  // loaded before the first is looked at
  const int mine = lane_id() & (Lanes - 1);
  const offset_t from = Lanes == 1 ? begin : __shfl_sync(kAllLanes, begin, owner);
  int count = of_owner<Lanes>(size, owner);
  if (!there) count = 0;
  policy.template open<Lanes>(owner, from);
  for (int base = 0; Lanes == 32 ? base < count : __any_sync(kAllLanes, base < count);
       base += kInFlight * Lanes) {
    typename Policy::Item held[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int i = base + u * Lanes + mine;
      if (i < count) held[u] = policy.load(from + i);
    }
    typename Policy::Seen seen[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int i = base + u * Lanes + mine;
      seen[u] = policy.look(i < count, from + i, held[u]);
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int i = base + u * Lanes + mine;
      if (Lanes == 1 && !__any_sync(kAllLanes, i < count)) break;
      policy.template take<Lanes>(i < count, from + i, held[u], seen[u]);
    }
  }
  policy.template close<Lanes>(there, mine == 0);
}

// Each lane with `there` set adds a row. Called by whole warps.
template <class Policy>
__device__ __forceinline__ void walk_groups(offset_t begin, int size, bool there, Policy& policy) {
  const int lane = lane_id();
  const uint32 some = __ballot_sync(kAllLanes, there && size > kShortRow);
  const uint32 all = __ballot_sync(kAllLanes, there);
  if (some != all) walk_group<1>(begin, size, lane, there && size <= kShortRow, policy);
  if (some == 0) return;
  uint32 long_rows = __ballot_sync(kAllLanes, there && size > kLongRow);
  uint32 left = some & ~long_rows;
  while (left) {
    int owner = -1;
#pragma unroll
    for (int g = 0; g < 32 / kGroup; ++g) {
      if (lane / kGroup == g) owner = __ffs(left) - 1;
      left &= left - 1;
    }
    walk_group<kGroup>(begin, size, owner & 31, owner >= 0, policy);
  }
  while (long_rows) {
    const int owner = __ffs(long_rows) - 1;
    long_rows &= long_rows - 1;
    walk_group<32>(begin, size, owner, true, policy);
  }
}

// Walks the rows of the vertices at places `low` to `high` of an order (null: the vertices of these
// numbers), by all warps of the block; few rows are spread over all warps. sizes: of each vertex's
// row, null for all of it.
template <class Policy>
__device__ __forceinline__ void walk_vertices(const int* order, int low, int high,
                                              const offset_t* offsets, const int* sizes,
                                              Policy& policy) {
  const int lane = lane_id(), warps = blockDim.x >> 5;
  int each = (high - low + warps - 1) / warps;
  each = each > 32 ? 32 : each;
  for (int base = low + (threadIdx.x >> 5) * each; base < high; base += warps * each) {
    const bool there = lane < each && base + lane < high;
    offset_t begin = 0;
    int size = 0;
    policy.vertex = 0;
    if (there) {
      const int v = order ? order[base + lane] : base + lane;
      begin = offsets[v];
      size = sizes ? sizes[v] : static_cast<int>(offsets[v + 1] - begin);
      policy.vertex = v;
    }
    walk_groups(begin, size, there, policy);
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
