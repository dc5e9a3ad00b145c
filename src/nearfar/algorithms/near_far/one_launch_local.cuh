// The step for a thin near set, for one_launch.cuh: blocks advance their share on their own.
//
// On road-like graphs a step over the whole device is a chain of dependent reads and a barrier with almost
// nothing to do in between. Here a block takes its share of the near set into shared memory, relaxes it,
// puts what became near into a second list there and goes on with a block barrier only; distances are
// shared with the other blocks through global atomics all the time. After local_rounds rounds what is left
// is spread anew. Blocks that run ahead may relax with distances that others still improve: repeated
// work, which the idle device has room for, never a wrong answer. A list that outgrows local_leave goes back
// at once: an exploding frontier wants the whole device.
//
// The chain of a round is as short as we could make it: an entry brings its row bounds along, so its edges
// are read at once, row_lanes lanes per row, together with the check that it is not stale; the
// atomic goes out without reading the distance first; and the row bounds of its target are read
// while it is under way.
// requires: algorithms/near_far/one_launch_rows.cuh
#pragma once

struct alignas(16) LocalEntry {
  vertex_t vertex;
  weight_t distance;
  offset_t begin;
  offset_t degree;
};

struct LocalLists {
  LocalEntry* next;
  Entry* far;
  uint32* next_filled;
  uint32* far_filled;
  uint32 room, far_room;
};

// What does not fit the block's lists goes to the global ones.
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
  if (lane_id() < 2 && count)
    base = atomicAdd(lane_id() == 0 ? lists.next_filled : lists.far_filled, count);
  const uint32 below = (1u << lane_id()) - 1;
  const uint32 near_at = __shfl_sync(kAllLanes, base, 0) + __popc(near_takers & below);
  const uint32 far_at = __shfl_sync(kAllLanes, base, 1) + __popc(far_takers & below);
  if (near) {
    if (near_at < lists.room)
      lists.next[near_at] = entry;
    else
      spill(out.near, entry.vertex, entry.distance);
  }
  if (far) {
    if (far_at < lists.far_room)
      store_entry(lists.far + far_at, entry.vertex, entry.distance);
    else
      spill(out.far, entry.vertex, entry.distance);
  }
}

// The block writes `size` entries to a sink. Every thread calls it; barriers stand before and after.
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

// One round over `count` entries; the lists receive what improves.
__device__ __forceinline__ uint32 relax_local(const Solve& solve, const Targets& out,
                                              const LocalLists& lists, const LocalEntry* now,
                                              uint32 count) {
  const int width = static_cast<int>(solve.row_lanes);
  const uint32 rows = 32 / width, warps = blockDim.x >> 5;
  const int leader = lane_id() & ~(width - 1);
  uint32 edges = 0;
  for (uint32 base = (threadIdx.x >> 5) * rows; base < count; base += warps * rows) {
    const uint32 slot = base + lane_id() / width;
    LocalEntry entry{};
    if (slot < count) entry = now[slot];
    if (__any_sync(kAllLanes, entry.degree > kHeavy)) {
      const bool fresh = solve.distance.at(entry.vertex) == entry.distance;
      const bool leads = lane_id() == leader && fresh;
      const offset_t left =
          set_heavy_aside(solve, out, entry.begin, leads ? entry.degree : 0, entry.distance);
      entry.degree = __shfl_sync(kAllLanes, left, leader);
    }
    offset_t j = lane_id() - leader;
    bool fresh = j < entry.degree;
    for (bool first = true; __any_sync(kAllLanes, fresh && j < entry.degree);
         j += width, first = false) {
      bool valid = fresh && j < entry.degree;
      bool improved = false;
      LocalEntry found{};
      if (valid) {
        const Edge edge = load_edge(solve.edges, entry.begin + j);
        if (first) {
          fresh = solve.distance.at(entry.vertex) == entry.distance;
          valid = fresh;
        }
        found.vertex = edge.target;
        found.distance = add_saturating(entry.distance, edge_weight(edge));
      }
      if (valid) {
        found.begin = load_early(solve.offsets + found.vertex);
        const offset_t end = load_early(solve.offsets + found.vertex + 1);
        if (Distances::fits(found.distance))
          improved = found.distance < solve.distance.lower(found.vertex, found.distance);
        else
          solve.control->status = kTooNarrow;
        found.degree = end - found.begin;
      }
      edges += valid;
      const bool is_near = found.distance < out.threshold;
      push_local(out, lists, improved && is_near, improved && !is_near, found);
    }
  }
  return edges;
}

__device__ __noinline__ void local_step(const Solve& given, const Targets& targets,
                                        const Entry* queue, count_t size, Entry* shared,
                                        uint64* edges_seen) {
  __shared__ uint32 filled[3];
  __shared__ uint32 far_filled;
  __shared__ count_t flush_base;
  const Solve solve = given;  // copies, so that nothing is read again in the chain of a round
  const Targets out = targets;
  const uint32 room = static_cast<uint32>(solve.local_capacity);
  LocalEntry* const list = reinterpret_cast<LocalEntry*>(shared);
  Entry* const far = reinterpret_cast<Entry*>(list + 2 * room);
  const count_t share = (size + gridDim.x - 1) / gridDim.x;
  const count_t start = share * blockIdx.x;
  const uint32 mine = start >= size          ? 0u
                      : size - start < share ? static_cast<uint32>(size - start)
                                             : static_cast<uint32>(share);
  if (mine == 0) return;  // the same for the whole block
  for (uint32 i = threadIdx.x; i < mine; i += blockDim.x) {
    const Entry entry = load_entry(queue + start + i);
    LocalEntry local;
    local.vertex = entry.vertex;
    local.distance = entry.distance;
    local.begin = __ldg(solve.offsets + entry.vertex);
    local.degree = __ldg(solve.offsets + entry.vertex + 1) - local.begin;
    list[i] = local;
  }
  if (threadIdx.x == 0) {
    filled[0] = mine;
    filled[1] = filled[2] = 0;
    far_filled = 0;
  }
  __syncthreads();
  uint32 count = mine;
  uint32 edges = 0;
  uint32 round = 0;
  for (; round < solve.local_rounds && count && (round == 0 || count <= solve.local_leave);
       ++round) {
    const LocalLists lists{list + ((round + 1) & 1) * room, far,  &filled[(round + 1) % 3],
                           &far_filled,                     room, room};
    if (threadIdx.x == 0) filled[(round + 2) % 3] = 0;
    edges += relax_local(solve, out, lists, list + (round & 1) * room, count);
    const bool far_is_full =
        __syncthreads_or(*reinterpret_cast<volatile uint32*>(&far_filled) > room / 2);
    count = *reinterpret_cast<volatile uint32*>(&filled[(round + 1) % 3]);
    count = count < room ? count : room;
    if (far_is_full) {
      const uint32 full = *reinterpret_cast<volatile uint32*>(&far_filled);
      flush_block(far, full < room ? full : room, out.far, &flush_base);
      __syncthreads();
      if (threadIdx.x == 0) far_filled = 0;
      __syncthreads();
    }
  }
  flush_block(list + (round & 1) * room, count, out.near, &flush_base);
  __syncthreads();
  const uint32 left = far_filled;
  flush_block(far, left < room ? left : room, out.far, &flush_base);
  __syncthreads();
  *edges_seen += edges;
}
