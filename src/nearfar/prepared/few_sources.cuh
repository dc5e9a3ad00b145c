// Distances from few sources to all labels that are in no bottom cell: climbs and products in one launch.
//
// What climb.cuh and upper.cuh do for many sources. Few of them fill few blocks, and what takes time is one step after the
// other: a level of pieces waits for the one above. So a level is made as short as it can be. A block has one job of a
// level, kUnit members of a piece for 32 * COLUMNS sources, at most of the levels, and while the grid meets at the
// barrier between two of them it reads everything of its next job that does not depend on the level above: the piece, the rows to
// read, the weights, and what climbs have come to. Behind the barrier come the distances to the boundary, all together, and
// nothing else.
//
// For each piece on the way of a source the block that has climbed from there takes the least over the ancestors in it: a
// product of one row, for all of these pieces at once and without a barrier in between. The top of the tree is a piece without
// a boundary, for which that is all.
//
// Arrays: of climbs those of climb.cuh; of products those of upper.cuh. lowest[n], of each label the first piece on its
// way up that is not the top, or -1, and the depth of its lowest ancestor there; path[pieces] {next piece up that is not
// the top, or -1; first part; depth of the highest member; 0}. top: whether the first piece is the top. arrivals[2]: 0
// before and behind.
// Dynamic shared memory: the larger of kClimbBytes and `height` values and 16-bit numbers, and of kStages stages.
// Launch: 32 * WARPS threads, cooperative. Races: none; a level is written before the barrier and read behind it, and never
// read before.
// requires: prepared/climbing.cuh
// requires: prepared/column_order.cuh
// requires: prepared/pieces.cuh
// requires: prepared/columns.cuh
// requires: cuda/split_barrier.cuh

constexpr int kHigh = kUnit, kEach = kHigh / kClimbWarps;  // members of a job, and of a warp
constexpr int kPerUnit = 16 / sizeof(value_t);
constexpr int kStage = STAGE, kStages = STAGES;            // rows of a stage
constexpr int kFrom = kStage * 32, kWays = kStage * kHigh / kPerUnit;
static_assert(sizeof(Columns) == 16 && kEach % kPerUnit == 0, "columns and weights come in units of 16 bytes");
static_assert(kStage % kDeep == 0 && kStage % kClimbWarps == 0, "a stage is some steps of a boundary");
constexpr int kPath = 32;  // pieces that a block takes together

struct Products {
  const Part* parts;
  const int* level_first;
  const int4* member;
  const int* boundary_row;
  const value_t* matrices;
  const int* sources;
  value_t* rows;
  long long pitch;
  const int2* lowest;
  const int4* path;
};

// Members of a piece and sources: what a block does of a level.
class Job {
 public:
  __device__ __forceinline__ Job(const Products& given, int4* memory)
      : given_(given), memory_(memory), lane_(threadIdx.x & 31), warp_(threadIdx.x >> 5) {}

  // Reads what does not depend on the level above, and begins the copies of weights.
  __device__ __forceinline__ void begin(int part, int group) {
    piece_ = given_.parts[part];
    column_ = static_cast<long long>(group) * 32 + lane_;
    matrix_ = given_.matrices + matrix_of(piece_) + piece_.first;
    const int row = kClimbWarps * lane_ + warp_;  // of the boundary: this warp copies each kClimbWarps-th
    from_row_ = row < piece_.boundary_count ? given_.boundary_row[piece_.boundary + row] : 0;
    to_row_ = given_.member[piece_.members + piece_.first + warp_ * kEach + lane_ % kEach].w;
#pragma unroll
    for (int q = 0; q < kStages - 1; ++q) copy_ways(q);
    copy_async_commit();
#pragma unroll
    for (int e = 0; e < kEach; ++e) best_[e] = all_far();
  }

