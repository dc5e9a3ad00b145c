// A block's lists in shared memory, for the local steps of one_launch_local.cuh.
//
// An entry carries the row itself, of up to ROW_HEAD edges, or the row's bounds. Entries that do not fit a
// list go to the global queues.
// requires: algorithms/near_far/one_launch/one_launch_rows.cuh
#pragma once

#ifndef ROW_HEAD
#define ROW_HEAD 0
#endif
#ifndef SHORTCUTS
#define SHORTCUTS 0
#endif

#if ROW_HEAD
constexpr int kRowPieces = static_cast<int>(sizeof(HeadRow)) / 16;

struct LocalRow {
  int4 piece[kRowPieces];  // a HeadRow
};

struct alignas(16) LocalEntry {
  vertex_t vertex;
  weight_t distance;
  vertex_t from;  // the vertex that it was reached from, or kNoVertex
  LocalRow row;
};
#else
struct alignas(16) LocalEntry {
  vertex_t vertex;
  weight_t distance;
  offset_t begin;
  offset_t degree;
};
#endif

// Entries that a round adds to `next`, and to `far` after the first far_base. With `ends` the block ends
// its step, since others have, or because a long row waits for the whole device.
struct alignas(16) Filled {
  uint32 near, far, ends;
};

struct LocalLists {
  LocalEntry* next;
  Entry* far;
  Filled* filled;
  uint32 room, far_base;
};

// Entries that do not fit the block's lists go to the global queues.
__device__ __noinline__ void spill(const Sink& sink, vertex_t v, weight_t d) {
  const count_t at = atomicAdd(sink.counter, count_t(1));
  if (at < sink.capacity) store_entry(sink.queue + at, v, d);
  if (sink.least) atomic_minimum(sink.least, d);
}

// Lanes 0 and 1 reserve for the two lists at the same time.
__device__ __forceinline__ void push_local(const Targets& out, const LocalLists& lists, bool near,
                                           bool far, const LocalEntry& entry) {
  const uint32 near_takers = __ballot_sync(kAllLanes, near);
  const uint32 far_takers = __ballot_sync(kAllLanes, far);
  if ((near_takers | far_takers) == 0) return;
  uint32 base = 0;
  const uint32 count = __popc(lane_id() == 0 ? near_takers : far_takers);
  if (lane_id() < 2) base = atomicAdd(&lists.filled->near + lane_id(), count);
  const uint32 below = (1u << lane_id()) - 1;
  const uint32 near_at = __shfl_sync(kAllLanes, base, 0) + __popc(near_takers & below);
  const uint32 far_at =
      lists.far_base + __shfl_sync(kAllLanes, base, 1) + __popc(far_takers & below);
  if (near) {
    if (__builtin_expect(near_at < lists.room, 1))
      lists.next[near_at] = entry;
    else
      spill(out.near, entry.vertex, entry.distance);
  }
  if (far) {
    if (__builtin_expect(far_at < lists.room, 1))
      store_entry(lists.far + far_at, entry.vertex, entry.distance);
    else
      spill(out.far, entry.vertex, entry.distance);
  }
}

// Writes `size` entries to a sink. Called by every thread, between barriers.
template <class From>
__device__ __forceinline__ void flush_block(const From* slots, uint32 size, const Sink& sink,
                                            count_t* base) {
  if (size == 0) return;
  if (threadIdx.x == 0) *base = atomicAdd(sink.counter, static_cast<count_t>(size));
  __syncthreads();
  weight_t least = unreached();
  for (uint32 i = threadIdx.x; i < size; i += blockDim.x) {
    const weight_t d = slots[i].distance;
    least = d < least ? d : least;
    if (*base + i < sink.capacity) store_entry(sink.queue + *base + i, slots[i].vertex, d);
  }
  if (sink.least) {
    least = warp_min(least);
    if (lane_id() == 0 && least < load_relaxed(sink.least)) atomic_minimum(sink.least, least);
  }
}
