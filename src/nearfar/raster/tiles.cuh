// Least costs over a raster: tiles relaxed in shared memory, all of a search in one cooperative launch.
//
// A block loads a tile with a halo of its neighbours' cells and sweeps it in every axis direction until a
// round lowers nothing. Each thread carries one line of a sweep; lines are not synchronised with each other.
// Then it stores the tile and gives each neighbour, as a key, the least distance that it could lower there.
// A phase takes the tiles whose key is within `delta` of the least key; delta adapts to their number.
// Any order ends at the fixed point of d[v] = min(d[u] + w(u, v)), so the bits are those of the CPU's engine
// (raster/tile.hpp), which also defines how a step's cost is rounded: products are never contracted.
//
// Macros: DIMS 2 or 3, SIDE and DEPTH (cells of a tile along the last two axes and the first), HALO, RULE
// (0 mean, 1 enter, 2 slope), STEPS and OFFSETS (of the cells that steps come from; plane, row, column).
// cost: barriers are inf, NaN or the dtype's maximum. distance: the sources set, all else unreached. key: one per
// tile, the least distance that waits for it, or unreached. queue: one entry per tile. state: 4 x (queue size,
// next entry), the barrier, [9] phases, [10] tile visits. least: 4 least keys of
// all waiting tiles, then 4 of those that a phase left waiting.
// Races: a thread may overwrite in shared memory a lesser distance that another line just stored. The next
// round finds it again, because its predecessor is still there, and only a round without a store ends the
// tile. A neighbour's border may be read while it is stored: the neighbour then wakes this tile afterwards.
// Launch: cooperative, 4 * SIDE threads where DIMS is 2, else 256; any grid that is resident.
// requires: cuda/primitives/types.cuh
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/distance.cuh
// requires: cuda/primitives/grid_barrier.cuh

#ifndef DIMS
#define DIMS 2
#define SIDE 32
#define DEPTH 1
#define HALO 1
#define RULE 0
#define STEPS 4
#define OFFSETS {0, -1, 0}, {0, 0, -1}, {0, 0, 1}, {0, 1, 0}
#endif

constexpr int kOffset[STEPS][3] = {OFFSETS};
constexpr int kThin = DIMS == 3 ? 1 : 0;  // halo of the first axis
constexpr int kRow = SIDE + 2 * HALO;
constexpr int kPlane = kRow * kRow;
constexpr int kCells = kPlane * (DEPTH + 2 * kThin);
constexpr int kFirst = kThin * kPlane + HALO * kRow + HALO;

__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ int times(int a, int b) { return a * b; }
__device__ __forceinline__ long long times(long long a, long long b) { return a * b; }

__device__ __forceinline__ void store_relaxed_weight(weight_t* p, weight_t value) {
  *reinterpret_cast<volatile weight_t*>(p) = value;
}

// A function of the slope, linear between equally spaced slopes.
struct Slopes {
  const weight_t* values;
  weight_t low, scale, last;
};

struct Grid {
  long long planes, rows, columns;
  int z, y, x;  // tiles
};

struct Tile {
  volatile weight_t* d;
  const weight_t* c;
  const weight_t* h;
  const weight_t* factor;
  const weight_t* inverse;
  Slopes slopes;
};

__device__ __forceinline__ weight_t slope_factor(const Slopes& s, weight_t slope) {
  weight_t place = times(slope - s.low, s.scale);
  place = place > weight_t(0) ? place : weight_t(0);
  place = place < s.last ? place : s.last;
  const int i = static_cast<int>(place);
  const weight_t part = place - static_cast<weight_t>(i);
  return s.values[i] + times(part, s.values[i + 1] - s.values[i]);
}

// The distance of cell `to` after step k from cell `from`.
__device__ __forceinline__ weight_t after_step(const Tile& t, int from, int to, int k) {
  weight_t w;
#if RULE == 1
  w = times(t.factor[k], t.c[to]);
#else
  w = times(t.factor[k], t.c[from] + t.c[to]);
#endif
#if RULE == 2
  w = times(w, slope_factor(t.slopes, times(t.h[to] - t.h[from], t.inverse[k])));
#endif
  return add_saturating(t.d[from], w);
}

