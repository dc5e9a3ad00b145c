// The step for a thin near set, for one_launch.cuh: blocks advance their share on their own.
//
// On road-like graphs a step over the whole device is a chain of dependent reads and a barrier with almost
// nothing to do in between. Here a block takes its share of the near set into shared memory, relaxes it,
// puts what became near into a second list there and goes on with a block barrier only; distances are
// shared with the other blocks through global atomics all the time. After local_rounds rounds what is left
// is spread anew. Blocks that run ahead may relax with distances that others still improve: repeated
// work, which the idle device has room for, never a wrong answer.
// The atomic goes out without reading the distance first: in a chain of dependent reads that read costs
// more than the atomics it saves.
// requires: algorithms/near_far/one_launch_rows.cuh
#pragma once

// A list in shared memory with a global sink for what does not fit.
struct LocalList {
  Entry* slots;
  uint32* filled;
  uint32 capacity;

  __device__ __forceinline__ void push(const Sink& sink, bool take, vertex_t v, weight_t d) const {
    const uint32 takers = __ballot_sync(kAllLanes, take);
    if (takers == 0) return;
    uint32 base = 0;
    if (lane_id() == 0) base = atomicAdd(filled, static_cast<uint32>(__popc(takers)));
    base = __shfl_sync(kAllLanes, base, 0) + __popc(takers & ((1u << lane_id()) - 1));
    if (!take) return;
    if (base < capacity) {
      store_entry(slots + base, v, d);
    } else {
      const count_t at = atomicAdd(sink.counter, count_t(1));
      if (at < sink.capacity) store_entry(sink.queue + at, v, d);
      if (sink.least) atomic_minimum(sink.least, d);
    }
  }

  // The whole block writes the list to its sink; a barrier must stand before and after.
  __device__ __forceinline__ void flush_block(const Sink& sink, uint32 size, count_t* base) const {
    size = size < capacity ? size : capacity;
    if (size == 0) return;
    if (threadIdx.x == 0) *base = atomicAdd(sink.counter, static_cast<count_t>(size));
    __syncthreads();
    weight_t least = unreached();
    for (uint32 i = threadIdx.x; i < size; i += blockDim.x) {
      const Entry entry = slots[i];
      least = entry.distance < least ? entry.distance : least;
      if (*base + i < sink.capacity) sink.queue[*base + i] = entry;
    }
    if (sink.least) {
      least = warp_min(least);
      if (lane_id() == 0 && least < load_relaxed(sink.least)) atomic_minimum(sink.least, least);
    }
  }
};

__device__ __forceinline__ void relax_local_rows(const Solve& solve, const Targets& out,
                                                 const LocalList& near, const LocalList& far,
                                                 offset_t begin, int size, weight_t d) {
  const int upto = warp_inclusive_sum(size);
  const int total = __shfl_sync(kAllLanes, upto, 31);
  const int before = upto - size;
  const offset_t shift = begin - before;
  for (int first = 0; first < total; first += 32) {
    const int t = first + lane_id();
    const int owner = owner_of(t, before);
    const offset_t at = __shfl_sync(kAllLanes, shift, owner) + t;
    const weight_t from = __shfl_sync(kAllLanes, d, owner);
    bool improved = false;
    vertex_t v = 0;
    weight_t sum = unreached();
    if (t < total) {
      const Edge edge = load_edge(solve.edges, at);
      v = edge.target;
      sum = add_saturating(from, edge_weight(edge));
      improved = sum < atomic_minimum(solve.distance + v, sum);
    }
    near.push(out.near, improved && sum < out.threshold, v, sum);
    far.push(out.far, improved && !(sum < out.threshold), v, sum);
  }
}

__device__ __noinline__ void local_step(const Solve& given, const Targets& targets,
                                        const Entry* queue, count_t size, Entry* shared,
                                        uint64* edges_seen) {
  const Solve solve = given;  // copies, so that nothing is read again in the chain of a round
  const Targets out = targets;
  __shared__ uint32 filled[3];
  __shared__ uint32 far_filled;
  __shared__ count_t flush_base;
  const uint32 room = static_cast<uint32>(solve.local_capacity);
  const LocalList far{shared + 2 * room, &far_filled, room};
  const uint32 warps = blockDim.x >> 5, warp = threadIdx.x >> 5;
  const count_t share = (size + gridDim.x - 1) / gridDim.x;
  const count_t begin_share = share * blockIdx.x;
  const uint32 mine =
      begin_share < size
          ? static_cast<uint32>(size - begin_share < share ? size - begin_share : share)
          : 0u;
  if (mine == 0) return;  // the same for the whole block
  for (uint32 i = threadIdx.x; i < mine; i += blockDim.x) {
    const Entry entry = load_entry(queue + begin_share + i);
    shared[i] = entry;
  }
  if (threadIdx.x == 0) {
    filled[0] = mine;
    filled[1] = filled[2] = 0;
    far_filled = 0;
  }
  __syncthreads();
  uint32 count = mine;
  long long round = 0;
  for (; round < solve.local_rounds && count; ++round) {
    const Entry* now = shared + (round & 1) * room;
    const LocalList near{shared + ((round + 1) & 1) * room, &filled[(round + 1) % 3], room};
    if (threadIdx.x == 0) filled[(round + 2) % 3] = 0;
    const uint32 even = (count + warps - 1) / warps;
    const uint32 group = even > 32 ? 32 : even;
    for (uint32 base = warp * group; base < count; base += warps * group) {
      const uint32 i = base + lane_id();
      offset_t begin = 0, degree = 0;
      weight_t d = weight_t(0);
      if (i < count && lane_id() < group) {
        const Entry entry = now[i];
        const weight_t seen = load_relaxed(solve.distance + entry.vertex);
        begin = __ldg(solve.offsets + entry.vertex);
        const offset_t end = __ldg(solve.offsets + entry.vertex + 1);
        d = entry.distance;
        degree = seen == d ? end - begin : 0;
      }
      *edges_seen += static_cast<uint64>(degree);
      degree = set_heavy_aside(solve, out, begin, degree, d);
      if (__any_sync(kAllLanes, degree > 0))
        relax_local_rows(solve, out, near, far, begin, static_cast<int>(degree), d);
    }
    const bool far_is_full =
        __syncthreads_or(*reinterpret_cast<volatile uint32*>(&far_filled) > room / 2);
    count = *reinterpret_cast<volatile uint32*>(&filled[(round + 1) % 3]);
    count = count < room ? count : room;
    if (far_is_full) {
      far.flush_block(out.far, *reinterpret_cast<volatile uint32*>(&far_filled), &flush_base);
      __syncthreads();
      if (threadIdx.x == 0) far_filled = 0;
      __syncthreads();
    }
  }
  const LocalList left{shared + (round & 1) * room, &filled[round % 3], room};
  left.flush_block(out.near, count, &flush_base);
  __syncthreads();
  far.flush_block(out.far, far_filled, &flush_base);
  __syncthreads();
}
