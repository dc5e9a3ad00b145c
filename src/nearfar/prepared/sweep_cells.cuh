// A cell of the elimination tree (see cells.cpp), swept by a block for a group of sources.
//
// After Delling, Goldberg, Nowatzyk and Werneck 2011, "PHAST", and Dibbelt, Strasser and Wagner 2016,
// "Customizable contraction hierarchies": the distance of a vertex is the least over its arcs to ancestors in the
// elimination tree, and over what the climb from the source (climb.cuh) left at it. The departure is the cell:
// what its vertices look at lies in shared memory, so that an arc is read once for all sources of the group, a
// distance is written once, and read again only where it belongs to the boundary of a lower cell.
//
// A thread has COLUMNS sources and touches only their columns of the slots, so nothing but the staging of arcs
// needs a barrier. The distance of the vertex before, often the parent, is still in registers.
//
// What becomes of a finished distance is the business of a sink, a struct with
//   int place_of(int vertex, int label)         before the arcs of a vertex are followed: memory that take() needs to
//                                               know where can be under way meanwhile; by all threads
//   void take(int place, const Columns& found)  the distances of that vertex from the sources of this thread; once
//                                               per vertex of the cell
// Labels that are in no cell are not seen by it: their distances are in `rows` (upper.cuh).
//
// Macros: LANES sources per block, COLUMNS of them per thread, STAGES chunks of arcs under way. ROW_KIND: the rows of
// `rows` are labels (0), vertices (1), or what `place` says (2).
// Arrays: cells; boundary (rows of `rows`), stream, chunk and outline of cells.cpp; place[n], rows of labels (kinds 1 and 2);
// space[height][pitch], the climbs; sources[pitch], labels or -1; rows[..][pitch], distances of what lies outside of the
// cells. pitch is a multiple of LANES.
// Dynamic shared memory: STAGES chunks of arcs, then LANES values per slot.
// Launch: LANES / COLUMNS threads, cells * pitch / LANES blocks.
// requires: prepared/values.cuh
// requires: cuda/copy_async.cuh
// requires: prepared/columns.cuh
#pragma once

struct Cell {
  int boundary, boundary_count, first_round, rounds, low, high, members, slots, first_member;
};

constexpr int kThreads = LANES / COLUMNS;
constexpr int kArcs = 4, kSets = 3;                     // arcs of a record, records of a round
constexpr int kHead = sizeof(value_t) == 4 ? 1 : 2;     // entries of a record before its arcs
constexpr int kRecord = kHead + kArcs / kPerEntry;      // entries of a record
constexpr int kRounds = 21 / kRecord;                   // of a chunk
constexpr int kChunk = kRounds * kSets * kRecord;       // entries
constexpr int kFirst = 4, kLast = 8, kKeep = 16, kFlags = 127;  // of a record; the rest says where its slot begins, in bytes

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

// A record, and the distances that its arcs lead from.
struct Record {
  int4 head, more, arc[kArcs / kPerEntry];
  Columns there[kArcs];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int k = 0; k < kArcs; ++k) there[k] = all_far();
  }
  __device__ __forceinline__ void read(const int4* at) {
    head = at[0];
    if (kHead == 2) more = at[1];
#pragma unroll
    for (int k = 0; k < kArcs / kPerEntry; ++k) arc[k] = at[kHead + k];
  }
  __device__ __forceinline__ int slot(int k) const {
    const int4& entry = arc[k / kPerEntry];
    return kPerEntry == 2 && k % 2 == 1 ? entry.z : entry.x;
  }
  __device__ __forceinline__ value_t weight(int k) const {
    const int4& entry = arc[k / kPerEntry];
    return kPerEntry == 2 && k % 2 == 1 ? second_weight(entry) : first_weight(entry);
  }
  __device__ __forceinline__ value_t before() const {
    return kHead == 1 ? from_bits<value_t>(head.w, 0) : from_bits<value_t>(more.x, more.y);
  }
  // No distance of a vertex is in a slot that the next one names: it still has that in registers. What is not there keeps what it
  // had, and has the weight "no path".
  __device__ __forceinline__ void gather(const char* slots) {
#pragma unroll
    for (int k = 0; k < kArcs; k += 2) {
      if (!(head.z & (1 << (k / 2)))) continue;
      there[k] = get(slot_of(slots, slot(k)));
      there[k + 1] = get(slot_of(slots, slot(k + 1)));
    }
  }
  __device__ __forceinline__ static const Columns* slot_of(const char* slots, int slot) {
    return reinterpret_cast<const Columns*>(slots + slot);
  }
  __device__ __forceinline__ Columns best() const {
    Columns a = all_far();
#pragma unroll
    for (int k = 0; k < kArcs; ++k) a = over(there[k], weight(k), a);
    return a;
  }
};

