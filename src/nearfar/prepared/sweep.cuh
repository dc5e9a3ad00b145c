// Distances from many sources to the vertices of one pass of cells (see cells.cpp): a block per cell and group
// of sources.
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
// With PARTS > 1 so many threads share the arcs of a vertex out and join what they found: by shuffles within a
// warp, through shared memory and one barrier per vertex where there are several. That shortens the chain from
// vertex to vertex, which is all that few sources wait for, and fills the device where the slots of a long path to
// the root leave room for few blocks. A distance goes to its slot after the barrier of its own vertex, and is
// looked at after that of the next: the next itself has it in registers.
//
// Macros: LANES sources per block, COLUMNS of them per thread, PARTS; LANES / COLUMNS * PARTS threads. ROW_KIND:
// the rows of `rows` are labels (0), vertices (1), or what `place` says (2). GLOBAL_SLOTS: distances that are
// looked at are read from `rows`, for the top of a tree whose path does not fit shared memory. LAST_USE: nothing
// reads these distances soon. CLIMB_SLOTS: what the climbs left at the depths of the cell lies in shared memory.
// Arrays: cells of this pass; boundary (labels), stream, chunk and outline of cells.cpp;
// place[n], rows of labels (kinds 1 and 2); space[height][pitch], the climbs; sources[pitch], labels or -1;
// rows[n][pitch], values. pitch is a multiple of LANES.
// Dynamic shared memory: STAGES chunks of arcs, then most_slots * LANES values, with several warps and PARTS > 1
// then 2 * LANES values per warp, with CLIMB_SLOTS then the most depths of a cell * LANES values.
// Launch: cells * pitch / LANES blocks, those of a cell next to each other. Races: none; passes are separate
// launches, the top of the tree first.
// requires: prepared/values.cuh
// requires: cuda/copy_async.cuh
// requires: prepared/columns.cuh

struct Cell {
  int boundary, boundary_count, chunks, chunk_count, low, high, members, slots, first_member, depth,
      depths;
};

constexpr int kGroup = LANES / COLUMNS;  // threads that have all sources of the block
constexpr int kThreads = kGroup * PARTS, kWarps = kThreads / 32;
constexpr bool kManyWarps = PARTS > 1 && kWarps > 1;
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

// The least of what the threads of one column have, to all of them.
__device__ __forceinline__ Columns joined(Columns a, Columns* partial) {
  if (PARTS == 1) return a;
#pragma unroll
  for (int by = kGroup; by < 32; by *= 2) {
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const value_t other = __shfl_xor_sync(0xffffffffu, a.x[i], by);
      a.x[i] = other < a.x[i] ? other : a.x[i];
    }
  }
  if (!kManyWarps) {
    __syncwarp();
    return a;
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (lane < kGroup) put(partial + warp * kGroup + lane, a);
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const Columns other = get(partial + w * kGroup + lane % kGroup);
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) a.x[i] = other.x[i] < a.x[i] ? other.x[i] : a.x[i];
  }
  return a;
}

