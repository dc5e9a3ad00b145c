// Distances from many sources to all labels that are in no bottom cell: products of matrices with
// (min, +).
//
// The labels are cut into pieces (pieces.cpp). A path enters a piece over the boundary, whose
// distances the levels above have found, or over an ancestor of the source in the piece, whose
// distance the climb (climb.cuh) has found. With the distances from both to all members
// (closures.cuh) there is no chain from label to label within a piece, and a separator with all of
// its arcs is one product.
//
// A job is kHigh members of a piece and a group of sources: rows of the boundary are copied to
// shared memory STAGES steps of kDeep rows ahead. Groups do not depend on each other, so there is
// no barrier between levels of pieces: blocks take jobs level by level and group by group, and a
// job waits until all jobs of its group above are done, which with many groups were taken long
// before. The result does not depend on the assignment of jobs to blocks.
//
// Few sources fill few blocks: with SHARES > 1, SHARES warps take the steps of one job in turns,
// each with its own memory and without a barrier, and merge their results at the end.
//
// Macros: COLUMNS adjacent sources of 16 bytes in all, GROUPS of them per thread, ACROSS adjacent
// threads; EACH labels per thread, DOWN threads below each other; SHARES, where more than 1
// requires ACROSS * DOWN = 32; STAGES.
// Arrays: parts by level; level_first[..]; the levels from `level` to `levels`; member {label, low,
// depth, row of `rows`} and boundary_row, rows of `rows`; matrices; space[height][pitch], the
// climbs; sources[pitch], labels or -1; rows[..][pitch]. pitch is a multiple of the sources of a
// block. progress: jobs taken, blocks that have ended, and parts done of each group; 0 before and
// after. Dynamic shared memory: SHARES * STAGES * kStage units of 16 bytes, then the sources of a
// block and one more number.
// Launch: ACROSS * DOWN * SHARES threads, at most as many blocks as are resident. Races: none; the
// inputs of a job are written before the count of its group is raised, and a block reads them after
// that count.
// requires: prepared/cuda/pieces.cuh
// requires: prepared/cuda/columns.cuh
// requires: cuda/primitives/copy_async.cuh
// requires: cuda/primitives/grid_barrier.cuh

constexpr int kTeam = ACROSS * DOWN, kThreads = kTeam * SHARES;
constexpr int kWide = ACROSS * GROUPS;  // in units of COLUMNS sources
constexpr int kHigh = DOWN * EACH;
constexpr int kPerUnit = 16 / sizeof(value_t);
constexpr int kFrom = kDeep * kWide, kWays = kDeep * kHigh / kPerUnit, kStage = kFrom + kWays;
static_assert(sizeof(Columns) == 16, "columns are copied in units of 16 bytes");
static_assert(kUnit % kHigh == 0 && EACH % kPerUnit == 0, "a job is a part of a piece");
static_assert(SHARES == 1 || (kTeam == 32 && EACH * GROUPS * kTeam <= STAGES * kStage), "a share is a warp");

__device__ __forceinline__ void team_barrier() {
  if (SHARES > 1)
    __syncwarp();
  else
    __syncthreads();
}
// Returns whether `mine` is true in any thread of the team; a barrier for them.
__device__ __forceinline__ bool any_of_team(bool mine) {
  if (SHARES == 1) return __syncthreads_or(mine) != 0;
  return __any_sync(0xffffffffu, mine) != 0;
}

struct Best {
  Columns x[EACH][GROUPS];

  // Adds the kDeep rows of a stage.
  __device__ __forceinline__ void over_stage(const int4* stage, int across, int down) {
    const Columns* const from = reinterpret_cast<const Columns*>(stage) + across;
    const int4* const ways = stage + kFrom + down * (EACH / kPerUnit);
#pragma unroll 8
    for (int k = 0; k < kDeep; ++k) {
      Columns there[GROUPS];
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) there[g] = get(from + k * kWide + g * ACROSS);
#pragma unroll
      for (int u = 0; u < EACH / kPerUnit; ++u) {
        union {
          int4 word;
          value_t way[kPerUnit];
        } some;
        some.word = ways[k * (kHigh / kPerUnit) + u];
#pragma unroll
        for (int i = 0; i < kPerUnit; ++i)
#pragma unroll
          for (int g = 0; g < GROUPS; ++g)
            x[u * kPerUnit + i][g] = over(there[g], some.way[i], x[u * kPerUnit + i][g]);
      }
    }
  }
};

