// The step for a thin near set, for one_launch.cuh: blocks advance their shares independently.
//
// On road-like graphs a device-wide step is a chain of dependent reads and a barrier with almost no
// work in between. In this step a block takes its share of the near set into shared memory, relaxes
// it, puts vertices that became near into a second list there and continues after a block barrier;
// distances are shared with the other blocks through global atomics all the time. After
// local_rounds rounds the remaining entries are distributed anew. Blocks that run ahead may relax
// with distances that others still improve; the repeated work costs little on an idle device and is
// never wrong. A list that outgrows local_leave returns at once: a growing frontier needs the whole
// device. So does one of a quarter of that size while there are more blocks than entries, and one
// that met a long row, which the whole device takes next. And once half of the blocks have ended the
// step while another has more rows than its lanes take in two passes, all blocks end it. They
// also do after so many cycles that the solve may fall back to another delta (one_launch.cuh).
//
// The chain of dependent reads of a round is short because an entry carries the bounds of its row
// (one_launch_bounds.cuh; the edge and then the atomic are waited for) or the row
// (one_launch_heads.cuh; only the atomic is waited for).
// requires: algorithms/near_far/one_launch/one_launch_bounds.cuh
// requires: algorithms/near_far/one_launch/one_launch_heads.cuh
#pragma once

// Values that decide whether a block ends its step before its rounds are over. They are in shared memory, since
// one warp reads them and registers are few.
struct EarlyEnd {
  uint32* ended;          // counts blocks that have ended the step
  uint64 began, longest;  // cycles
  uint32 enough;          // such blocks, from which on one with many rows ends it too
};

// Returns the number of rounds.
__device__ __forceinline__ uint32 local_step(const Solve& solve, const Targets& out,
                                             const Entry* queue, count_t size, uint64 longest,
                                             uint32* ended, Entry* shared, uint64* edges_seen) {
  __shared__ Filled filled[3];  // of this round, the next one, and the one after
  __shared__ count_t flush_base;
  __shared__ EarlyEnd early;
  const uint32 room = static_cast<uint32>(solve.local_capacity);
  LocalEntry* const list = reinterpret_cast<LocalEntry*>(shared);
  Entry* const far = reinterpret_cast<Entry*>(list + 2 * room);
  const count_t share = (size + gridDim.x - 1) / gridDim.x;
  const count_t start = share * blockIdx.x;
  const uint32 mine = start >= size          ? 0u
                      : size - start < share ? static_cast<uint32>(size - start)
                                             : static_cast<uint32>(share);
  if (mine == 0) return 0;  // the same for the whole block
  for (uint32 i = threadIdx.x; i < mine; i += blockDim.x) {
    list[i] = open_entry(solve, load_entry(queue + start + i));
  }
  if (threadIdx.x == 0) {
    filled[0] = Filled{0, 0, 0};
    const uint32 busy = static_cast<uint32>((size + share - 1) / share);
    early = EarlyEnd{ended, static_cast<uint64>(clock64()), longest,
                     busy > gridDim.x / 2 ? busy - gridDim.x / 2 : 0};
  }
  __syncthreads();
  // Inputs of a round are in registers; its results are counted in shared memory, and read once after
  // its barrier.
  const Chain chain(solve, out);
  const uint32 rounds = static_cast<uint32>(solve.local_rounds);
  const uint32 leave = static_cast<uint32>(solve.local_leave) / (size < gridDim.x ? 4 : 1);
  LocalEntry* now = list;
  LocalLists lists{list + room, far, &filled[0], room, 0};
  Filled *next_filled = &filled[1], *later_filled = &filled[2];
  uint32 count = mine, most = mine, edges = 0, gone = 0;
  uint32 round = 0;
  for (; round < rounds && count && count <= most; ++round) {
    // The last warp, which has the least to do, looks how many blocks have ended. A branch on one
    // thread would make every warp wait for its lanes behind it; a vote is the same for all lanes.
    if (__any_sync(kAllLanes, threadIdx.x == blockDim.x - 32)) {
      const bool ends = gone >= gridDim.x ||
                        (gone >= early.enough && count > 2 * rows_at_once(chain)) ||
                        static_cast<uint64>(clock64()) - early.began > early.longest;
      if (lane_id() == 0) *next_filled = Filled{0, 0, ends};
      if (lane_id() == 0 && ends) atomicAdd(early.ended, gridDim.x);
      gone = load_relaxed(early.ended);  // awaited in the next round
    }
    edges += relax_local(chain, solve, out, lists, now, count);
    __syncthreads();
    const Filled found = *lists.filled;
    count = found.near < room ? found.near : room;
    most = found.ends ? 0 : leave;
    lists.far_base += found.far;
    LocalEntry* const emptied = now;
    now = lists.next;
    lists.next = emptied;
    Filled* const used = lists.filled;
    lists.filled = next_filled;
    next_filled = later_filled;
    later_filled = used;
    if (lists.far_base > room / 2) {
      flush_block(far, lists.far_base < room ? lists.far_base : room, out.far, &flush_base);
      lists.far_base = 0;
      __syncthreads();
    }
  }
  if (threadIdx.x == 0) atomicAdd(early.ended, 1u);
  flush_block(now, count, out.near, &flush_base);
  __syncthreads();
  flush_block(far, lists.far_base < room ? lists.far_base : room, out.far, &flush_base);
  __syncthreads();
  *edges_seen += edges;
  return round;
}
