// Distances from many sources to all labels that are in no bottom cell: products of matrices with (min, +).
//
// The labels are cut into pieces (pieces.cpp). A path to a member of a piece comes in over the boundary, whose distances
// levels above have found, or over an ancestor of the source in the piece, to which the climb (climb.cuh) has the
// distance. With the distances from both to all members at hand (closures.cuh) there is no chain from label to label
// within a piece, and a separator of the graph with all of its arcs is one product.
//
// One cooperative launch, with a barrier over the grid between levels of pieces. A job is kHigh members of a piece and the
// sources of a block: what the members look at is copied to shared memory STAGES steps of kDeep rows ahead.
//
// Few sources fill few blocks: with SHARES > 1 so many warps take the steps of one job in turns, each with memory of its
// own and no barrier, and join what they found at the end.
//
// Macros: COLUMNS sources side by side, of 16 bytes together, GROUPS of them per thread, ACROSS threads side by side; EACH
// labels per thread, DOWN threads one below the other; SHARES, with more than 1 ACROSS * DOWN is 32; STAGES.
// Arrays: pieces; tiles[..] {piece, first member} by level; level_first[..]; the levels from `level` to `levels`; member {label, low, depth, row
// of `rows`} and boundary_row, rows of `rows`; matrices; space[height][pitch], the climbs; sources[pitch], labels or -1;
// rows[..][pitch]. pitch is a multiple of the sources of a block. arrivals: 0.
// Dynamic shared memory: SHARES * STAGES * kStage units of 16 bytes, then the sources of a block.
// Launch: ACROSS * DOWN * SHARES threads, as many blocks as are resident at most. Races: none; a level is written before
// the barrier and read behind it, and never read before.
// requires: prepared/pieces.cuh
// requires: prepared/columns.cuh
// requires: cuda/copy_async.cuh
// requires: cuda/grid_barrier.cuh

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
// Whether any thread of the team says so; a barrier for them.
__device__ __forceinline__ bool any_of_team(bool mine) {
  if (SHARES == 1) return __syncthreads_or(mine) != 0;
  return __any_sync(0xffffffffu, mine) != 0;
}

struct Best {
  Columns x[EACH][GROUPS];