  // Takes what climbs have come to, where a source is below the piece.
  __device__ __forceinline__ void take_climbs() {
    bool below[COLUMNS];
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      const int source = given_.sources[column_ * COLUMNS + j];
      below[j] = piece_.low <= source && source <= piece_.high;
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int row = __shfl_sync(0xffffffffu, to_row_, e);
      const value_t* const there = given_.rows + row * given_.pitch + column_ * COLUMNS;
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j)
        if (below[j] & (row >= 0)) best_[e].x[j] = there[j];  // nobody has written the other columns yet
    }
  }

  // Over the boundary, once the level above is there; writes the distances.
  __device__ __forceinline__ void finish() {
    const int steps = (piece_.boundary_count + kStage - 1) / kStage;
#pragma unroll
    for (int q = 0; q < kStages - 1; ++q) {
      copy_rows(q);
      copy_async_commit();
    }
    for (int step = 0, place = 0; step < steps; ++step) {
      copy_async_wait_but<kStages - 2>();
      __syncthreads();  // copies have arrived, and the stage before is free
      copy_rows(step + kStages - 1);
      copy_ways(step + kStages - 1);
      copy_async_commit();
      const int4* const stage = memory_ + place * (kFrom + kWays);
      const Columns* const from = reinterpret_cast<const Columns*>(stage) + lane_;
      const int rows = min(kStage, piece_.boundary_count - step * kStage);
      for (int k = 0; k < rows; k += kDeep)
#pragma unroll
        for (int i = 0; i < kDeep; ++i) {
          value_t ways[kEach];
          read_ways(stage + kFrom + (k + i) * (kHigh / kPerUnit), ways);
          const Columns there = get(from + (k + i) * 32);
#pragma unroll
          for (int e = 0; e < kEach; ++e) best_[e] = over(there, ways[e], best_[e]);
        }
      place = place == kStages - 1 ? 0 : place + 1;
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int row = __shfl_sync(0xffffffffu, to_row_, e);
      if (row >= 0) put(reinterpret_cast<Columns*>(given_.rows) + row * (given_.pitch / COLUMNS) + column_, best_[e]);
    }
    copy_async_wait();
    __syncthreads();  // the stages are free
  }

 private:
  // The weights of this warp's members in a row of kHigh of them.
  __device__ __forceinline__ void read_ways(const int4* row, value_t* ways) const {
#pragma unroll
    for (int u = 0; u < kEach / kPerUnit; ++u) {
      union {
        int4 word;
        value_t way[kPerUnit];
      } some;
      some.word = row[warp_ * (kEach / kPerUnit) + u];
#pragma unroll
      for (int i = 0; i < kPerUnit; ++i) ways[u * kPerUnit + i] = some.way[i];
    }
  }
  __device__ __forceinline__ int4* stage_of(int step) const { return memory_ + step % kStages * (kFrom + kWays); }

  __device__ __forceinline__ void copy_rows(int step) const {
    int4* const stage = stage_of(step);
#pragma unroll
    for (int q = 0; q < kStage / kClimbWarps; ++q) {
      const int each = step * (kStage / kClimbWarps) + q, row = each * kClimbWarps + warp_;
      int from = __shfl_sync(0xffffffffu, from_row_, each & 31);
      if (row >= piece_.boundary_count) continue;
      if (each >= 32) from = given_.boundary_row[piece_.boundary + row];
      copy_async_16(stage + (q * kClimbWarps + warp_) * 32 + lane_,
                    reinterpret_cast<const Columns*>(given_.rows) + from * (given_.pitch / COLUMNS) + column_);
    }
  }
  __device__ __forceinline__ void copy_ways(int step) const {
    int4* const stage = stage_of(step) + kFrom;
#pragma unroll
    for (int i = threadIdx.x; i < kWays; i += kClimbThreads) {
      const int row = step * kStage + i / (kHigh / kPerUnit), u = i % (kHigh / kPerUnit);
      if (row < piece_.boundary_count)
        copy_async_16(stage + i, matrix_ + static_cast<long long>(row) * piece_.count + u * kPerUnit);
    }
  }

  const Products& given_;
  int4* const memory_;
  const int lane_, warp_;
  Part piece_;
  long long column_;
  const value_t* matrix_;
  int from_row_, to_row_;
  Columns best_[kEach];
};

