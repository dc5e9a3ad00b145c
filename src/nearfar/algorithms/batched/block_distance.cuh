// Shared by both kernels of a block per source: distances of 16, 32 or 64 bits that order like the
// number, the rows that a block takes, and its counters.
//
// Macros: SLOT_BITS (16, 32 or 64), FLOATING (1: WEIGHT_T is a float of SLOT_BITS and a slot holds
// its bits), FIGURES (1: count, sum and maximum of whole rows of integers are written too). A
// distance of `cap` or more counts as unreached; the array starts at cap, so larger sums improve
// nothing and no sum overflows: cap and weights are below 2^31 (2^63 in 64 bits, 2^16 in 16 bits,
// with sums of 32 bits), and a heavier weight counts as that bound, which is no less than cap.
// requires: cuda/primitives/edges.cuh
// requires: cuda/primitives/memory.cuh
// requires: cuda/primitives/warp.cuh
#pragma once

#if SLOT_BITS == 16
typedef unsigned short slot_t;
typedef uint32 value_t;
constexpr uint32 kHeaviest = 0xffffu;
#elif SLOT_BITS == 32
typedef uint32 slot_t;
typedef uint32 value_t;
constexpr uint32 kHeaviest = 0x7fffffffu;
#else
typedef uint64 slot_t;
typedef uint64 value_t;
constexpr uint64 kHeaviest = 0x7fffffffffffffffull;
#endif
constexpr value_t kNone = ~static_cast<value_t>(0);
#ifndef FIGURES
#define FIGURES 0
#endif

#if FLOATING
#if SLOT_BITS == 64
__device__ __forceinline__ double as_number(value_t d) {
  return __longlong_as_double(d);
}
__device__ __forceinline__ value_t as_bits(double d) {
  return __double_as_longlong(d);
}
#else
__device__ __forceinline__ float as_number(value_t d) {
  return __uint_as_float(d);
}
__device__ __forceinline__ value_t as_bits(float d) {
  return __float_as_uint(d);
}
#endif
#endif

// Returns d plus the weight of an edge.
__device__ __forceinline__ value_t extend(value_t d, const Edge& edge) {
#if FLOATING
  return as_bits(as_number(d) + edge_weight(edge));
#else
  const weight_t w = edge_weight(edge);
  if constexpr (sizeof(weight_t) > sizeof(slot_t))
    return d + (w < static_cast<weight_t>(kHeaviest) ? static_cast<value_t>(w) : kHeaviest);
  else
    return d + static_cast<value_t>(w);
#endif
}

// Returns d plus delta, at most cap.
__device__ __forceinline__ value_t widen(value_t d, value_t delta, value_t cap) {
#if FLOATING
  const value_t sum = as_bits(as_number(d) + as_number(delta));
  return sum > d && sum < cap ? sum : cap;
#else
  return delta < cap - d ? d + delta : cap;
#endif
}

__device__ __forceinline__ weight_t as_weight(value_t d, value_t cap) {
  if (d >= cap) return unreached();
#if FLOATING
  return as_number(d);
#else
  return static_cast<weight_t>(d);
#endif
}

// Lowers slots[v] to `value`; returns true if that was less. Reads first, because most candidates
// improve nothing. Two slots of 16 bits share a word, which is exchanged as one, because the
// built-in 16-bit exchange is another loop inside this one.
__device__ __forceinline__ bool lower(slot_t* slots, int v, value_t value) {
#if SLOT_BITS == 16
  uint32* word = reinterpret_cast<uint32*>(slots) + (v >> 1);
  const int shift = (v & 1) * 16;
  uint32 old = *const_cast<volatile uint32*>(word);
  bool won = false;
  while (!won && value < (old >> shift & 0xffffu)) {
    const uint32 found = atomicCAS(word, old, (old & ~(0xffffu << shift)) | value << shift);
    won = found == old;
    old = found;
  }
  return won;
#else
  slot_t* slot = slots + v;
  return value < *const_cast<volatile slot_t*>(slot) && value < atomicMin(slot, value);
#endif
}

// Takes the block's next row from a counter, and its limit of steps. Called by every thread.
__device__ __forceinline__ void next_row(int* counter, const uint64* stats, int* row,
                                         uint64* most_steps) {
  __syncthreads();
  if (threadIdx.x == 0) {
    *row = atomicAdd(counter, 1);
    *most_steps = load_relaxed(stats + 3);
  }
  __syncthreads();
}

// Adds to the counters: edges and vertices of this thread, steps of the block.
__device__ __forceinline__ void add_work(uint64* stats, uint64 edges, uint64 steps, uint64 vertices) {
  edges = warp_sum(edges);
  vertices = warp_sum(vertices);
  if (lane_id() == 0) {
    atomicAdd(&stats[0], edges);
    atomicAdd(&stats[2], vertices);
  }
  if (threadIdx.x == 0) atomicAdd(&stats[1], steps);
}

// Tells the host that a row is finished; told[rows] is host memory, or null. Called by every
// thread.
__device__ __forceinline__ void tell(unsigned char* told, long long row) {
  if (told == nullptr) return;
  __syncthreads();
  if (threadIdx.x > 0) return;
  __threadfence_system();
  *const_cast<volatile unsigned char*>(told + row) = 1;
}

// Figures of the block's row: the number of reached distances, their sum, and the greatest.
struct RowFigures {
  uint64 count, sum, greatest;

  // Writes to columns of `rows` entries each. Called by one thread.
  __device__ __forceinline__ void leave(uint64* columns, long long rows, long long place) const {
    columns[place] = count;
    columns[rows + place] = sum;
    columns[2 * rows + place] = greatest;
  }
};

// Part of one thread, without the maximum.
struct Seen {
#if SLOT_BITS == 16
  uint32 sum = 0;  // of at most 97,000 / 128 distances
#else
  uint64 sum = 0;
#endif
  uint32 count = 0;

  __device__ __forceinline__ void look(value_t d, value_t cap) {
    if (!FIGURES || d >= cap) return;
    ++count;
    sum += d;
  }
  // Called by every thread, with zeroed figures; after the next barrier `whole` has those of the
  // row.
  __device__ __forceinline__ void join(RowFigures* whole, value_t greatest) const {
    if (!FIGURES) return;
    const uint64 all = warp_sum(static_cast<uint64>(sum));
    const uint32 many = warp_sum(count);
    value_t most = greatest;
#pragma unroll
    for (int by = 16; by > 0; by >>= 1) {
      const value_t other = __shfl_down_sync(kAllLanes, most, by);
      most = other > most ? other : most;
    }
    if (lane_id() > 0 || many == 0) return;
    atomicAdd(&whole->count, static_cast<uint64>(many));
    atomicAdd(&whole->sum, all);
    atomicMax(&whole->greatest, static_cast<uint64>(most));
  }
};
