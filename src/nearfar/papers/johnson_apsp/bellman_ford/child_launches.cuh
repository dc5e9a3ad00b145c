// Bellman-Ford with a child launch per vertex (johnson-cuda, section 5.1: dynamic parallelism).
//
// A round of queue.cuh in which the thread that owns an active vertex launches a grid over the vertex's edges.
// Arrays, races and rounds are those of queue.cuh; stats[3] counts child launches.
// Departures: rounds are launched by the host and not by a parent thread, since a kernel of today's device
// runtime cannot wait for its children (a round ends when all its children have); children use the
// fire-and-forget stream, else those of one block would run one after the other; a round takes several launches
// of at most 2,048 vertices, because the device runtime holds no more pending children (one run with wider
// rounds did not end; the cause is not known); the thread itself walks a vertex of fewer than `least` edges, or
// one whose launch is refused.
// Launch: blocks of 256, any grid; `count` entries of the queue from `first` on. Children: blocks
// of up to 256, one thread per edge for rows up to 16,384.
// requires: algorithms/bellman_ford/queue.cuh
// links: cudadevrt

extern "C" __global__ void __launch_bounds__(256) relax_row(Rounds r, weight_t d, offset_t begin, offset_t end,
                                                            uint32 round) {
  const offset_t stride = static_cast<offset_t>(gridDim.x) * blockDim.x;
  for (offset_t e = begin + static_cast<offset_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < end; e += stride)
    relax_active_edge(r, d, e, round);
}

extern "C" __global__ void __launch_bounds__(256, 4)
    relax_by_children(const offset_t* offsets, const offset_t* once, const offset_t* sinks, const Edge* edges,
                      weight_t* distance, uint32* stamp, vertex_t* queue, uint32* sizes, long long n,
                      weight_t limit, long long source, uint64* stats, uint32 round, uint32 least, uint32 first, uint32 count) {
  const Rounds r{offsets, once, sinks, edges, distance, stamp, queue, sizes, n, limit, source};
  uint64 relaxed = 0, processed = 0, launched = 0;
  if (first == 0 && blockIdx.x == 0 && threadIdx.x == 0) {
    sizes[(round + 2) % 3] = 0;
    stats[1] += 1;
  }
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long q = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; q < count; q += stride) {
    const vertex_t v = queue[(round & 1) * n + first + q];
    const weight_t d = load_relaxed(distance + v);
    const offset_t begin = offsets[v], end = offsets[v + 1], degree = end - begin;
    relaxed += degree;
    ++processed;
    bool done = degree == 0;
    if (!done && degree >= static_cast<offset_t>(least)) {
      const unsigned threads = degree < 256 ? static_cast<unsigned>(degree + 31) / 32 * 32 : 256;
      const unsigned blocks = degree < 16384 ? static_cast<unsigned>(degree + 255) / 256 : 64;
      relax_row<<<blocks, threads, 0, cudaStreamFireAndForget>>>(r, d, begin, end, round);
      done = cudaGetLastError() == cudaSuccess;
      launched += done;
    }
    if (!done)
      for (offset_t e = begin; e < end; ++e) relax_active_edge(r, d, e, round);
  }
  count_work(relaxed, processed, stats);
  launched = warp_sum(launched);
  if (lane_id() == 0 && launched) atomicAdd(&stats[3], launched);
}
