// The pulling step of the breadth-first search: every unvisited vertex looks for one visited
// predecessor.
//
// A predecessor visited before this level is in the frontier, because otherwise the vertex would
// have been found earlier. So only the bits of earlier levels are read, without a bitmap of the
// frontier. New bits go to the other bitmap, which the next step reads. A warp takes up to 32 words
// of bits and distributes their unvisited vertices among its lanes; a lane reads kAlone edges, and
// leaves longer rows to the warp. What a warp has not found in kPulled edges of a row, or in
// kPulledInAll, is cut into chunks that all warps take after a barrier, as in pushing: hubs without
// a visited neighbour, which may have numbers near each other, are read in vain.
// Races: none in pull_step, where a word is written by the warp that took it. In pull_chunks several
// warps may find the same vertex, and its bit decides. The bits that are read do not change.
//
// requires: algorithms/breadth_first/push.cuh
// requires: cuda/primitives/deal.cuh
#pragma once

// Returns the position of the set bit of that rank, which exists.
__device__ __forceinline__ int set_bit(uint32 word, int rank) {
  int place = 0;
#pragma unroll
  for (int half = 16; half > 0; half >>= 1) {
    const int below = __popc(word & ((1u << half) - 1));
    if (rank >= below) {
      rank -= below;
      word >>= half;
      place += half;
    }
  }
  return place;
}

__device__ __forceinline__ bool is_set(const uint32* words, vertex_t v) {
  return words[v >> 5] & bit_of(v);
}

// Returns true if one of the in-edges begin .. end comes from a visited vertex; reads kInFlight at
// a time.
__device__ __forceinline__ bool any_visited(const Search& s, const uint32* seen, offset_t* at,
                                            offset_t end, offset_t step, uint32* looked) {
  vertex_t from[kInFlight];
  bool hit = false;
#pragma unroll
  for (int u = 0; u < kInFlight; ++u) {
    const offset_t j = *at + u * step;
    from[u] = j < end ? load_edge(s.in_edges, j).target : vertex_t(-1);
  }
#pragma unroll
  for (int u = 0; u < kInFlight; ++u)
    if (from[u] >= 0) {
      hit |= is_set(seen, from[u]);
      ++*looked;
    }
  *at += kInFlight * step;
  return hit;
}

// Returns true if one of the in-edges begin .. end, which the warp shares, comes from a visited
// vertex.
__device__ __forceinline__ bool warp_pulls(const Search& s, const uint32* seen, offset_t begin,
                                           offset_t end, uint32* looked) {
  bool somewhere = false;
  // The lanes' positions differ by less than 32, so lane 0's decides for all.
  for (offset_t j = begin + lane_id(); !somewhere && __shfl_sync(kAllLanes, j, 0) < end;)
    somewhere = __any_sync(kAllLanes, any_visited(s, seen, &j, end, 32, looked));
  return somewhere;
}

__device__ __noinline__ void pull_step(const Search& s, const Found& out, vertex_t* slots,
                                       const uint32* seen, uint32* next, int level,
                                       uint32* chunk_counter, uint64* edges_seen) {
  __shared__ uint32 found_bits[BLOCK_THREADS / 32][32];
  uint32* const found_here = found_bits[threadIdx.x >> 5];
  Stage stage{slots, 0};
  const long long words = (s.n + 31) / 32;
  const long long warps = grid_warps<long long>(), warp = grid_warp<long long>();
  const int share = static_cast<int>(warp_share(words, warps));
  uint32 looked = 0;
  offset_t may_pull = kPulledInAll;
  for (long long base = warp * share; base < words; base += warps * share) {
    const long long w = base + lane_id();
    const bool mine = lane_id() < share && w < words;
    const uint32 word = mine ? seen[w] : ~0u;
    found_here[lane_id()] = 0;
    __syncwarp();
    const int missing = __popc(~word);
    const int upto = warp_inclusive_sum(missing);
    const int total = __shfl_sync(kAllLanes, upto, 31);
    for (int first = 0; first < total; first += 32) {
      const int t = first + lane_id();
      const int owner = lane_of(t < total ? t : 0, upto - missing);
      const uint32 open = ~__shfl_sync(kAllLanes, word, owner);
      const int rank = t - __shfl_sync(kAllLanes, upto - missing, owner);
      vertex_t v = 0;
      int place = 0;
      offset_t at = 0, end = 0;
      if (t < total) {
        place = set_bit(open, rank);
        v = static_cast<vertex_t>((base + owner) * 32 + place);
        at = __ldg(s.in_offsets + v);
        end = __ldg(s.in_offsets + v + 1);
      }
      bool hit = false;
      const offset_t alone = end - at > kAlone ? at + kAlone : end;
      while (!hit && at < alone) hit = any_visited(s, seen, &at, end, 1, &looked);
      __syncwarp();
      uint32 rest = __ballot_sync(kAllLanes, !hit && at < end);
      while (rest) {
        const int lane = __ffs(rest) - 1;
        rest &= rest - 1;
        const offset_t row_end = __shfl_sync(kAllLanes, end, lane);
        const offset_t begin = __shfl_sync(kAllLanes, at, lane);
        const offset_t most = may_pull < kPulled ? may_pull : offset_t(kPulled);
        const offset_t upto = row_end - begin > most + kLong ? begin + most : row_end;
        const bool somewhere = warp_pulls(s, seen, begin, upto, &looked);
        const bool left = !somewhere && upto < row_end && lane_id() == lane;
        set_chunks_aside(s, chunk_counter, upto, left ? row_end - upto : offset_t(0), v);
        if (lane_id() == lane) hit = somewhere;
        may_pull -= upto - begin < may_pull ? upto - begin : may_pull;
      }
      if (hit) {
        s.distance[v] = level;
        atomicOr(found_here + owner, 1u << place);
      }
      push(s, stage, out, hit, v);
    }
    __syncwarp();
    if (mine) next[w] = word | found_here[lane_id()];
    __syncwarp();
  }
  flush(s, stage, out);
  *edges_seen += looked;
}

// Looks for visited predecessors in the chunks that pull_step has left.
__device__ __noinline__ void pull_chunks(const Search& s, const Found& out, vertex_t* slots,
                                         const uint32* seen, uint32* next, int level, uint32 count,
                                         uint64* edges_seen) {
  Stage stage{slots, 0};
  uint32 looked = 0;
  for (uint32 c = grid_warp<uint32>(); c < count; c += grid_warps<uint32>()) {
    const offset_t begin = __ldcg(&s.chunks[c].begin);
    const vertex_t v = __ldcg(&s.chunks[c].vertex);
    uint32* const word = next + (v >> 5);
    if (__any_sync(kAllLanes, load_relaxed(word) & bit_of(v))) continue;
    const bool hit = warp_pulls(s, seen, begin, begin + __ldcg(&s.chunks[c].size), &looked);
    const bool first = hit && lane_id() == 0 && !(atomicOr(word, bit_of(v)) & bit_of(v));
    if (first) s.distance[v] = level;
    push(s, stage, out, first, v);
  }
  flush(s, stage, out);
  *edges_seen += looked;
}