extern "C" __global__ void __launch_bounds__(LANES / COLUMNS * PARTS)
    sweep(const Cell* cells, const int* boundary, const int4* stream, const int* chunk,
          const int2* outline, const int* place, const value_t* space,
          const int* sources, value_t* rows, long long pitch, int most_slots) {
  extern __shared__ __align__(16) int4 memory[];
  const int thread = PARTS == 1 ? threadIdx.x : threadIdx.x % kGroup;
  const int part = PARTS == 1 ? 0 : threadIdx.x / kGroup;
  Columns* slots = reinterpret_cast<Columns*>(memory + STAGES * (kChunk + kAhead)) + thread;
  Columns* partial = slots - thread + most_slots * kGroup;
  Columns* const climbs = partial + (kManyWarps ? 2 * kWarps * kGroup : 0) + thread;
  const unsigned int groups = static_cast<unsigned int>(pitch / LANES);
  const unsigned int group = blockIdx.x % groups;
  const Cell cell = cells[blockIdx.x / groups];
  const long long stride = pitch / COLUMNS;
  const long long column = static_cast<long long>(group) * kGroup + thread;
  Columns* const mine = reinterpret_cast<Columns*>(rows) + column;
  const Columns* const climbed = reinterpret_cast<const Columns*>(space) + column;

  // Chunks on their way: as many groups of copies, the last ones empty.
  const int* const ends = chunk + cell.chunks;
  int staged = ends[0], end_next = ends[1];
#pragma unroll
  for (int q = 0; q < STAGES - 1; ++q) {
    if (q < cell.chunk_count) {
      stage_chunk(memory + q * (kChunk + kAhead), stream, staged, end_next);
      staged = end_next;
      end_next = ends[min(q + 2, cell.chunk_count)];
    }
    copy_async_commit();
  }
  int source[COLUMNS];
  bool hit = false;
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) {
    source[i] = sources[column * COLUMNS + i];
    hit |= cell.low <= source[i] && source[i] <= cell.high;
  }
  hit = kThreads == 32 ? __any_sync(0xffffffffu, hit) : __syncthreads_or(hit);
  Columns a = all_far();
  if (!GLOBAL_SLOTS) {
    if (part == 0) put(slots, a);
#pragma unroll 8
    for (int k = part; k < cell.boundary_count; k += PARTS) {
      const int label = boundary[cell.boundary + k];
      const long long row = ROW_KIND ? place[label] : label;
      put(slots + (k + 1) * kGroup, get(mine + row * stride));
    }
  }
  outline += cell.first_member;
  int2 coming = make_int2(0, 0);  // of the next vertex
  if (hit) {
    coming = outline[0];
    if (CLIMB_SLOTS)
#pragma unroll 4
      for (int k = part; k < cell.depths; k += PARTS)
        put(climbs + k * kGroup, get(climbed + (cell.depth + k) * stride));
  }
  int left = cell.members;
  int begin = ends[0], end = ends[1], stage_number = 0, turn = 0;
  for (int q = 0; q < cell.chunk_count; ++q) {
    const int4* const stage = memory + stage_number * (kChunk + kAhead);
    const int length = end - begin;
    begin = end;
    end = ends[min(q + 2, cell.chunk_count)];
    copy_async_wait_but<STAGES - 2>();
    sweep_barrier();
    if (q + STAGES - 1 < cell.chunk_count) {
      const int free_stage = stage_number == 0 ? STAGES - 1 : stage_number - 1;
      stage_chunk(memory + free_stage * (kChunk + kAhead), stream, staged, end_next);
      staged = end_next;
      end_next = ends[min(q + STAGES + 1, cell.chunk_count)];
    }
    copy_async_commit();
    stage_number = stage_number == STAGES - 1 ? 0 : stage_number + 1;
    int at = 0;
    int4 head = stage[0];
    while (at < length) {
      const int meta = head.z, arcs = meta & 255, label = head.y;
      const int4* arc = stage + at + kHead;
      at += kHead + arcs;
      if (meta & kFirst) {
        a = over(a, before_weight(head, arc), all_far());
        if (hit) {
          // Only an ancestor of a source, or the source, has something from a climb.
          const int from = coming.x, deep = coming.y;
          ++outline;
          if (--left > 0) coming = *outline;
          bool above = false;
#pragma unroll
          for (int i = 0; i < COLUMNS; ++i) above |= from <= source[i] && source[i] <= label;
          if (above) {
            const Columns there = CLIMB_SLOTS ? get(climbs + (deep - cell.depth) * kGroup)
                                              : get(climbed + deep * stride);
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i)
              if (from <= source[i] && source[i] <= label && there.x[i] < a.x[i])
                a.x[i] = there.x[i];
          }
        }
      }
      const int row = ROW_KIND == 0 ? label : ROW_KIND == 1 ? head.x : place[label];
      head = stage[at];  // beyond the end of the chunk it is not used
#pragma unroll 4
      for (int k = part; k < arcs; k += PARTS) {
        const int4 way = arc[k];
        if (GLOBAL_SLOTS) {
          a = over(get(mine + (ROW_KIND ? place[way.x] : way.x) * stride), first_weight(way), a);
          if (kPerEntry == 2)
            a = over(get(mine + (ROW_KIND ? place[way.z] : way.z) * stride), second_weight(way), a);
        } else {
          const Columns x = get(slots + way.x * kGroup);
          if (kPerEntry == 2) {
            const Columns y = get(slots + way.z * kGroup);
            a = over(y, second_weight(way), a);
          }
          a = over(x, first_weight(way), a);
        }
      }
      if (meta & kLast) {
        a = joined(a, partial + turn);
        turn = kWarps * kGroup - turn;
        if (part == 0) {
          if (!GLOBAL_SLOTS && (meta & kKeep)) put(slots + (meta >> 16) * kGroup, a);
          if (LAST_USE)
            put_past(mine + row * stride, a);
          else
            put(mine + row * stride, a);
        }
        if (PARTS > 1 && !kManyWarps) __syncwarp();
      }
    }
  }
}
