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
  int boundary, boundary_count, chunks, chunk_count, low, high, members, slots, first_member;
};

constexpr int kThreads = LANES / COLUMNS;
constexpr int kChunk = 64, kAhead = 2;  // entries of a chunk, and beyond it that are read and not used
constexpr int kFirst = 1 << 8, kLast = 1 << 9, kKeep = 1 << 10;
constexpr int kHead = sizeof(value_t) == 4 ? 1 : 2;  // entries of a record before its arcs

__device__ __forceinline__ void sweep_barrier() {
  if (kThreads == 32)
    __syncwarp();
  else
    __syncthreads();
}

__device__ __forceinline__ void stage_chunk(int4* to, const int4* stream, int begin, int end) {
  for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += kThreads)
    copy_async_16(to + (i - begin), stream + i);
}

__device__ __forceinline__ void copy_columns(Columns* to, const Columns* from) {
  if (sizeof(Columns) == 16)
    copy_async_16(to, from);
  else
    copy_async_value(reinterpret_cast<word_t*>(to), reinterpret_cast<const word_t*>(from));
}

// A record of a chunk: its head, and the first of its entries with arcs, with the distances that these name.
struct Record {
  static constexpr int kFew = 2;
  int at;
  int4 head, arc[kFew];
  Columns there[kFew][kPerEntry];

  __device__ __forceinline__ int arcs() const { return head.z & 255; }
  __device__ __forceinline__ int behind() const { return at + kHead + arcs(); }
  // The record there, where the chunk is not over.
  __device__ __forceinline__ void read(const int4* stage, int place, int length) {
    at = place;
    if (at >= length) return;
    head = stage[at];
#pragma unroll
    for (int k = 0; k < kFew; ++k) arc[k] = stage[at + kHead + k];  // what is no arc is not used
  }
  // No distance of a vertex is in a slot that the next one names: it still has that in registers.
  __device__ __forceinline__ void gather(const Columns* slots) {
#pragma unroll
    for (int k = 0; k < kFew; ++k) {
      if (k >= arcs()) continue;
      there[k][0] = get(slots + arc[k].x * kThreads);
      if (kPerEntry == 2) there[k][kPerEntry - 1] = get(slots + arc[k].z * kThreads);
    }
  }
  // The least over all arcs.
  __device__ __forceinline__ Columns best(const Columns* slots, const int4* stage, Columns a) const {
#pragma unroll
    for (int k = 0; k < kFew; ++k) {
      if (k >= arcs()) continue;
      if (kPerEntry == 2) a = over(there[k][kPerEntry - 1], second_weight(arc[k]), a);
      a = over(there[k][0], first_weight(arc[k]), a);
    }
    const int4* const entry = stage + at + kHead;
#pragma unroll 4
    for (int k = kFew; k < arcs(); ++k) {
      const int4 way = entry[k];
      const Columns x = get(slots + way.x * kThreads);
      if (kPerEntry == 2) a = over(get(slots + way.z * kThreads), second_weight(way), a);
      a = over(x, first_weight(way), a);
    }
    return a;
  }
};

struct Sweep {
  const Cell* cells;
  const int* boundary;
  const int4* stream;
  const int* chunk;
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

template <class Sink>
__device__ __forceinline__ void sweep_cell(const Sweep& s, Sink& sink) {
  extern __shared__ __align__(16) int4 memory[];
  Columns* const slots = reinterpret_cast<Columns*>(memory + STAGES * (kChunk + kAhead)) + threadIdx.x;
  const Cell cell = s.cell();
  const long long stride = s.pitch / COLUMNS;
  const long long column = s.column();
  const Columns* const mine = reinterpret_cast<const Columns*>(s.rows) + column;
  const Columns* const climbed = reinterpret_cast<const Columns*>(s.space) + column;

  // Chunks on their way: as many groups of copies, the last ones empty.
  const int* const ends = s.chunk + cell.chunks;
  int staged = ends[0], end_next = ends[1];
#pragma unroll
  for (int q = 0; q < STAGES - 1; ++q) {
    if (q < cell.chunk_count) {
      stage_chunk(memory + q * (kChunk + kAhead), s.stream, staged, end_next);
      staged = end_next;
      end_next = ends[min(q + 2, cell.chunk_count)];
    }
    copy_async_commit();
  }
  int source[COLUMNS];
  bool hit = false;
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) {
    source[i] = s.sources[column * COLUMNS + i];
    hit |= cell.low <= source[i] && source[i] <= cell.high;
  }
  hit = kThreads == 32 ? __any_sync(0xffffffffu, hit) : __syncthreads_or(hit);
  Columns a = all_far();
  put(slots, a);
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
  copy_async_commit();
  const int2* outline = s.outline + cell.first_member;
  int2 coming = make_int2(0, 0);  // of the next vertex
  if (hit) coming = outline[0];
  int left = cell.members;
  copy_async_wait();  // of the boundary
  int begin = ends[0], end = ends[1], stage_number = 0;
  for (int q = 0; q < cell.chunk_count; ++q) {
    const int4* const stage = memory + stage_number * (kChunk + kAhead);
    const int length = end - begin;
    begin = end;
    end = ends[min(q + 2, cell.chunk_count)];
    copy_async_wait_but<STAGES - 2>();
    sweep_barrier();
    if (q + STAGES - 1 < cell.chunk_count) {
      const int free_stage = stage_number == 0 ? STAGES - 1 : stage_number - 1;
      stage_chunk(memory + free_stage * (kChunk + kAhead), s.stream, staged, end_next);
      staged = end_next;
      end_next = ends[min(q + STAGES + 1, cell.chunk_count)];
    }
    copy_async_commit();
    stage_number = stage_number == STAGES - 1 ? 0 : stage_number + 1;
    Record now, next;
    now.read(stage, 0, length);
    now.gather(slots);
    next.read(stage, now.behind(), length);
    // The distances that the next record names are on their way while this one is done, and what that begins with
    // comes before.
    auto step = [&](Record& mine, Record& other) {
      const int meta = mine.head.z, label = mine.head.y;
      const bool more = other.at < length;
      if (more) other.gather(slots);
      if (meta & kFirst) {
        a = over(a, before_weight(mine.head, stage + mine.at + kHead), all_far());
        if (hit) {
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
              if (from <= source[i] && source[i] <= label && there.x[i] < a.x[i])
                a.x[i] = there.x[i];
          }
        }
      }
      const int where = sink.place_of(mine.head.x, label);
      a = mine.best(slots, stage, a);
      mine.read(stage, more ? other.behind() : length, length);
      if (meta & kLast) {
        if (meta & kKeep) put(slots + (meta >> 16) * kThreads, a);
        sink.take(where, a);
      }
      return more;
    };
    while (step(now, next) && step(next, now)) {
    }
  }
}
