// The climb from a source through the elimination tree by a thread block: distances to all
// ancestors over upward arcs.
//
// An ancestor is identified by its depth, so the search space is an array in shared memory. The
// path to the root is known before any distance (Dibbelt, Strasser and Wagner 2016, the upper half
// of the elimination tree query): while the first warp climbs some levels of the path, the others
// copy the arcs of the next levels to shared memory, so that no level waits for memory beyond it. A
// lane has one label of such a chunk, and finds it by jumps of powers of two.
//
// Macros: WARPS of a block, at least 2; ROOM, arcs of a chunk that are copied; the arcs of other
// levels are read from global memory.
// requires: prepared/cuda/values.cuh
// requires: cuda/primitives/copy_async.cuh
#pragma once

constexpr int kClimbWarps = WARPS, kClimbThreads = 32 * kClimbWarps;
constexpr int kLevels = 32;   // of a chunk
constexpr int kRoom = ROOM;
constexpr int kClimbBytes = 2 * kRoom * (sizeof(value_t) + sizeof(int));
constexpr int kSome = 2;  // arcs per lane that are read from shared memory a level ahead

// By label: node {first arc, arcs, parent or -1, depth}; lift, the ancestors 2, 4, 8 and kLevels levels up, or -1; arcs
// of the way up.
struct WaysUp {
  const int4* node;
  const int4* lift;
  const int* head_depth;
  const value_t* weight;
};

// State of a lane for its label of a chunk.
struct Level {
  int first, arcs;  // start of its arcs, and their number
  int place;        // start in shared memory; from kRoom on they are not copied
};

class Climb {
 public:
  // memory: kClimbBytes; mine[..]: shared memory for the distances by depth
  __device__ __forceinline__ Climb(const WaysUp& ways, char* memory, value_t* mine)
      : ways_(ways),
        mine_(mine),
        weights_(reinterpret_cast<value_t*>(memory)),
        depths_(reinterpret_cast<int*>(memory + 2 * kRoom * sizeof(value_t))) {}

