// A cell of the elimination tree (see cells.cpp), swept by a block for a group of sources.
//
// After Delling, Goldberg, Nowatzyk and Werneck 2011, "PHAST", and Dibbelt, Strasser and Wagner
// 2016, "Customizable contraction hierarchies": the distance of a vertex is the least over its arcs
// to ancestors in the elimination tree, and over its distance after the climb from the source
// (climb.cuh). The departure is the cell: the distances that its vertices read are in shared
// memory, so that an arc is read once for all sources of the group, and a distance is written once
// and read again only as part of the boundary of a lower cell.
//
// A thread has COLUMNS sources and touches only their columns of the slots, so only the copying of
// records needs a barrier. Shared memory limits the number of warps, so none of them may wait:
// records have one size and are read kSets ahead, the distances that a record names are read during
// the record before, a missing arc has the weight "no path" instead of a branch, and the distance
// of the vertex before, often the parent, is still in registers.
//
// A sink, a struct, receives the finished distances:
//   place_of(int vertex, int label)         before the arcs of a vertex are followed, to start the loads that take() needs;
//                                           by all threads
//   take(place, const Columns& found)       the distances of that vertex from the sources of this thread; once per
//                                           vertex of the cell
// It does not receive labels that are in no cell: their distances are in `rows` (upper.cuh).
//
// Macros: LANES sources per block, COLUMNS of them per thread.
// Arrays: cells; boundary (rows of `rows`), stream and outline of cells.cpp; space[height][pitch],
// the climbs; sources[pitch], labels or -1; rows[..][pitch], distances of labels outside the cells.
// pitch is a multiple of LANES. Dynamic shared memory: two chunks of records, then LANES values per
// slot.
// Launch: LANES / COLUMNS threads, cells * pitch / LANES blocks.
// requires: prepared/cuda/values.cuh
// requires: cuda/primitives/copy_async.cuh
// requires: prepared/cuda/columns.cuh
#pragma once

struct Cell {
  int boundary, boundary_count, first_round, rounds, low, high, members, slots, first_member;
};

constexpr int kThreads = LANES / COLUMNS, kBlocks = 384 / kThreads;  // per multiprocessor: shared memory has room for no more
constexpr int kArcs = 4, kSets = 3;                  // arcs of a record, records of a round; of cells.cpp
constexpr int kRecord = 1 + kArcs / kPerEntry;       // entries
constexpr int kRound = kSets * kRecord;              // entries
constexpr int kRounds = 21 / kRecord;                // of a chunk, which has 63 entries at most
constexpr int kChunk = kRounds * kRound;
// Fields of a record besides its slot.
constexpr int kPair = 1, kFirst = 4, kLast = 8, kKeep = 16, kFlags = 127;

__device__ __forceinline__ void sweep_barrier() {
  if (kThreads == 32)
    __syncwarp();
  else
    __syncthreads();
}

__device__ __forceinline__ void copy_columns(Columns* to, const Columns* from) {
  if (sizeof(Columns) == 16)
    copy_async_16(to, from);
  else
    copy_async_value(reinterpret_cast<word_t*>(to), reinterpret_cast<const word_t*>(from));
}

// The records of a cell, streamed through two chunks of shared memory.
class Records {
 public:
  __device__ __forceinline__ Records(const int4* first, int rounds, int4* memory)
      : coming_(first), end_(first + rounds * kRound), memory_(memory), round_(memory), left_(kRounds) {
    stage(memory);
    stage(memory + kChunk);
  }
  // Returns the current round, after the copies of the first chunk have arrived.
  __device__ __forceinline__ const int4* round() const { return round_; }
  // Advances to the next round, after all of this one has been read.
  __device__ __forceinline__ void step() {
    round_ += kRound;
    if (--left_ > 0) return;
    left_ = kRounds;
    copy_async_wait();
    sweep_barrier();  // the next chunk has arrived, and this one is no longer read
    int4* const here = const_cast<int4*>(round_) - kChunk;
    stage(here);
    round_ = here == memory_ ? memory_ + kChunk : memory_;
  }

 private:
  __device__ __forceinline__ void stage(int4* to) {
#pragma unroll
    for (int i = 0; i < kChunk; i += kThreads) {
      const int mine = i + static_cast<int>(threadIdx.x);
      if (mine < kChunk && coming_ + mine < end_) copy_async_16(to + mine, coming_ + mine);
    }
    coming_ += kChunk;
  }

  const int4* coming_;
  const int4* const end_;
  int4* const memory_;
  const int4* round_;
  int left_;
};

// A record, and the distances at the upper ends of its arcs.
struct Record {
  int4 head, arc[kArcs / kPerEntry];
  Columns there[kArcs];

  __device__ __forceinline__ void begin(const int4* at) {
    read(at);
#pragma unroll
    for (int k = 0; k < kArcs; ++k) there[k] = all_far();
  }
  __device__ __forceinline__ void read(const int4* at) {
    head = at[0];
#pragma unroll
    for (int k = 0; k < kArcs / kPerEntry; ++k) arc[k] = at[1 + k];
  }
  __device__ __forceinline__ int meta() const { return kPerEntry == 2 ? head.z : arc[0].y; }
  // A record names no slot that holds the distance of the vertex before, which is still in registers. A record without arcs
  // keeps the distances of an earlier one, with the weight "no path".
  __device__ __forceinline__ void gather(const char* slots) {
#pragma unroll
    for (int k = 0; k < kArcs; ++k)
      if (meta() & kPair << k / 2) there[k] = get(slot(slots, second(k) ? entry(k).z : entry(k).x));
  }
  __device__ __forceinline__ Columns best() const {
    Columns a = all_far();
#pragma unroll
    for (int k = 0; k < kArcs; ++k)
      a = over(there[k], second(k) ? second_weight(entry(k)) : first_weight(entry(k)), a);
    return a;
  }
  __device__ __forceinline__ value_t before() const {
    return kPerEntry == 2 ? second_weight(head) : first_weight(head);
  }
  __device__ __forceinline__ void keep(char* slots, const Columns& a) const {
    if (meta() & kKeep) put(const_cast<Columns*>(slot(slots, meta() & ~kFlags)), a);
  }

