// Distances from few sources to all labels that are in no bottom cell: climbs and products in one
// launch.
//
// The work of climb.cuh and upper.cuh for few sources. Few sources fill few blocks, and dependent
// steps take the time: a level of pieces waits for the one above, so a level must be short. A block
// has one or two jobs of a level, kUnit members of a piece for 32 * COLUMNS sources each. While the
// grid meets at the barrier between two levels, it reads all inputs of its next job that do not
// depend on the level above: the piece, the rows to read, the weights, and the results of climbs.
// After the barrier it reads only the distances to the boundary, all at once.
//
// For each piece on the path of a source, the block that climbed from the source takes the least
// over the ancestors in the piece: a product of one row, for all of these pieces at once and
// without a barrier in between. The top of the tree is a piece without a boundary and needs nothing
// else.
//
// Arrays: of climbs those of climb.cuh; of products those of upper.cuh. lowest[n], of each label
// its lowest ancestor that is in a piece, itself included, as a number of a member, or -1;
// way[members] {lowest ancestor in the next piece up, alike; first part of the piece; ancestors in
// the piece, itself included, and where these begin in rows_up}; rows_up, their rows among the
// members of the piece, descending from the highest. top: whether the first piece is the top.
// arrivals[2]: 0 before and after. Dynamic shared memory: the larger of kOwnBytes and `height`
// values and 16-bit numbers, and of kStages stages.
// Launch: 32 * WARPS threads, cooperative. Races: none; a level is written before the barrier and
// read only after it.
// requires: prepared/cuda/fronts/climbing.cuh
// requires: prepared/cuda/column_order.cuh
// requires: prepared/cuda/pieces.cuh
// requires: prepared/cuda/columns.cuh
// requires: cuda/primitives/split_barrier.cuh
// requires: cuda/primitives/early_launch.cuh

constexpr int kHigh = kUnit, kEach = kHigh / kClimbWarps;  // members of a job, and of a warp
constexpr int kPerUnit = 16 / sizeof(value_t);
constexpr int kStage = STAGE, kStages = STAGES;            // rows of a stage
constexpr int kFrom = kStage * 32, kWays = kStage * kHigh / kPerUnit;
static_assert(sizeof(Columns) == 16 && kEach % kPerUnit == 0, "columns and weights come in units of 16 bytes");
static_assert(kStage % kDeep == 0 && kStage % kClimbWarps == 0, "a stage is some steps of a boundary");
constexpr int kPath = 32;  // pieces that a block takes together
// Rows of a matrix that a thread copies together, and how many of such batches are on their way where the climb had its arcs.
constexpr int kBatch = 4, kBatchBytes = kBatch * kClimbThreads * 16, kMostBatches = 8;
constexpr int kOwnBytes = kClimbBytes > 2 * kBatchBytes ? kClimbBytes : 2 * kBatchBytes;
constexpr int kBatches = kOwnBytes / kBatchBytes < kMostBatches ? kOwnBytes / kBatchBytes : kMostBatches;

struct Products {
  const Part* parts;
  const int* level_first;
  const int4* member;
  const int* boundary_row;
  const value_t* matrices;
  const int* sources;
  value_t* rows;
  long long pitch;
  const int4* way;
  const unsigned short* rows_up;
};

// A block's share of a level: members of a piece and sources.
class Job {
 public:
  __device__ __forceinline__ Job(const Products& given, int4* memory)
      : given_(given), memory_(memory), lane_(threadIdx.x & 31), warp_(threadIdx.x >> 5) {}

  // Reads the inputs that do not depend on the level above, and begins the copies of weights.
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