// Jobs by level, then by group of sources.
struct Order {
  const int* level_first;
  int begin, groups, level;

  __device__ __forceinline__ int before() const { return level_first[level] - begin; }  // parts of levels above
  // Returns the part of a job and its group of sources; jobs are requested in ascending order.
  __device__ __forceinline__ int2 find(int job) {
    while (job >= (level_first[level + 1] - begin) * groups) ++level;
    const int first = level_first[level], parts = level_first[level + 1] - first;
    const int left = job - (first - begin) * groups;
    return make_int2(first + left % parts, left / parts);
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, SHARES == 1 ? 8 : 1)
    upper(const Part* parts, const int* level_first, int level, int levels, const int4* member, const int* boundary_row,
          const value_t* matrices, const value_t* space, const int* sources, value_t* rows, long long pitch,
          uint32* progress) {
  extern __shared__ __align__(16) int4 memory[];
  constexpr int kMine = kFrom / kTeam, kSoon = STAGES - 1;
  static_assert(kMine * COLUMNS <= 32, "a bit for each distance that a thread fetches");
  int4* const stages = memory + (threadIdx.x / kTeam) * STAGES * kStage;
  int* const source = reinterpret_cast<int*>(memory + SHARES * STAGES * kStage);
  int& taken = source[kWide * COLUMNS];
  const int share = threadIdx.x / kTeam, thread = threadIdx.x % kTeam;
  const int across = thread % ACROSS, down = thread / ACROSS;
  const long long stride = pitch / COLUMNS;
  const int groups = static_cast<int>(stride / kWide);
  Order order{level_first, level_first[level], groups, level};
  const int jobs = (level_first[levels] - order.begin) * groups;
  uint32* const done = progress + 2;  // parts of each group
  if (threadIdx.x == 0) taken = static_cast<int>(atomicAdd(progress, 1u));
  __syncthreads();
  int job = taken;
  int2 at = order.find(min(job, jobs - 1));
  Part part = parts[at.x];
  while (job < jobs) {
    int coming_job = 0;
    if (threadIdx.x == 0) coming_job = static_cast<int>(atomicAdd(progress, 1u));
    const int group = at.y, before = order.before();
    const long long column = static_cast<long long>(group) * kWide;
    const int4* const all = reinterpret_cast<const int4*>(rows) + column;
    const Columns* const climbed = reinterpret_cast<const Columns*>(space) + column;
    const value_t* const matrix = matrices + static_cast<long long>(part.matrix) * (kUnit * kDeep) + part.first;
    auto copy_ways = [&](int4* stage, int row) {
#pragma unroll
      for (int i = thread; i < kWays; i += kTeam) {
        const int k = i / (kHigh / kPerUnit), u = i % (kHigh / kPerUnit);
        copy_async_16(stage + kFrom + i, matrix + static_cast<long long>(row + k) * part.count + u * kPerUnit);
      }
    };
    const int steps = part.boundary_count / kDeep;
    auto look = [&](int step, int* row) {
      if (step >= steps) return;
#pragma unroll
      for (int u = 0; u < kMine; ++u)
        row[u] = boundary_row[part.boundary + step * kDeep + (u * kTeam + thread) / kWide];
    };
    auto copy_step = [&](int step, int place, const int* row) {
      if (step < steps) {
        int4* const stage = stages + place * kStage;
#pragma unroll
        for (int u = 0; u < kMine; ++u) {
          const int i = u * kTeam + thread;
          copy_async_16(stage + i, all + row[u] * stride + i % kWide);
        }
        copy_ways(stage, step * kDeep);
      }
      copy_async_commit();
    };
    int soon[kSoon][kMine], row[kMine];
#pragma unroll
    for (int q = 0; q < kSoon; ++q) look(share + q * SHARES, soon[q]);
    bool hit = false;
#pragma unroll 1
    for (int i = threadIdx.x; i < kWide * COLUMNS; i += kThreads) {
      const int s = sources[column * COLUMNS + i];
      source[i] = s;
      hit |= part.low <= s && s <= part.high;
    }
    Best best;
#pragma unroll
    for (int t = 0; t < EACH; ++t)
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) best.x[t][g] = all_far();
    // Some block processes each job of the levels above, or waits for a higher one.
    if (threadIdx.x == 0 && before > 0) {
      while (load_acquire(done + group) < static_cast<uint32>(before)) {
      }
    }
    hit = __syncthreads_or(hit);
#pragma unroll
    for (int q = 0; q < kSoon; ++q) copy_step(share + q * SHARES, q, soon[q]);
    look(share + kSoon * SHARES, row);
    for (int step = share, place = 0; step < steps; step += SHARES) {
      copy_async_wait_but<STAGES - 2>();
      team_barrier();  // copies have arrived, and the previous stage is free
      copy_step(step + kSoon * SHARES, place == 0 ? STAGES - 1 : place - 1, row);
      look(step + STAGES * SHARES, row);
      best.over_stage(stages + place * kStage, across, down);
      place = place == STAGES - 1 ? 0 : place + 1;
    }
    if (hit) {
      // Results of climbs are fetched a step ahead, too, but through registers: most of them are "no path".
      Columns coming[kMine];
      uint32 wanted = 0;
      auto fetch = [&](int x, int4* stage) {
        wanted = 0;
        if (x < part.count) {
          copy_ways(stage, part.boundary_count + x);
#pragma unroll
          for (int u = 0; u < kMine; ++u) {
            const int i = u * kTeam + thread;
            const int4 way = member[part.members + x + i / kWide];  // label, low, depth
            const int* const mine = source + i % kWide * COLUMNS;
            uint32 here = 0;
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) here |= static_cast<uint32>(way.y <= mine[j] && mine[j] <= way.x) << j;
            if (here) coming[u] = get(climbed + way.z * stride + i % kWide);
            wanted |= here << (u * COLUMNS);
          }
        }
        copy_async_commit();
      };
      copy_async_wait();
      team_barrier();  // the last step is finished
      fetch(share * kDeep, stages);
      int place = 0;
      for (int x = share * kDeep; x < part.count; x += SHARES * kDeep) {
        int4* const stage = stages + place * kStage;
#pragma unroll
        for (int u = 0; u < kMine; ++u) {
          Columns found;
#pragma unroll
          for (int j = 0; j < COLUMNS; ++j)
            found.x[j] = wanted >> (u * COLUMNS + j) & 1 ? coming[u].x[j] : far_value();
          put(reinterpret_cast<Columns*>(stage) + u * kTeam + thread, found);
        }
        copy_async_wait();
        const bool some = any_of_team(wanted != 0);
        if (SHARES > 1) __syncwarp();
        place = 1 - place;
        fetch(x + SHARES * kDeep, stages + place * kStage);
        if (some) best.over_stage(stage, across, down);
      }
    }
    if (threadIdx.x == 0) taken = coming_job;
    __syncthreads();  // stages and sources are free
    job = taken;
    at = order.find(min(job, jobs - 1));
    const Part next = parts[at.x];
    const int4* const to = member + part.members + part.first;
    Columns* const out = reinterpret_cast<Columns*>(rows) + column;
    if (SHARES > 1) {
      // Each thread merges the results of all warps for some entries.
      constexpr int kEntries = EACH * GROUPS * kTeam;
      Columns* const joined = reinterpret_cast<Columns*>(memory);
#pragma unroll
      for (int t = 0; t < EACH; ++t)
#pragma unroll
        for (int g = 0; g < GROUPS; ++g)
          put(joined + share * STAGES * kStage + (t * GROUPS + g) * kTeam + thread, best.x[t][g]);
      __syncthreads();
      for (int i = threadIdx.x; i < kEntries; i += kThreads) {
        Columns a = get(joined + i);
        for (int w = 1; w < SHARES; ++w) {
          const Columns b = get(joined + w * STAGES * kStage + i);
#pragma unroll
          for (int j = 0; j < COLUMNS; ++j) a.x[j] = b.x[j] < a.x[j] ? b.x[j] : a.x[j];
        }
        const int g = i / kTeam % GROUPS, t = i / kTeam / GROUPS, who = i % kTeam;
        const int place = to[who / ACROSS * EACH + t].w;
        if (place >= 0) put(out + place * stride + who % ACROSS + g * ACROSS, a);
      }
    } else {
#pragma unroll
      for (int t = 0; t < EACH; ++t) {
        const int place = to[down * EACH + t].w;
        if (place < 0) continue;
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) put(out + place * stride + across + g * ACROSS, best.x[t][g]);
      }
    }
    part = next;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(done + group, 1u);
    }
  }
  __syncthreads();  // all know that there is no job left
  // The last block resets all counters.
  if (threadIdx.x == 0) taken = atomicAdd(progress + 1, 1u) == gridDim.x - 1;
  __syncthreads();
  if (taken)
    for (int i = threadIdx.x; i < groups + 2; i += kThreads) progress[i] = 0;
}
