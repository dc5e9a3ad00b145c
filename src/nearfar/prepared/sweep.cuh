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
// With TO_ROWS, for the bottom pass, the answer is [source][vertex]: distances are gathered in shared memory, and
// those of kFlush vertices are written together, a warp writing neighbouring vertices of one source. Vertices of
// upper passes are written by the cell that owns them (`owned`, the first of its boundary).
//
// Macros: LANES sources per block, COLUMNS of them per thread; LANES / COLUMNS threads. ROW_KIND: the rows of
// `rows` are labels (0), vertices (1), or what `place` says (2). GLOBAL_SLOTS: distances that are looked at are read from `rows`, for the
// top of a tree whose path does not fit shared memory. LAST_USE: nothing reads these distances soon.
// TO_ROWS: see above.
// Arrays: cells of this pass; boundary (labels), stream and chunk of cells.cpp; depth[n] and low[n] of labels;
// place[n], rows of labels (kinds 1 and 2); space[height][pitch], the climbs; sources[pitch], labels or -1;
// rows[n][pitch], values. pitch is a multiple of LANES. With TO_ROWS: ordered, of cells.cpp; out[count][width].
// Dynamic shared memory: two chunks of arcs, then most_slots * LANES values; with TO_ROWS then
// kFlush * (LANES + COLUMNS) values.
// Launch: (cells, pitch / LANES) blocks. Races: none; passes are separate launches, the top of the tree first.
// requires: prepared/values.cuh
// requires: cuda/copy_async.cuh
// requires: prepared/columns.cuh

struct Cell {
  int boundary, boundary_count, chunks, chunk_count, low, high, members, slots, owned,
      ordered;
};

constexpr int kThreads = LANES / COLUMNS;
constexpr int kChunk = 64, kAhead = 2;  // entries of a chunk, and beyond it that are read and not used
constexpr int kFlush = 64, kPitch = kThreads + 1;
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

// Writes what `gathered` holds of vertices `ordered[0]` to `ordered[held - 1]` to the rows of this block's sources.
__device__ __forceinline__ void flush(const Columns* gathered, const int2* ordered, int held, out_t* out,
                                      long long width, int left) {
  sweep_barrier();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int i = lane; i < held; i += 32) {
    const int2 one = ordered[i];
    const Columns* from = gathered + one.x * kPitch;
    out_t* to = out + one.y;
#pragma unroll 4
    for (int c = warp; c < kThreads; c += kThreads / 32) {
      const Columns x = get(from + c);
#pragma unroll
      for (int k = 0; k < COLUMNS; ++k) {
        const int row = c * COLUMNS + k;
        if (row < left) to[row * width] = as_distance<out_t>(x.x[k]);
      }
    }
  }
  sweep_barrier();
}

extern "C" __global__ void __launch_bounds__(LANES / COLUMNS)
    sweep(const Cell* cells, const int* boundary, const int4* stream, const int* chunk,
          const int* depth, const int* low, const int* place, const value_t* space,
          const int* sources, value_t* rows, long long pitch, int most_slots, const int2* ordered, out_t* out,
          long long width, int count) {
  extern __shared__ __align__(16) int4 memory[];
  Columns* slots = reinterpret_cast<Columns*>(memory + 2 * (kChunk + kAhead)) + threadIdx.x;
  const Cell cell = cells[blockIdx.x];
  const long long stride = pitch / COLUMNS;
  const long long column = static_cast<long long>(blockIdx.y) * kThreads + threadIdx.x;
  Columns* const mine = reinterpret_cast<Columns*>(rows) + column;
  const Columns* const climbed = reinterpret_cast<const Columns*>(space) + column;

  int end = chunk[cell.chunks + 1];
  stage_chunk(memory, stream, chunk[cell.chunks], end);
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
    put(slots, a);
#pragma unroll 8
    for (int k = 0; k < cell.boundary_count; ++k) {
      const int label = boundary[cell.boundary + k];
      const long long row = ROW_KIND ? place[label] : label;
      put(slots + (k + 1) * kThreads, get(mine + row * stride));
    }
  }
  Columns* const gathered = slots - threadIdx.x + most_slots * kThreads;
  const int group = blockIdx.y * LANES;
  int held = 0;
  if (TO_ROWS) {
    ordered += cell.ordered;
    out += group * width;
  }
  // One more vertex for the rows.
  auto gather = [&](const Columns& x) {
    put(gathered + held * kPitch + threadIdx.x, x);
    if (++held < kFlush) return;
    flush(gathered, ordered, held, out, width, count - group);
    ordered += held;
    held = 0;
  };
  if (TO_ROWS)
    for (int k = 0; k < cell.owned; ++k) gather(get(slots + (k + 1) * kThreads));
  int begin = chunk[cell.chunks];
  for (int q = 0; q < cell.chunk_count; ++q) {
    const int4* const stage = memory + (q & 1) * (kChunk + kAhead);
    const int length = end - begin;
    copy_async_wait();
    sweep_barrier();
    if (q + 1 < cell.chunk_count) {
      begin = end;
      end = chunk[cell.chunks + q + 2];
      stage_chunk(memory + (1 - (q & 1)) * (kChunk + kAhead), stream, begin, end);
    }
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
          const int from = low[label];
          bool above = false;
#pragma unroll
          for (int i = 0; i < COLUMNS; ++i) above |= from <= source[i] && source[i] <= label;
          if (above) {
            const Columns there = get(climbed + depth[label] * stride);
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i)
              if (from <= source[i] && source[i] <= label && there.x[i] < a.x[i])
                a.x[i] = there.x[i];
          }
        }
      }
      const int row = ROW_KIND == 0 ? label : ROW_KIND == 1 || TO_ROWS ? head.x : place[label];
      head = stage[at];  // beyond the end of the chunk it is not used
#pragma unroll 4
      for (int k = 0; k < arcs; ++k) {
        const int4 way = arc[k];
        if (GLOBAL_SLOTS) {
          a = over(get(mine + (ROW_KIND ? place[way.x] : way.x) * stride), first_weight(way), a);
          if (kPerEntry == 2)
            a = over(get(mine + (ROW_KIND ? place[way.z] : way.z) * stride), second_weight(way), a);
        } else {
          const Columns x = get(slots + way.x * kThreads);
          if (kPerEntry == 2) {
            const Columns y = get(slots + way.z * kThreads);
            a = over(y, second_weight(way), a);
          }
          a = over(x, first_weight(way), a);
        }
      }
      if (meta & kLast) {
        if (!GLOBAL_SLOTS && (meta & kKeep)) put(slots + (meta >> 16) * kThreads, a);
        if (TO_ROWS)
          gather(a);
        else if (LAST_USE)
          put_past(mine + row * stride, a);
        else
          put(mine + row * stride, a);
      }
    }
  }
  if (TO_ROWS && held > 0) flush(gathered, ordered, held, out, width, count - group);
}