struct Sweep {
  const Cell* cells;
  const int* boundary;
  const int4* stream;
  const int2* outline;
  const int* place;
  const value_t* space;
  const int* sources;
  value_t* rows;
  long long pitch;

  __device__ __forceinline__ unsigned int groups() const {
    return static_cast<unsigned int>(pitch / LANES);
  }
  // Of this thread's sources, in units of COLUMNS. The blocks of a cell lie next to each other.
  __device__ __forceinline__ long long column() const {
    return static_cast<long long>(blockIdx.x % groups()) * kThreads + threadIdx.x;
  }
  __device__ __forceinline__ const Cell& cell() const { return cells[blockIdx.x / groups()]; }
};

// The cell of this block, once its boundary and the first two chunks are there.
template <bool Hit, class Sink>
__device__ __forceinline__ void sweep_records(const Sweep& s, const Cell& cell, const int* source, const int4* coming_chunk, int4* memory,
                                              char* slots, Sink& sink) {
  const long long stride = s.pitch / COLUMNS;
  const Columns* const climbed = reinterpret_cast<const Columns*>(s.space) + s.column();
  const int2* outline = s.outline + cell.first_member;
  int2 coming = make_int2(0, 0);  // of the next vertex
  if (Hit) coming = outline[0];
  int left = cell.members;
  const int4* const end = s.stream + (cell.first_round + cell.rounds) * (kSets * kRecord);
  Record record[kSets];
  const int4* next = memory;
  int4* stage = memory;
#pragma unroll
  for (int k = 0; k < kSets; ++k) {
    record[k].clear();
    record[k].read(next + k * kRecord);
  }
  record[0].gather(slots);
  Columns a = all_far();
  int until = kRounds;  // rounds of the chunk that are left
  for (int rounds = cell.rounds; rounds > 0; --rounds) {
    if (rounds > 1) {  // otherwise the last round is read again, and not used
      next += kSets * kRecord;
      if (--until == 0) {
        until = kRounds;
        copy_async_wait();
        sweep_barrier();  // the next chunk is there, and this one is free
        for (int i = threadIdx.x; i < kChunk && coming_chunk + i < end; i += kThreads) copy_async_16(stage + i, coming_chunk + i);
        coming_chunk += kChunk;
        stage = stage == memory ? memory + kChunk : memory;
        next = stage;
      }
    }
#pragma unroll
    for (int k = 0; k < kSets; ++k) {
      Record& now = record[k];
      const int meta = now.head.z, label = now.head.y;
      record[(k + 1) % kSets].gather(slots);
      const auto where = sink.place_of(now.head.x, label);
      Columns best = now.best();
      if (Hit && (meta & kFirst)) {
        // Only an ancestor of a source, or the source, has something from a climb.
        const int from = coming.x, deep = coming.y;
        ++outline;
        if (--left > 0) coming = *outline;
        bool above = false;
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) above |= from <= source[i] && source[i] <= label;
        if (above) {
          const Columns there = get(climbed + deep * stride);
#pragma unroll
          for (int i = 0; i < COLUMNS; ++i)
            if (from <= source[i] && source[i] <= label && there.x[i] < best.x[i]) best.x[i] = there.x[i];
        }
      }
      a = over(a, now.before(), best);
      if (meta & kKeep) put(const_cast<Columns*>(Record::slot_of(slots, meta & ~kFlags)), a);
      if (meta & kLast) sink.take(where, a);
      now.read(next + k * kRecord);
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
  const int4* const chunks = s.stream + cell.first_round * (kSets * kRecord);
  const int some = min(2 * kChunk, cell.rounds * (kSets * kRecord));
  for (int i = threadIdx.x; i < some; i += kThreads) copy_async_16(memory + i, chunks + i);
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
  sweep_barrier();
  char* const place = reinterpret_cast<char*>(slots);
  if (hit)
    sweep_records<true>(s, cell, source, chunks + 2 * kChunk, memory, place, sink);
  else
    sweep_records<false>(s, cell, source, chunks + 2 * kChunk, memory, place, sink);
}
