// Levels that one block takes by itself, for as long as their frontiers have few edges.
//
// A level over the whole device waits for a barrier and for counters in global memory, and small frontiers come one after
// the other: the first levels of every search, and the last ones of many. Here the counters lie in shared
// memory and a level ends with the block's barrier; the queue, the bits and the way rows are pushed are the
// same. The other blocks wait at the grid's barrier.
//
// requires: algorithms/breadth_first/push.cuh
#pragma once

#ifndef ALONE_EDGES
#define ALONE_EDGES 2048
#endif
constexpr uint64 kAloneEdges = ALONE_EDGES;  // of a frontier
constexpr count_t kAloneVertices = 512;

// Where a search stands between two levels: `size` vertices before queue[end], of distance level - 1, with
// `ahead` edges; `unexplored` edges are those of no vertex before them.
struct Standing {
  long long end;
  count_t size;
  int level;
  uint64 ahead, unexplored;
};

// Levels up to `last`. The block calls it; `most` levels are too many.
__device__ __noinline__ void alone_step(const Search& s, vertex_t* slots, uint32* visited,
                                        Standing now, long long reachable, long long last,
                                        long long most, const Found& to, Alone* after,
                                        uint64* edges_seen) {
  __shared__ Found out;
  __shared__ count_t found;
  __shared__ uint64 ahead;
  __shared__ uint32 long_rows;
  const int first_level = now.level;
  const count_t warps = blockDim.x >> 5, warp = threadIdx.x >> 5;
  while (true) {
    if (threadIdx.x == 0) {
      found = 0;
      ahead = 0;
      long_rows = 0;
      out = Found{s.queue + now.end, &found, &ahead, &long_rows};
    }
    __syncthreads();
    Stage stage{slots, 0};
    push_rows(s, Claim{s, out, stage, visited, now.level}, s.queue + (now.end - now.size), now.size,
              warps, warp, nullptr, edges_seen);
    flush(s, stage, out);
    __syncthreads();
    now.size = found;
    now.ahead = ahead;
    ++now.level;
    const uint32 longer = long_rows;
    __syncthreads();
    const bool stuck = now.level - first_level > most;
    if (now.size == 0 || now.end + now.size >= reachable || now.level > last || stuck ||
        now.ahead > kAloneEdges || now.size > kAloneVertices) {
      if (threadIdx.x == 0) {
        *to.counter = now.size;
        *to.ahead = now.ahead;
        *to.long_rows = longer;
        *after = Alone{now.end, now.level, now.unexplored};
        if (stuck) s.control->status = kStuck;
      }
      return;
    }
    now.unexplored -= now.unexplored < now.ahead ? now.unexplored : now.ahead;
    now.end += now.size;
  }
}