  // Over the kDeep rows of a stage.
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

extern "C" __global__ void __launch_bounds__(kThreads)
    upper(const Piece* pieces, const int2* tiles, const int* level_first, int level, int levels, const int4* member,
          const int* boundary_row, const value_t* matrices, const value_t* space, const int* sources,
          value_t* rows, long long pitch, uint32* arrivals) {
  extern __shared__ __align__(16) int4 memory[];
  int4* const stages = memory + (threadIdx.x / kTeam) * STAGES * kStage;
  int* const source = reinterpret_cast<int*>(memory + SHARES * STAGES * kStage);
  const int share = threadIdx.x / kTeam, thread = threadIdx.x % kTeam;
  const int across = thread % ACROSS, down = thread / ACROSS;
  const long long stride = pitch / COLUMNS;
  const int groups = static_cast<int>(stride / kWide);
  for (; level < levels; ++level) {
    const int begin = level_first[level], jobs = (level_first[level + 1] - begin) * groups;
    for (int job = blockIdx.x; job < jobs; job += gridDim.x) {
      const int2 tile = tiles[begin + job / groups];
      const Piece piece = pieces[tile.x];
      const long long column = static_cast<long long>(job % groups) * kWide;
      const int4* const all = reinterpret_cast<const int4*>(rows) + column;
      const Columns* const climbed = reinterpret_cast<const Columns*>(space) + column;
      const value_t* const matrix = matrices + matrix_of(piece) + tile.y;
      auto copy_ways = [&](int4* stage, int row) {
#pragma unroll
        for (int i = thread; i < kWays; i += kTeam) {
          const int k = i / (kHigh / kPerUnit), u = i % (kHigh / kPerUnit);
          copy_async_16(stage + kFrom + i,
                        matrix + static_cast<long long>(row + k) * piece.count + u * kPerUnit);
        }
      };
      const int steps = piece.boundary_count / kDeep;
      auto copy_step = [&](int step, int place) {
        if (step < steps) {
          int4* const stage = stages + place * kStage;
          const int* const row = boundary_row + piece.boundary + step * kDeep;
#pragma unroll
          for (int i = thread; i < kFrom; i += kTeam)
            copy_async_16(stage + i, all + row[i / kWide] * stride + i % kWide);
          copy_ways(stage, step * kDeep);
        }
        copy_async_commit();
      };
      bool hit = false;
      for (int i = threadIdx.x; i < kWide * COLUMNS; i += kThreads) {
        const int s = sources[column * COLUMNS + i];
        source[i] = s;
        hit |= piece.low <= s && s <= piece.high;
      }
      Best best;
#pragma unroll
      for (int t = 0; t < EACH; ++t)
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) best.x[t][g] = all_far();
#pragma unroll
      for (int q = 0; q < STAGES - 1; ++q) copy_step(share + q * SHARES, q);
      hit = __syncthreads_or(hit);
      for (int step = share, place = 0; step < steps; step += SHARES) {
        copy_async_wait_but<STAGES - 2>();
        team_barrier();  // copies have arrived, and the stage before is free
        copy_step(step + (STAGES - 1) * SHARES, place == 0 ? STAGES - 1 : place - 1);
        best.over_stage(stages + place * kStage, across, down);
        place = place == STAGES - 1 ? 0 : place + 1;
      }
      if (hit) {
        // What climbs left is fetched a step ahead, too, but through registers: most of it is "no path".
        constexpr int kMine = kFrom / kTeam;
        Columns coming[kMine];
        bool any = false;
        auto fetch = [&](int x, int4* stage) {
          any = false;
          if (x < piece.count) {
            copy_ways(stage, piece.boundary_count + x);
#pragma unroll
            for (int u = 0; u < kMine; ++u) {
              const int i = u * kTeam + thread;
              const int4 way = member[piece.members + x + i / kWide];  // label, low, depth
              const int* const mine = source + i % kWide * COLUMNS;
              bool above = false;
#pragma unroll
              for (int j = 0; j < COLUMNS; ++j) above |= way.y <= mine[j] && mine[j] <= way.x;
              coming[u] = all_far();
              if (!above) continue;
              any = true;
              const Columns found = get(climbed + way.z * stride + i % kWide);
#pragma unroll
              for (int j = 0; j < COLUMNS; ++j)
                if (way.y <= mine[j] && mine[j] <= way.x) coming[u].x[j] = found.x[j];
            }
          }
          copy_async_commit();
        };
        copy_async_wait();
        team_barrier();  // the last step is done with
        fetch(share * kDeep, stages);
        int place = 0;
        for (int x = share * kDeep; x < piece.count; x += SHARES * kDeep) {
          int4* const stage = stages + place * kStage;
#pragma unroll
          for (int u = 0; u < kMine; ++u) put(reinterpret_cast<Columns*>(stage) + u * kTeam + thread, coming[u]);
          copy_async_wait();
          const bool some = any_of_team(any);
          if (SHARES > 1) __syncwarp();
          place = 1 - place;
          fetch(x + SHARES * kDeep, stages + place * kStage);
          if (some) best.over_stage(stage, across, down);
        }
      }
      __syncthreads();  // stages and sources are free
      if (SHARES > 1) {
        // Each thread joins what all warps have of some entries.
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
          const int row = member[piece.members + tile.y + who / ACROSS * EACH + t].w;
          if (row >= 0)
            put(reinterpret_cast<Columns*>(rows) + row * stride + column + who % ACROSS + g * ACROSS, a);
        }
        __syncthreads();
      } else {
#pragma unroll
        for (int t = 0; t < EACH; ++t) {
          const int row = member[piece.members + tile.y + down * EACH + t].w;
          if (row < 0) continue;
          Columns* const to = reinterpret_cast<Columns*>(rows) + row * stride + column + across;
#pragma unroll
          for (int g = 0; g < GROUPS; ++g) put(to + g * ACROSS, best.x[t][g]);
        }
      }
    }
    if (level + 1 < levels) grid_barrier(arrivals);
  }
}
