// The columns of one thread of a sweep: COLUMNS adjacent distances, loaded and stored by one
// instruction.
// requires: prepared/cuda/values.cuh
#pragma once

struct alignas(sizeof(value_t) * COLUMNS) Columns {
  value_t x[COLUMNS];
};

template <int Bytes>
struct Word;
template <>
struct Word<4> {
  typedef int T;
};
template <>
struct Word<8> {
  typedef int2 T;
};
template <>
struct Word<16> {
  typedef int4 T;
};
typedef Word<sizeof(Columns)>::T word_t;

union ColumnsWord {
  word_t word;
  Columns columns;
  __device__ ColumnsWord() {}
};

__device__ __forceinline__ Columns get(const Columns* from) {
  ColumnsWord both;
  both.word = *reinterpret_cast<const word_t*>(from);
  return both.columns;
}
__device__ __forceinline__ void put(Columns* to, const Columns& x) {
  ColumnsWord both;
  both.columns = x;
  *reinterpret_cast<word_t*>(to) = both.word;
}
// The same for memory that is not read soon, bypassing the caches.
__device__ __forceinline__ void put_past(Columns* to, const Columns& x) {
  ColumnsWord both;
  both.columns = x;
  __stcs(reinterpret_cast<word_t*>(to), both.word);
}
__device__ __forceinline__ Columns all_far() {
  Columns x;
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) x.x[i] = far_value();
  return x;
}
// Returns the lesser of `best` and the path over `from`.
__device__ __forceinline__ Columns over(const Columns& from, value_t way, Columns best) {
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) best.x[i] = add_min(from.x[i], way, best.x[i]);
  return best;
}

// Weights are stored in entries of 16 bytes, as bits: two arcs of 32 bits or one of 64.
constexpr int kPerEntry = sizeof(value_t) == 4 ? 2 : 1;

template <class T>
__device__ __forceinline__ T from_bits(int low, int) {
  return static_cast<T>(low);
}
template <>
__device__ __forceinline__ float from_bits<float>(int low, int) {
  return __int_as_float(low);
}
__device__ __forceinline__ long long joined_bits(int low, int high) {
  return static_cast<long long>(static_cast<uint64>(static_cast<uint32>(high)) << 32 |
                                static_cast<uint32>(low));
}
template <>
__device__ __forceinline__ long long from_bits<long long>(int low, int high) {
  return joined_bits(low, high);
}
template <>
__device__ __forceinline__ uint64 from_bits<uint64>(int low, int high) {
  return static_cast<uint64>(joined_bits(low, high));
}
template <>
__device__ __forceinline__ double from_bits<double>(int low, int high) {
  return __longlong_as_double(joined_bits(low, high));
}
__device__ __forceinline__ value_t first_weight(const int4& entry) {
  return kPerEntry == 2 ? from_bits<value_t>(entry.y, 0) : from_bits<value_t>(entry.z, entry.w);
}
__device__ __forceinline__ value_t second_weight(const int4& entry) {
  return from_bits<value_t>(entry.w, 0);
}