// One sweep along an axis, one line; true if it lowered anything.
template <int Axis, int Sign>
__device__ bool sweep_line(const Tile& t, int lane) {
  constexpr int extent = Axis == 0 ? DEPTH : SIDE;
  constexpr int stride = Axis == 0 ? kPlane : Axis == 1 ? kRow : 1;
  int begin = kFirst;
  if (Axis == 0) begin += lane / SIDE * kRow + lane % SIDE;
  if (Axis == 1) begin += lane / SIDE * kPlane + lane % SIDE;
  if (Axis == 2) begin += lane / SIDE * kPlane + lane % SIDE * kRow;
  if (Sign < 0) begin += (extent - 1) * stride;
  bool lowered = false;
  for (int i = 0; i < extent; ++i) {
    const int to = begin + Sign * i * stride;
    const weight_t before = t.d[to];
    weight_t best = before;
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      if (kOffset[k][Axis] * Sign >= 0) continue;
      const int at = kOffset[k][0] * kPlane + kOffset[k][1] * kRow + kOffset[k][2];
      const weight_t next = after_step(t, to + at, to, k);
      best = next < best ? next : best;
    }
    if (best < before) {
      t.d[to] = best;
      lowered = true;
    }
  }
  return lowered;
}

__device__ void relax_tile(const Tile& t) {
  bool lowered;
  do {
    lowered = false;
#if DIMS == 2
    const int direction = threadIdx.x / SIDE, lane = threadIdx.x % SIDE;
    if (direction == 0) lowered = sweep_line<1, 1>(t, lane);
    if (direction == 1) lowered = sweep_line<1, -1>(t, lane);
    if (direction == 2) lowered = sweep_line<2, 1>(t, lane);
    if (direction == 3) lowered = sweep_line<2, -1>(t, lane);
#else
    for (int lane = threadIdx.x; lane < SIDE * SIDE; lane += blockDim.x) {
      lowered |= sweep_line<0, 1>(t, lane);
      lowered |= sweep_line<0, -1>(t, lane);
    }
    for (int lane = threadIdx.x; lane < SIDE * DEPTH; lane += blockDim.x) {
      lowered |= sweep_line<1, 1>(t, lane);
      lowered |= sweep_line<1, -1>(t, lane);
      lowered |= sweep_line<2, 1>(t, lane);
      lowered |= sweep_line<2, -1>(t, lane);
    }
#endif
  } while (__syncthreads_or(lowered));
}

// Position in the raster of a cell of the tile's array, or -1 outside.
__device__ __forceinline__ long long cell_of(const Grid& g, int tile, int i) {
  const long long z = static_cast<long long>(tile / (g.x * g.y)) * DEPTH + i / kPlane - kThin;
  const long long y = static_cast<long long>(tile / g.x % g.y) * SIDE + i % kPlane / kRow - HALO;
  const long long x = static_cast<long long>(tile % g.x) * SIDE + i % kRow - HALO;
  if (z < 0 || z >= g.planes || y < 0 || y >= g.rows || x < 0 || x >= g.columns) return -1;
  return (z * g.rows + y) * g.columns + x;
}

// The tile, of the 27 around and with this one, to which a cell of its array belongs; 13 is this one.
__device__ __forceinline__ int side_of(int i) {
  const int z = i / kPlane - kThin, y = i % kPlane / kRow - HALO, x = i % kRow - HALO;
  return (z < 0 ? 0 : z < DEPTH ? 9 : 18) + (y < 0 ? 0 : y < SIDE ? 3 : 6) + (x < 0 ? 0 : x < SIDE ? 1 : 2);
}