 private:
  __device__ __forceinline__ static bool second(int k) { return kPerEntry == 2 && k % 2 == 1; }
  __device__ __forceinline__ const int4& entry(int k) const { return arc[k / kPerEntry]; }
  __device__ __forceinline__ static const Columns* slot(const char* slots, int at) {
    return reinterpret_cast<const Columns*>(slots + at);
  }
};

struct Sweep {
  const Cell* cells;
  const int* boundary;
  const int4* stream;
  const int2* outline;
  const value_t* space;
  const int* sources;
  value_t* rows;
  long long pitch;

  __device__ __forceinline__ unsigned int groups() const {
    return static_cast<unsigned int>(pitch / LANES);
  }
  // Returns the column of this thread's sources, in units of COLUMNS. The blocks of a cell are
  // adjacent.
  __device__ __forceinline__ long long column() const {
    return static_cast<long long>(blockIdx.x % groups()) * kThreads + threadIdx.x;
  }
  __device__ __forceinline__ const Cell& cell() const { return cells[blockIdx.x / groups()]; }
};

// Results of climbs at the vertices of a cell that contains a source.
class Climbed {
 public:
  __device__ __forceinline__ Climbed(const Sweep& s, const Cell& cell, const int* source)
      : space_(reinterpret_cast<const Columns*>(s.space) + s.column()),
        stride_(s.pitch / COLUMNS),
        outline_(s.outline + cell.first_member),
        left_(cell.members),
        coming_(*outline_),
        source_(source) {}
  // Lowers `a` for the next vertex: climbs reach only the source and its ancestors.
  __device__ __forceinline__ void lower(int label, Columns& a) {
    const int from = coming_.x, deep = coming_.y;
    ++outline_;
    if (--left_ > 0) coming_ = *outline_;
    bool above = false;
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) above |= from <= source_[i] && source_[i] <= label;
    if (!above) return;
    const Columns there = get(space_ + deep * stride_);
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i)
      if (from <= source_[i] && source_[i] <= label && there.x[i] < a.x[i]) a.x[i] = there.x[i];
  }

 private:
  const Columns* const space_;
  const long long stride_;
  const int2* outline_;  // of the next vertex
  int left_;
  int2 coming_;
  const int* const source_;
};

struct NoClimb {
  __device__ __forceinline__ void lower(int, Columns&) {}
};

// Processes the vertices of a cell, after the boundary is in its slots.
template <class Climbs, class Sink>
__device__ __forceinline__ void sweep_records(Records& records, int rounds, char* slots, Climbs& climbs, Sink& sink) {
  Record record[kSets];
#pragma unroll
  for (int k = 0; k < kSets; ++k) record[k].begin(records.round() + k * kRecord);
  record[0].gather(slots);
  Columns a = all_far();  // of the vertex before
  for (; rounds > 0; --rounds) {
    if (rounds > 1) records.step();  // otherwise this round is read again, and not used
#pragma unroll
    for (int k = 0; k < kSets; ++k) {
      Record& now = record[k];
      record[(k + 1) % kSets].gather(slots);
      const auto place = sink.place_of(now.head.x, now.head.y);
      Columns best = now.best();
      if (now.meta() & kFirst) climbs.lower(now.head.y, best);
      a = over(a, now.before(), best);
      now.keep(slots, a);
      if (now.meta() & kLast) sink.take(place, a);
      now.read(records.round() + k * kRecord);
    }
  }
}

template <class Sink>
__device__ __forceinline__ void sweep_cell(const Sweep& s, Sink& sink) {
  extern __shared__ __align__(16) int4 memory[];
  Columns* const slots = reinterpret_cast<Columns*>(memory + 2 * kChunk) + threadIdx.x;
  const Cell cell = s.cell();
  const long long stride = s.pitch / COLUMNS;
  const long long column = s.column();
  const Columns* const mine = reinterpret_cast<const Columns*>(s.rows) + column;
  Records records(s.stream + static_cast<long long>(cell.first_round) * kRound, cell.rounds, memory);
  int source[COLUMNS];
  bool hit = false;
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) {
    source[i] = s.sources[column * COLUMNS + i];
    hit |= cell.low <= source[i] && source[i] <= cell.high;
  }
  put(slots, all_far());
  const int lane = threadIdx.x & 31;
  for (int first = 0; first < cell.boundary_count; first += 32) {
    const int some = min(cell.boundary_count - first, 32);
    const int rows = s.boundary[cell.boundary + first + min(lane, some - 1)];
#pragma unroll 8
    for (int k = 0; k < some; ++k) {
      const long long row = __shfl_sync(0xffffffffu, rows, k);
      copy_columns(slots + (first + k + 1) * kThreads, mine + row * stride);
    }
  }
  hit = kThreads == 32 ? __any_sync(0xffffffffu, hit) : __syncthreads_or(hit);
  copy_async_wait();
  sweep_barrier();  // the boundary and two chunks have arrived
  char* const my_slots = reinterpret_cast<char*>(slots);
  if (hit) {
    Climbed climbs(s, cell, source);
    sweep_records(records, cell.rounds, my_slots, climbs, sink);
  } else {
    NoClimb none;
    sweep_records(records, cell.rounds, my_slots, none, sink);
  }
}