  // Merges the results of climbs for sources below the piece.
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
        if (below[j] & (row >= 0)) best_[e].x[j] = there[j];  // the other columns are not written yet
    }
  }

  // Adds the boundary, once the level above is finished; writes the distances.
  __device__ __forceinline__ void finish() {
    const int steps = (piece_.boundary_count + kStage - 1) / kStage;
#pragma unroll
    for (int q = 0; q < kStages - 1; ++q) {
      copy_rows(q);
      copy_async_commit();
    }
    for (int step = 0, place = 0; step < steps; ++step) {
      copy_async_wait_but<kStages - 2>();
      __syncthreads();  // copies have arrived, and the previous stage is free
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
  // Reads the weights of this warp's members in a row of kHigh of them.
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

// A piece on the path of a source: position and number of the listed matrix rows of the source's
// ancestors, and the depth of the highest.
struct Step {
  Part part;
  int listed, rows, depth;
  int end;  // units of members up to here
};
struct Path {
  Step step[kPath];
  int count, next;  // pieces; the member that follows above them
  bool over;        // whether there are no more pieces
};

// Finds the pieces from a member up, and always the top; called by one warp. row_of: space for one
// number per level of the tree.
__device__ __forceinline__ void find_path(const Products& given, bool top, int member, Path& path, unsigned short* row_of) {
  const int lane = threadIdx.x & 31;
  int4 way = make_int4(-1, 0, 0, 0);
  int mine = -1, count = 0;
  bool in_top = false;
  for (; count < kPath && member >= 0; ++count) {
    const int4 found = given.way[member];
    if (lane == count) {
      way = found;
      mine = member;
    }
    member = found.x;
    in_top = top && found.y == 0;
  }
  const bool without = top && !in_top && member < 0;  // no ancestor is in the top
  const bool over = member < 0 && (!without || count < kPath);
  if (without && over) ++count;
  int units = 0, listed = way.z;
  if (lane < count) {
    path.step[lane].part = given.parts[way.y];
    path.step[lane].rows = way.z;
    path.step[lane].depth = mine >= 0 ? given.member[mine].z - way.z + 1 : 0;
    units = path.step[lane].part.count / kPerUnit;
  }
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    const int units_before = __shfl_up_sync(0xffffffffu, units, by), listed_before = __shfl_up_sync(0xffffffffu, listed, by);
    if (lane >= by) {
      units += units_before;
      listed += listed_before;
    }
  }
  listed -= way.z;
  if (lane < count) {
    path.step[lane].listed = listed;
    path.step[lane].end = units;
  }
  for (int k = 0; k < count; ++k) {
    const int first = __shfl_sync(0xffffffffu, way.w, k), rows = __shfl_sync(0xffffffffu, way.z, k);
    const int to = __shfl_sync(0xffffffffu, listed, k);
#pragma unroll 4
    for (int i = lane; i < rows; i += 32) row_of[to + i] = given.rows_up[first + i];
  }
  if (lane == 0) {
    path.count = count;
    path.next = member;
    path.over = over;
  }
}

// Computes the least sum over the source's ancestors for all members of the pieces of a path;
// called by all threads. mine: the climb.
__device__ __forceinline__ void over_path(const Products& given, const Path& path, long long column, const value_t* mine,
                                          const unsigned short* row_of, int4* memory) {
  int4* const ring = memory + threadIdx.x;
  const int units = path.step[path.count - 1].end;
  // The top comes first because it has the most rows.
  for (int unit = units - 1 - static_cast<int>(threadIdx.x); unit >= 0; unit -= kClimbThreads) {
    int which = 0;
    while (unit >= path.step[which].end) ++which;
    const Step& step = path.step[which];
    const int in = (unit - (which > 0 ? path.step[which - 1].end : 0)) * kPerUnit, rows = step.rows, width = step.part.count;
    const unsigned short* const row = row_of + step.listed;
    const value_t* const climbed = mine + step.depth;
    const value_t* const matrix =
        given.matrices + matrix_of(step.part) + static_cast<long long>(step.part.boundary_count) * width + in;
    auto copy = [&](int batch) {
      int4* const to = ring + batch % kBatches * (kBatch * kClimbThreads);
#pragma unroll
      for (int j = 0; j < kBatch; ++j)
        if (batch * kBatch + j < rows) copy_async_16(to + j * kClimbThreads, matrix + row[batch * kBatch + j] * width);
      copy_async_commit();
    };
    value_t best[kPerUnit];
#pragma unroll
    for (int j = 0; j < kPerUnit; ++j) best[j] = far_value();
#pragma unroll
    for (int q = 0; q < kBatches - 1; ++q) copy(q);
    for (int batch = 0; batch * kBatch < rows; ++batch) {
      copy(batch + kBatches - 1);
      copy_async_wait_but<kBatches - 1>();
      const int4* const from = ring + batch % kBatches * (kBatch * kClimbThreads);
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        if (batch * kBatch + j >= rows) continue;
        union {
          int4 word;
          value_t way[kPerUnit];
        } some;
        some.word = from[j * kClimbThreads];
        const value_t there = climbed[batch * kBatch + j];
#pragma unroll
        for (int e = 0; e < kPerUnit; ++e) best[e] = add_min(there, some.way[e], best[e]);
      }
    }
#pragma unroll
    for (int j = 0; j < kPerUnit; ++j) {
      const int to = given.member[step.part.members + in + j].w;
      if (to >= 0) given.rows[to * given.pitch + column] = best[j];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kClimbThreads, 3)
    few_sources(const int4* node, const int4* lift, const int* head_depth, const value_t* weight, const int* label,
                const long long* sources, int count, int unit, const int* stop, int* labels, value_t* space,
                long long pitch, const Part* parts, const int* level_first, int levels, int top,
                const int4* member, const int* boundary_row, const value_t* matrices, value_t* rows,
                const int* lowest, const int4* way, const unsigned short* rows_up, int height, uint32* arrivals) {
  extern __shared__ __align__(16) int4 memory[];
  const Products given{parts, level_first, member, boundary_row, matrices, labels, rows, pitch, way, rows_up};
  let_next_begin();
  __shared__ Path path;
  char* const climbs = reinterpret_cast<char*>(memory);
  value_t* const mine = reinterpret_cast<value_t*>(climbs + kOwnBytes);
  unsigned short* const row_of = reinterpret_cast<unsigned short*>(mine + height);
  Climb climb({node, lift, head_depth, weight}, climbs, mine);
  for (int k = blockIdx.x; k < pitch; k += gridDim.x) {
    const long long number = unit > 0 ? source_of_column(k, unit) : k;
    const int from = number < count ? label[sources[number]] : -1;
    if (threadIdx.x == 0) labels[k] = from;
    const int member = from >= 0 ? lowest[from] : -1;
    if (from >= 0) {
      const int until = stop == nullptr ? -1 : stop[from];
      const int deep = climb.run(from, until, [&] { find_path(given, top, member, path, row_of); });
      for (int i = threadIdx.x; i <= deep; i += kClimbThreads) space[static_cast<long long>(i) * pitch + k] = mine[i];
    } else {
      if (threadIdx.x < 32) find_path(given, top, member, path, row_of);
      __syncthreads();
    }
    while (true) {
      if (path.count > 0) over_path(given, path, k, mine, row_of, memory);
      const bool over = path.over;
      const int next = path.next;
      __syncthreads();  // the path is no longer used
      if (over) break;
      if (threadIdx.x < 32) find_path(given, top, next, path, row_of);
      __syncthreads();
    }
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
  // The last block to leave resets the counters.
  if (threadIdx.x == 0 && atomicAdd(arrivals + 1, 1u) == gridDim.x - 1) {
    arrivals[0] = 0;
    arrivals[1] = 0;
  }
}