extern "C" __global__ void relax_tiles(const weight_t* cost, const weight_t* elevation,
                                       const weight_t* factors, const weight_t* inverses,
                                       const weight_t* table, weight_t low, weight_t scale, weight_t last,
                                       weight_t* distance, weight_t* key, int* queue, uint32* state,
                                       weight_t* least, long long planes, long long rows,
                                       long long columns, weight_t limit, weight_t delta) {
  __shared__ weight_t d[kCells], c[kCells];
#if RULE == 2
  __shared__ weight_t h[kCells];
#else
  weight_t* const h = nullptr;
#endif
  __shared__ weight_t factor[STEPS], inverse[STEPS], given[27];
  __shared__ int tile, taken;
  const Grid g = {planes, rows, columns, static_cast<int>((planes + DEPTH - 1) / DEPTH),
                  static_cast<int>((rows + SIDE - 1) / SIDE), static_cast<int>((columns + SIDE - 1) / SIDE)};
  const int tiles = g.z * g.y * g.x;
  const int stride = gridDim.x * blockDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
  const Tile t = {d, c, h, factor, inverse, {table, low, scale, last}};
  uint32* const barrier = state + 8;
  for (int k = threadIdx.x; k < STEPS; k += blockDim.x) {
    factor[k] = factors[k];
    inverse[k] = inverses[k];
  }
  weight_t threshold = delta;  // tiles of the sources have small keys
  uint32 visits = 0;
  for (uint32 phase = 0;; ++phase) {
    uint32* const size = state + 2 * (phase & 3);
    weight_t* const next_least = least + (phase & 3);
    for (int i = me; i < tiles; i += stride) {
      const weight_t waits = load_relaxed(key + i);
      if (waits == unreached() || waits > limit) continue;
      if (waits > threshold) {
        atomic_minimum(next_least, waits);
        atomic_minimum(next_least + 4, waits);
      } else {
        queue[atomicAdd(size, 1u)] = i;
      }
    }
    grid_barrier(barrier);
    const uint32 queued = load_relaxed(size);
    if (me == 0) {  // the slot after next; all have left the phase that used it
      state[2 * ((phase + 2) & 3)] = 0;
      state[2 * ((phase + 2) & 3) + 1] = 0;
      least[(phase + 2) & 3] = unreached();
      least[4 + ((phase + 2) & 3)] = unreached();
    }
    for (;;) {
      if (threadIdx.x == 0) {
        taken = static_cast<int>(atomicAdd(size + 1, 1u));
        if (taken < static_cast<int>(queued)) {
          tile = load_relaxed(queue + taken);
          store_relaxed_weight(key + tile, unreached());
          __threadfence();
        }
      }
      if (threadIdx.x < 27) given[threadIdx.x] = unreached();
      __syncthreads();
      if (taken >= static_cast<int>(queued)) break;
      for (int i = threadIdx.x; i < kCells; i += blockDim.x) {
        const long long cell = cell_of(g, tile, i);
        d[i] = cell < 0 ? unreached() : load_relaxed(distance + cell);
        c[i] = cell < 0 ? unreached() : cost[cell];
#if RULE == 2
        h[i] = cell < 0 ? weight_t(0) : elevation[cell];
#endif
      }
      __syncthreads();
      relax_tile(t);
      for (int i = threadIdx.x; i < kCells; i += blockDim.x) {
        if (side_of(i) != 13) continue;
        const long long cell = cell_of(g, tile, i);
        if (cell < 0 || !(d[i] < load_relaxed(distance + cell))) continue;
        store_relaxed_weight(distance + cell, d[i]);
        for (int k = 0; k < STEPS; ++k) {
          const int to = i - (kOffset[k][0] * kPlane + kOffset[k][1] * kRow + kOffset[k][2]);
          const int side = side_of(to);
          if (side == 13) continue;
          const weight_t next = after_step(t, i, to, k);
          if (next < d[to]) atomic_minimum(given + side, next);
        }
      }
      __threadfence();
      __syncthreads();
      if (threadIdx.x < 27 && given[threadIdx.x] < unreached()) {
        // No key is set for cells outside the raster: the tile exists.
        const int side = threadIdx.x;
        const int other = tile + ((side / 9 - 1) * g.y + side / 3 % 3 - 1) * g.x + side % 3 - 1;
        atomic_minimum(key + other, given[side]);
        atomic_minimum(next_least, given[side]);
      }
      ++visits;
      __syncthreads();
    }
    grid_barrier(barrier);
    const weight_t first = load_relaxed(next_least);
    if (first == unreached() || first > limit) {
      if (me == 0) state[9] = phase + 1;
      break;
    }
    // A wider window helps only where tiles were left waiting while blocks were idle.
    if (queued < gridDim.x && load_relaxed(next_least + 4) != unreached()) delta = add_saturating(delta, delta);
    if (queued > 4 * gridDim.x) delta = delta / 2 > weight_t(0) ? delta / 2 : delta;
    threshold = add_saturating(first, delta);
  }
  if (threadIdx.x == 0) atomicAdd(state + 10, visits);
}
