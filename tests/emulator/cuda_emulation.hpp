// CUDA's execution model on the CPU, to run the unmodified kernels on machines without a GPU.
//
// A block is an operating-system thread; its CUDA threads are fibers that switch at barriers and
// warp collectives, in an order that changes from round to round. This tests block-wide and
// warp-wide logic (a barrier that some threads do not reach ends the program with a message), and
// blocks of one launch run concurrently, atomics included. It cannot show weak memory order or
// speed.
//
// Every kernel is compiled after this header, which only declares; cuda_scheduler.cpp, compiled
// once, has the definitions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <tuple>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static thread_local
#define __forceinline__ inline
#define __noinline__
#define __restrict__ __restrict
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

struct uint3 {
  unsigned x, y, z;
};
typedef uint3 dim3;
struct alignas(8) int2 {
  int x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) longlong2 {
  long long x, y;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};
inline int2 make_int2(int x, int y) {
  return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline int4 make_int4(int x, int y, int z, int w) {
  return {x, y, z, w};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
inline longlong2 make_longlong2(long long x, long long y) {
  return {x, y};
}

// Trivial types with static thread-local storage, so that reading one is an ordinary load.
#define EMULATION_THREAD extern __attribute__((tls_model("initial-exec"))) __thread
EMULATION_THREAD uint3 threadIdx, blockIdx;
EMULATION_THREAD dim3 blockDim, gridDim;
EMULATION_THREAD unsigned emulation_lane;
constexpr int warpSize = 32;

namespace emulation {

struct Met {  // values of a warp's lanes at a meeting; read them before the next
  const uint64_t* value;
  unsigned there, nonzero;  // lanes present; lanes with a nonzero value
};
struct Voted {
  int count;
  bool all;
};
inline unsigned lane() {
  return emulation_lane;
}
Met meet(unsigned mask, uint64_t value);
Voted block_meet(bool value);
void spin();  // yields to other threads; does nothing outside a kernel
void* dynamic_shared();
long long meetings();  // that the threads of this block have come to: its clock
void run(const unsigned* shape, unsigned shared, bool cooperative, void (*body)(void*),
         void* given);

// Exchanges `value` among the lanes in `mask`; `use` reads all values once every lane has arrived.
template <class Use>
auto meet(unsigned mask, uint64_t value, Use use) {
  const Met met = meet(mask, value);
  return use(met.value, met.there);
}

template <class... Args>
void launch(void (*kernel)(Args...), const unsigned* shape, unsigned shared, int cooperative,
            void** params) {
  struct Call {
    void (*kernel)(Args...);
    std::tuple<std::remove_cv_t<std::remove_reference_t<Args>>...> args;
  } call{kernel, {}};
  int place = 0;
  std::apply([&](auto&... arg) { (std::memcpy(&arg, params[place++], sizeof arg), ...); },
             call.args);
  const auto body = [](void* given) {
    std::apply(static_cast<Call*>(given)->kernel, static_cast<Call*>(given)->args);
  };
  run(shape, shared, cooperative, body, &call);
}

template <class T>
uint64_t raw(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T cooked(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T, class F>
T atomically(T* p, F change) {
  T now;
  __atomic_load(p, &now, __ATOMIC_RELAXED);
  while (true) {
    T next = change(now);
    if (__atomic_compare_exchange(p, &now, &next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return now;
  }
}

}  // namespace emulation
