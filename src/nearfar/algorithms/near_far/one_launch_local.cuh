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
// How short the chain of a round is depends on what an entry brings along: the bounds of its row
// (one_launch_bounds.cuh; the edge and then the atomic are waited for) or the row (one_launch_heads.cuh; the
// atomic alone).
// requires: algorithms/near_far/one_launch_bounds.cuh
// requires: algorithms/near_far/one_launch_heads.cuh
#pragma once

__device__ __noinline__ void local_step(const Solve& given, const Targets& targets,
                                        const Entry* queue, count_t size, Entry* shared,
                                        uint64* edges_seen) {
  __shared__ uint32 filled[3];
  __shared__ uint32 far_filled;
  __shared__ count_t flush_base;
#if ROW_HEAD
  const Solve& solve = given;
  const Targets& out = targets;
#else
  const Solve solve = given;  // copies, so that nothing is read again in the chain of a round
  const Targets out = targets;
#endif
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
    list[i] = open_entry(solve, load_entry(queue + start + i));
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