// From the source of a column, over its ancestors, to the members of the top and of all pieces on its way. until: the
// depth of its lowest ancestor in the top, or -1; mine: its climb; row_of: room for a number per level of the tree.
__device__ __forceinline__ void over_path(const Products& given, bool top, long long column, int from, int until,
                                          const value_t* mine, unsigned short* row_of) {
  __shared__ Part parts[kPath];
  __shared__ int first_depth[kPath], last_depth[kPath], end[kPath];  // units of members, one piece after the other
  __shared__ int next_piece, next_depth;
  const int lane = threadIdx.x & 31;
  if (threadIdx.x == 0) {
    const int2 lowest = from >= 0 ? given.lowest[from] : make_int2(-1, -1);
    next_piece = lowest.x;
    next_depth = lowest.y;
  }
  __syncthreads();
  for (bool more = true; more; top = false) {
    if (threadIdx.x < 32) {
      int piece = next_piece, last = next_depth;
      int4 step = make_int4(-1, 0, 0, 0);  // of the top: its first part, and its depth
      int my_last = until;
      int some = top;
      for (; some < kPath && piece >= 0; ++some) {
        const int4 found = given.path[piece];
        if (lane == some) {
          step = found;
          my_last = last;
        }
        piece = found.x;
        last = found.z - 1;
      }
      int units = 0;
      if (lane < some) {
        const Part part = given.parts[step.y];
        parts[lane] = part;
        first_depth[lane] = step.z;
        last_depth[lane] = my_last;
        units = part.count / kPerUnit;
      }
#pragma unroll
      for (int by = 1; by < 32; by *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, units, by);
        if (lane >= by) units += before;
      }
      end[lane] = units;
      if (lane == 0) {
        next_piece = piece;
        next_depth = last;
      }
    }
    __syncthreads();
    const int all = end[kPath - 1];
    more = next_piece >= 0;
    auto find = [&](int unit, int& in) {  // the piece of a unit, and the unit's first member there
      int which = 0;
      while (unit >= end[which]) ++which;
      in = (unit - (which > 0 ? end[which - 1] : 0)) * kPerUnit;
      return which;
    };
    for (int i = threadIdx.x; i < all * kPerUnit; i += kClimbThreads) {
      int in;
      const int which = find(i / kPerUnit, in);
      in += i % kPerUnit;
      const int4 member = given.member[parts[which].members + in];
      if (member.y <= from && from <= member.x) row_of[member.z] = static_cast<unsigned short>(in);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < all; i += kClimbThreads) {
      int in;
      const int which = find(i, in);
      const Part part = parts[which];
      const long long behind_boundary = static_cast<long long>(part.boundary_count) * part.count;
      const value_t* const matrix = given.matrices + matrix_of(part) + behind_boundary + in;
      const int last = last_depth[which];
      value_t best[kPerUnit];
#pragma unroll
      for (int j = 0; j < kPerUnit; ++j) best[j] = far_value();
#pragma unroll 8
      for (int d = first_depth[which]; d <= last; ++d) {
        union {
          int4 word;
          value_t way[kPerUnit];
        } some;
        some.word = *reinterpret_cast<const int4*>(matrix + row_of[d] * part.count);
#pragma unroll
        for (int j = 0; j < kPerUnit; ++j) best[j] = add_min(mine[d], some.way[j], best[j]);
      }
#pragma unroll
      for (int j = 0; j < kPerUnit; ++j) {
        const int row = given.member[part.members + in + j].w;
        if (row >= 0) given.rows[row * given.pitch + column] = best[j];
      }
    }
    __syncthreads();  // the pieces are done with
  }
}

extern "C" __global__ void __launch_bounds__(kClimbThreads)
    few_sources(const int4* node, const int4* lift, const int* head_depth, const value_t* weight, const int* label,
                const long long* sources, int count, int unit, const int* stop, int* labels, value_t* space,
                long long pitch, const Part* parts, const int* level_first, int levels, int top,
                const int4* member, const int* boundary_row, const value_t* matrices, value_t* rows,
                const int2* lowest, const int4* path, int height, uint32* arrivals) {
  extern __shared__ __align__(16) int4 memory[];
  const Products given{parts, level_first, member, boundary_row, matrices, labels, rows, pitch, lowest, path};
  char* const climbs = reinterpret_cast<char*>(memory);
  value_t* const mine = reinterpret_cast<value_t*>(climbs + kClimbBytes);
  unsigned short* const row_of = reinterpret_cast<unsigned short*>(mine + height);
  Climb climb({node, lift, head_depth, weight}, climbs, mine);
  for (int k = blockIdx.x; k < pitch; k += gridDim.x) {
    const long long number = unit > 0 ? source_of_column(k, unit) : k;
    const int from = number < count ? label[sources[number]] : -1;
    if (threadIdx.x == 0) labels[k] = from;
    int until = -1;
    if (from >= 0) {
      until = stop == nullptr ? -1 : stop[from];
      const int deep = climb.run(from, until);
      for (int i = threadIdx.x; i <= deep; i += kClimbThreads) space[static_cast<long long>(i) * pitch + k] = mine[i];
    }
    over_path(given, top, k, from, until, mine, row_of);
  }
  SplitBarrier barrier(arrivals);
  Job job(given, memory);
  const int groups = static_cast<int>(pitch / (32 * COLUMNS));
  const int first = blockIdx.x;
  auto jobs_of = [&](int level) { return (level_first[level + 1] - level_first[level]) * groups; };
  auto begin = [&](int level, int j) { job.begin(level_first[level] + j / groups, j % groups); };
  for (int level = top; level < levels; ++level) {
    const int jobs = jobs_of(level);
    barrier.arrive();
    if (first < jobs) begin(level, first);
    if (level > top && first < jobs) job.take_climbs();
    barrier.wait();
    if (level == top && first < jobs) job.take_climbs();
    for (int j = first; j < jobs; j += gridDim.x) {
      if (j != first) {
        begin(level, j);
        job.take_climbs();
      }
      job.finish();
    }
  }
  // The last block to leave sets the counters back.
  if (threadIdx.x == 0 && atomicAdd(arrivals + 1, 1u) == gridDim.x - 1) {
    arrivals[0] = 0;
    arrivals[1] = 0;
  }
}
