// Costs of steps over a raster, and positions of the cells of a tile.
//
// Macros: DIMS 2 or 3, SIDE and DEPTH (cells that a tile owns along the last two axes and the
// first), HALO, RULE (0 mean, 1 enter, 2 slope, 3 mean without cut corners), STEPS and OFFSETS (of
// the cells that steps come from; plane, row, column), THREADS (of the largest block), RESIDENT
// (blocks of a multiprocessor that registers are left for).
// requires: cuda/primitives/types.cuh
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/distance.cuh
#pragma once

#ifndef DIMS
#define DIMS 2
#define SIDE 30
#define DEPTH 1
#define THREADS 512
#define RESIDENT 1
#define HALO 1
#define RULE 0
#define STEPS 4
#define OFFSETS {0, -1, 0}, {0, 0, -1}, {0, 0, 1}, {0, 1, 0}
#endif

// Cells from a row of a tile's arrays to the next. Odd in two dimensions, so that neither rows nor
// columns have bank conflicts, with unreached cells between rows.
constexpr int kRow = DIMS == 2 ? 31 + 2 * HALO : SIDE + 2 * HALO;

constexpr int kOffset[STEPS][3] = {OFFSETS};

__device__ constexpr int magnitude(int i) { return i < 0 ? -i : i; }

// The first step of the same length as each: their factors share a register.
struct Alike {
  int of[STEPS];
  __device__ constexpr Alike() : of{} {
    for (int k = 0; k < STEPS; ++k) {
      of[k] = k;
      for (int j = k; j-- > 0;) {
        bool same = true;
        for (int axis = 0; axis < 3; ++axis) same = same && magnitude(kOffset[j][axis]) == magnitude(kOffset[k][axis]);
        if (same) of[k] = j;
      }
    }
  }
};
constexpr Alike kAlike;

__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ int times(int a, int b) { return a * b; }
__device__ __forceinline__ long long times(long long a, long long b) { return a * b; }

constexpr uint32 kAll = 0xffffffffu;  // lanes

// Returns the first of two values if it is less; NaN never is.
__device__ __forceinline__ float lesser(float a, float b) { return fminf(a, b); }
__device__ __forceinline__ double lesser(double a, double b) { return fmin(a, b); }
__device__ __forceinline__ int lesser(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ long long lesser(long long a, long long b) { return a < b ? a : b; }

// Returns the least value of the lanes; values are not negative.
template <class T>
__device__ __forceinline__ T least_of_warp(T value) {
  if (__ballot_sync(kAll, value < unreached()) == 0) return value;
#pragma unroll
  for (int by = 16; by > 0; by >>= 1) value = lesser(__shfl_xor_sync(kAll, value, by), value);
  return value;
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ __forceinline__ int least_of_warp(int value) { return __reduce_min_sync(kAll, value); }
__device__ __forceinline__ float least_of_warp(float value) {
  return __int_as_float(__reduce_min_sync(kAll, __float_as_int(value)));
}
#endif

__device__ __forceinline__ void store_relaxed_weight(weight_t* p, weight_t value) {
  *reinterpret_cast<volatile weight_t*>(p) = value;
}

// A function of the slope, linear between equally spaced slopes.
struct Slopes {
  const weight_t* values;
  weight_t low, scale, last;
};

struct Factors {
  weight_t length[STEPS];
#if RULE == 2
  weight_t inverse[STEPS];
#endif
  Slopes slopes;
};

struct Grid {
  long long planes, rows, columns;
  int z, y, x;  // tiles
};

// The cells of a tile and of its halo in shared memory.
struct Cells {
  weight_t* d;
  weight_t* c;
#if RULE == 2
  weight_t* h;
#endif
};

__device__ __forceinline__ weight_t slope_factor(const Slopes& s, weight_t slope) {
  weight_t place = times(slope - s.low, s.scale);
  place = place > weight_t(0) ? place : weight_t(0);
  place = place < s.last ? place : s.last;
  const int i = static_cast<int>(place);
  const weight_t part = place - static_cast<weight_t>(i);
  // A slope of the table has its factor, also before an infinite one, where 0 * inf is NaN.
  return part > weight_t(0) ? s.values[i] + times(part, s.values[i + 1] - s.values[i]) : s.values[i];
}

// Returns the cost of step k from one cell of a tile to another.
__device__ __forceinline__ weight_t cost_of_step(const Cells& t, const Factors& f, int from, int to, int k) {
  weight_t w;
#if RULE == 1
  w = times(f.length[kAlike.of[k]], t.c[to]);
#else
  w = times(f.length[kAlike.of[k]], t.c[from] + t.c[to]);
#endif
#if RULE == 3
  // A barrier adjacent to a diagonal step makes it NaN, which improves nothing.
  w = w + times(weight_t(0), t.c[to + kOffset[k][1] * kRow] + t.c[to + kOffset[k][2]]);
#endif
#if RULE == 2
  w = times(w, slope_factor(f.slopes, times(t.h[to] - t.h[from], f.inverse[kAlike.of[k]])));
#endif
  return w;
}

// Returns neighbour `side` of a tile, one of 27: before, at or after it along each axis.
__device__ __forceinline__ int tile_at(const Grid& g, int tile, int side) {
  return tile + ((side / 9 - 1) * g.y + side / 3 % 3 - 1) * g.x + side % 3 - 1;
}

// One bit per face of a tile, before and after along each axis, and one for a tile with a source.
constexpr uint32 kSource = 64, kFaces = 63;

// Returns the face through which neighbour `side` of a tile touches it; the first one at an edge or
// corner.
__device__ __forceinline__ uint32 face_towards(int side) {
  const int z = side / 9, y = side / 3 % 3, x = side % 3;
  if (z != 1) return z == 0 ? 2 : 1;
  if (y != 1) return y == 0 ? 8 : 4;
  return x == 0 ? 32 : 16;
}
