// CUDA's built-in functions over the fibers of cuda_emulation.hpp: atomics, barriers, warp
// collectives, bits.

template <class T>
using emulation_same = std::common_type_t<T>;
template <class T>
T atomicAdd(T* p, emulation_same<T> v) {
  return emulation::atomically(p, [v](T a) { return T(a + v); });
}
template <class T>
T atomicSub(T* p, emulation_same<T> v) {
  return emulation::atomically(p, [v](T a) { return T(a - v); });
}
template <class T>
T atomicMin(T* p, emulation_same<T> v) {
  return emulation::atomically(p, [v](T a) { return v < a ? v : a; });
}
template <class T>
T atomicMax(T* p, emulation_same<T> v) {
  return emulation::atomically(p, [v](T a) { return a < v ? v : a; });
}
template <class T>
T atomicExch(T* p, emulation_same<T> v) {
  return emulation::atomically(p, [v](T) { return v; });
}
template <class T>
T atomicOr(T* p, emulation_same<T> v) {
  return emulation::atomically(p, [v](T a) { return T(a | v); });
}
template <class T>
T atomicAnd(T* p, emulation_same<T> v) {
  return emulation::atomically(p, [v](T a) { return T(a & v); });
}
template <class T>
T atomicCAS(T* p, emulation_same<T> old, emulation_same<T> v) {
  return emulation::atomically(p, [=](T a) { return a == old ? v : a; });
}

inline void __syncthreads() {
  emulation::block_meet(false);
}
inline int __syncthreads_or(int p) {
  return emulation::block_meet(p != 0).count > 0;
}
inline int __syncthreads_and(int p) {
  return emulation::block_meet(p != 0).all;
}
inline int __syncthreads_count(int p) {
  return emulation::block_meet(p != 0).count;
}
inline void __syncwarp(unsigned mask = ~0u) {
  emulation::meet(mask, 0);
}
// Each is rounded once; the emulation's FLAGS select no processor that could contract them.
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block() {
  __threadfence();
}
inline void __threadfence_system() {
  __threadfence();
}
inline void __nanosleep(unsigned) {
  emulation::spin();
}
inline unsigned __activemask() {
  return 1u << emulation::lane();
}
inline unsigned __ballot_sync(unsigned mask, int p) {
  return emulation::meet(mask, p != 0).nonzero;
}
inline int __any_sync(unsigned mask, int p) {
  return __ballot_sync(mask, p) != 0;
}
inline int __all_sync(unsigned mask, int p) {
  const emulation::Met met = emulation::meet(mask, p != 0);
  return met.nonzero == met.there;
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned base = emulation::lane() & ~(width - 1);
  return emulation::cooked<T>(emulation::meet(
      mask, emulation::raw(value),
      [&](const uint64_t* v, unsigned) { return v[base + (unsigned(from) & (width - 1))]; }));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by) {
  const unsigned me = emulation::lane();
  return emulation::cooked<T>(
      emulation::meet(mask, emulation::raw(value),
                      [&](const uint64_t* v, unsigned) { return v[me >= by ? me - by : me]; }));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by) {
  const unsigned me = emulation::lane();
  return emulation::cooked<T>(
      emulation::meet(mask, emulation::raw(value),
                      [&](const uint64_t* v, unsigned) { return v[me + by < 32 ? me + by : me]; }));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with) {
  const unsigned me = emulation::lane();
  return emulation::cooked<T>(
      emulation::meet(mask, emulation::raw(value),
                      [&](const uint64_t* v, unsigned) { return v[(me ^ with) & 31]; }));
}
template <class T, class F>
T emulation_reduce(unsigned mask, T value, F join) {
  return emulation::meet(mask, emulation::raw(value), [&](const uint64_t* v, unsigned there) {
    bool first = true;
    T out{};
    for (int i = 0; i < 32; ++i)
      if (there >> i & 1) {
        out = first ? emulation::cooked<T>(v[i]) : join(out, emulation::cooked<T>(v[i]));
        first = false;
      }
    return out;
  });
}
template <class T>
T __reduce_add_sync(unsigned mask, T value) {
  return emulation_reduce(mask, value, [](T a, T b) { return T(a + b); });
}
template <class T>
T __reduce_min_sync(unsigned mask, T value) {
  return emulation_reduce(mask, value, [](T a, T b) { return b < a ? b : a; });
}
template <class T>
T __reduce_max_sync(unsigned mask, T value) {
  return emulation_reduce(mask, value, [](T a, T b) { return a < b ? b : a; });
}

#define __builtin_assume(claim) static_cast<void>(0)
template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
template <class T>
void __stcg(T* p, emulation_same<T> v) {
  *p = v;
}
template <class T>
void __stcs(T* p, emulation_same<T> v) {
  *p = v;
}
inline int __viaddmin_s32(int a, int b, int c) {
  return a + b < c ? a + b : c;
}
inline unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) {
  return a + b < c ? a + b : c;
}
inline int __popc(unsigned v) {
  return __builtin_popcount(v);
}
inline int __popcll(unsigned long long v) {
  return __builtin_popcountll(v);
}
inline int __ffs(int v) {
  return __builtin_ffs(v);
}
inline int __ffsll(long long v) {
  return __builtin_ffsll(v);
}
inline int __clz(int v) {
  return v ? __builtin_clz(v) : 32;
}
inline int __clzll(long long v) {
  return v ? __builtin_clzll(v) : 64;
}
inline float __int_as_float(int v) {
  return emulation::cooked<float>(emulation::raw(v));
}
inline int __float_as_int(float v) {
  return emulation::cooked<int>(emulation::raw(v));
}
inline float __uint_as_float(unsigned v) {
  return emulation::cooked<float>(emulation::raw(v));
}
inline unsigned __float_as_uint(float v) {
  return emulation::cooked<unsigned>(emulation::raw(v));
}
// Sums and products that the compiler may not join into one rounding.
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __longlong_as_double(long long v) {
  return emulation::cooked<double>(emulation::raw(v));
}
inline long long __double_as_longlong(double v) {
  return emulation::cooked<long long>(emulation::raw(v));
}
template <class T>
T min(T a, emulation_same<T> b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, emulation_same<T> b) {
  return a < b ? b : a;
}

// Replaces cuda/primitives/memory.cuh, which is inline assembly.
template <class T>
T load_relaxed(const T* p) {
  T value;
  __atomic_load(p, &value, __ATOMIC_RELAXED);
  return value;
}
template <class T>
T load_acquire(const T* p) {
  T value;
  __atomic_load(p, &value, __ATOMIC_ACQUIRE);
  emulation::spin();
  return value;
}
inline void add_released(unsigned* p, unsigned by) {
  __atomic_fetch_add(p, by, __ATOMIC_RELEASE);
}
template <class T>
T load_stale(const T* p) {
  return load_relaxed(p);
}
template <class T>
T load_once(const T* p) {
  return *p;
}
template <class T>
T load_early(const T* p) {
  return *p;
}
inline unsigned long long clock_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}
inline long long clock64() {
  return emulation::meetings();  // work, whatever else the machine does
}

// Replaces cuda/primitives/copy_async.cuh.
inline void copy_async_16(void* to, const void* from) {
  std::memcpy(to, from, 16);
}
template <class T>
void copy_async_value(T* to, const T* from) {
  *to = *from;
}
inline void copy_async_wait() {}
inline void copy_async_commit() {}
template <int Left>
void copy_async_wait_but() {}