  // Climbs from a label to the ancestors below depth `until`, and over their arcs beyond. Returns
  // the depth of the label. Called by all threads of the block, which then see the distances and
  // the results of the second warp's meanwhile().
  template <class F>
  __device__ __forceinline__ int run(int from, int until, F meanwhile) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int top = ways_.node[from].w, levels = top - until;
    for (int i = threadIdx.x; i <= top; i += kClimbThreads) mine_[i] = i == top ? value_t(0) : far_value();
    int label = from;
    if (lane & 1) label = ways_.node[label].z;
#pragma unroll
    for (int step = 2; step < kLevels; step *= 2)
      if (lane & step) label = up(label, step == 16 ? 8 : step);
    if (lane & 16) label = up(label, 8);
    int4 node = look(label);
    label = up(label, kLevels);
    Level now = placed(node, 0, levels);
    copy(now, 0, levels, warp, kClimbWarps);
    node = look(label);
    label = up(label, kLevels);
    copy_async_wait();
    __syncthreads();
    for (int base = 0; base < levels; base += kLevels) {
      const int half = base / kLevels % 2;
      const Level next = placed(node, base + kLevels, levels);
      node = look(label);  // of the chunk after that
      label = up(label, kLevels);
      if (warp > 0) {
        copy(next, 1 - half, levels - base - kLevels, warp - 1, kClimbWarps - 1);
        if (base == 0 && warp == 1) meanwhile();
        copy_async_wait();
      } else {
        follow(now, half, top - base, min(kLevels, levels - base));
      }
      now = next;
      __syncthreads();
    }
    if (levels <= 0) {
      if (warp == 1) meanwhile();
      __syncthreads();
    }
    return top;
  }

 private:
  __device__ __forceinline__ int up(int label, int levels) const {
    if (label < 0) return -1;
    const int* const lifted = reinterpret_cast<const int*>(ways_.lift + label);
    return lifted[levels == 2 ? 0 : levels == 4 ? 1 : levels == 8 ? 2 : 3];
  }
  __device__ __forceinline__ int4 look(int label) const {
    return label < 0 ? make_int4(0, 0, -1, -1) : ways_.node[label];
  }
  // Places the arcs of the levels of a chunk one after the other.
  __device__ __forceinline__ Level placed(const int4& node, int base, int levels) const {
    const int lane = threadIdx.x & 31, arcs = base + lane < levels ? node.y : 0;
    int end = arcs;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const int before = __shfl_up_sync(0xffffffffu, end, by);
      if (lane >= by) end += before;
    }
    return {node.x, arcs, end - arcs};
  }
  __device__ __forceinline__ static bool fits(int place, int arcs) { return place + arcs <= kRoom; }

  // Begins the copies of every `apart`-th level from `begin` on.
  __device__ __forceinline__ void copy(const Level& mine, int half, int levels, int begin, int apart) const {
    const int lane = threadIdx.x & 31;
    for (int i = begin; i < min(kLevels, levels); i += apart) {
      const int first = __shfl_sync(0xffffffffu, mine.first, i), arcs = __shfl_sync(0xffffffffu, mine.arcs, i);
      const int place = __shfl_sync(0xffffffffu, mine.place, i);
      if (!fits(place, arcs)) continue;
      for (int j = lane; j < arcs; j += 32) {
        copy_async_value(depths_ + half * kRoom + place + j, ways_.head_depth + first + j);
        copy_async_value(weights_ + half * kRoom + place + j, ways_.weight + first + j);
      }
    }
  }

  struct Arcs {
    int to[kSome];
    value_t weight[kSome];
  };

  // Lowers the heads of the arcs of a chunk, from depth `deep` up; called by one warp.
  __device__ __forceinline__ void follow(const Level& mine, int half, int deep, int levels) const {
    const bool few = mine.arcs <= 32 * kSome && fits(mine.place, mine.arcs);
    if (__all_sync(0xffffffffu, few))
      follow<false>(mine, half, deep, levels);
    else
      follow<true>(mine, half, deep, levels);
  }
  // Many: whether levels may have more arcs than are read ahead, or than fit shared memory.
  template <bool Many>
  __device__ __forceinline__ void follow(const Level& mine, int half, int deep, int levels) const {
    const int lane = threadIdx.x & 31;
    const int* const depths = depths_ + half * kRoom;
    const value_t* const weights = weights_ + half * kRoom;
    auto fetch = [&](int i) {
      const int arcs = __shfl_sync(0xffffffffu, mine.arcs, i), place = __shfl_sync(0xffffffffu, mine.place, i);
      Arcs found;
#pragma unroll
      for (int u = 0; u < kSome; ++u) {
        const int j = 32 * u + lane;
        const bool has = j < arcs && (!Many || fits(place, arcs));
        found.to[u] = has ? depths[place + j] : -1;
        found.weight[u] = has ? weights[place + j] : far_value();
      }
      return found;
    };
    Arcs next = fetch(0);
    for (int i = 0; i < levels; ++i) {
      const Arcs now = next;
      next = fetch((i + 1) % kLevels);
      const value_t d = mine_[deep - i];
      value_t known[kSome];  // all loaded before the first is lowered: heads are distinct
#pragma unroll
      for (int u = 0; u < kSome; ++u) known[u] = now.to[u] >= 0 ? mine_[now.to[u]] : value_t(0);
#pragma unroll
      for (int u = 0; u < kSome; ++u)
        if (now.to[u] >= 0) mine_[now.to[u]] = add_min(d, now.weight[u], known[u]);
      if (Many) {
        const int arcs = __shfl_sync(0xffffffffu, mine.arcs, i), place = __shfl_sync(0xffffffffu, mine.place, i);
        const int first = __shfl_sync(0xffffffffu, mine.first, i);
        const bool here = fits(place, arcs);
        for (int j = (here ? 32 * kSome : 0) + lane; j < arcs; j += 32) {
          const int to = here ? depths[place + j] : ways_.head_depth[first + j];
          const value_t weight = here ? weights[place + j] : ways_.weight[first + j];
          mine_[to] = add_min(d, weight, mine_[to]);
        }
      }
      __syncwarp();
    }
  }

  const WaysUp ways_;
  value_t* const mine_;
  value_t* const weights_;
  int* const depths_;
};
