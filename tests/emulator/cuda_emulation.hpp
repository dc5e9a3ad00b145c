// CUDA's execution model on the CPU, to run the kernels' own text where there is no GPU.
//
// A block is an operating-system thread; its CUDA threads are fibers that switch at barriers and warp
// collectives, in an order that changes from round to round. So block-wide and warp-wide logic is checked
// (a barrier that not all threads reach ends the program with a message), and blocks of one launch really
// run at the same time, atomics included. What it cannot show: weak memory order, and speed.
#pragma once

#include <sched.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

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

struct uint3 { unsigned x, y, z; };
typedef uint3 dim3;
struct alignas(8) int2 { int x, y; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) longlong2 { long long x, y; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
inline int2 make_int2(int x, int y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline longlong2 make_longlong2(long long x, long long y) { return {x, y}; }

namespace emulation {

extern "C" void emulation_switch(void** save, void* load);
asm(R"(
.text
.type emulation_switch, @function
emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

struct Meeting {  // one barrier or collective; two buffers, so that the next one may begin at once
  unsigned mask = 0, generation = 0;
  unsigned long long arrived[2] = {0, 0};  // lanes (a warp) or a count (the block)
  uint64_t value[2][32] = {};
  int sum[2] = {0, 0};
  bool all[2] = {true, true};
};

struct Fiber {
  void* stack_pointer = nullptr;
  std::unique_ptr<char[]> stack;
  unsigned thread = 0;
  bool done = false, spinning = false;
  const unsigned* waits_on = nullptr;
  unsigned waits_while = 0;
};

struct Block {
  std::vector<Fiber> fibers;
  std::vector<std::vector<std::unique_ptr<Meeting>>> warps;
  std::vector<unsigned> live;  // a warp
  Meeting all;
  unsigned live_threads = 0;
  void* scheduler = nullptr;
  Fiber* current = nullptr;
  std::function<void()> body;
  std::vector<char> dynamic;
  uint32_t random = 1;
};

inline thread_local Block block;
constexpr size_t kStack = 64 * 1024;

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "CUDA emulation: %s\n", what);
  std::abort();
}

}  // namespace emulation

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace emulation {

inline void yield() {
  Fiber* me = block.current;
  emulation_switch(&me->stack_pointer, block.scheduler);
}
inline void wait_on(const unsigned* generation, unsigned value) {
  block.current->waits_on = generation;
  block.current->waits_while = value;
  yield();
}
inline void spin() {
  block.current->spinning = true;
  yield();
}

inline unsigned lane() { return block.current->thread & 31; }

inline void release_warp(Meeting& m, unsigned live) {
  const unsigned now = m.generation & 1;
  if ((m.arrived[now] & m.mask & live) == (m.mask & live) && m.arrived[now]) {
    m.arrived[now ^ 1] = 0;
    std::memset(m.value[now ^ 1], 0, sizeof m.value[0]);
    ++m.generation;
  }
}

// Bring `value` to the meeting of the lanes in `mask`; `use` reads everybody's values once all are there.
template <class Use>
auto meet(unsigned mask, uint64_t value, Use use) {
  const unsigned warp = block.current->thread >> 5, bit = 1u << lane();
  if (!(mask & bit)) fail("a lane outside its own mask calls a warp collective");
  Meeting* m = nullptr;
  for (auto& known : block.warps[warp])
    if (known->mask == mask) m = known.get();
  if (!m) {
    block.warps[warp].push_back(std::make_unique<Meeting>());
    m = block.warps[warp].back().get();
    m->mask = mask;
  }
  const unsigned generation = m->generation, now = generation & 1;
  m->arrived[now] |= bit;
  m->value[now][lane()] = value;
  release_warp(*m, block.live[warp]);
  if (m->generation == generation) wait_on(&m->generation, generation);
  return use(m->value[now], static_cast<unsigned>(m->arrived[now]));
}

inline void release_block() {
  Meeting& m = block.all;
  const unsigned now = m.generation & 1;
  if (m.arrived[now] && m.arrived[now] == block.live_threads) {
    m.arrived[now ^ 1] = 0;
    m.sum[now ^ 1] = 0;
    m.all[now ^ 1] = true;
    ++m.generation;
  }
}
inline std::pair<int, bool> block_meet(bool value) {
  Meeting& m = block.all;
  const unsigned generation = m.generation, now = generation & 1;
  ++m.arrived[now];
  m.sum[now] += value;
  m.all[now] = m.all[now] && value;
  release_block();
  if (m.generation == generation) wait_on(&m.generation, generation);
  return {m.sum[now], m.all[now]};
}

inline void fiber_main() {
  block.body();
  Fiber* me = block.current;
  me->done = true;
  const unsigned warp = me->thread >> 5;
  block.live[warp] &= ~(1u << (me->thread & 31));
  --block.live_threads;
  for (auto& m : block.warps[warp]) release_warp(*m, block.live[warp]);
  release_block();
  emulation_switch(&me->stack_pointer, block.scheduler);
  fail("a finished fiber runs on");
}

inline void run_block(unsigned index, dim3 grid, dim3 threads, size_t shared,
                      const std::function<void()>& body) {
  const unsigned count = threads.x * threads.y * threads.z;
  block.body = body;
  block.dynamic.assign(shared + 64, char(0xA5));
  block.random = index * 2654435761u + 12345u;
  if (block.fibers.size() < count) block.fibers.resize(count);
  block.warps.clear();
  block.warps.resize((count + 31) / 32);
  block.live.assign((count + 31) / 32, 0);
  block.live_threads = count;
  block.all = Meeting{};
  blockDim = threads;
  gridDim = grid;
  blockIdx = {index % grid.x, index / grid.x % grid.y, index / grid.x / grid.y};
  for (unsigned t = 0; t < count; ++t) {
    Fiber& f = block.fibers[t];
    if (!f.stack) f.stack.reset(new char[kStack]);
    f.thread = t;
    f.done = f.spinning = false;
    f.waits_on = nullptr;
    block.live[t >> 5] |= 1u << (t & 31);
    char* top = f.stack.get() + kStack;
    top -= reinterpret_cast<uintptr_t>(top) & 15;
    void** frame = reinterpret_cast<void**>(top) - 8;  // six registers, the entry, a null return
    std::memset(frame, 0, 8 * sizeof(void*));
    frame[6] = reinterpret_cast<void*>(&fiber_main);
    f.stack_pointer = frame;
  }
  unsigned left = count;
  while (left) {
    bool progress = false, spins = false;
    block.random = block.random * 1664525u + 1013904223u;
    const unsigned first = (block.random >> 8) % count, step = block.random >> 31 ? 1 : count - 1;
    for (unsigned k = 0; k < count; ++k) {
      Fiber& f = block.fibers[(first + static_cast<uint64_t>(k) * step) % count];
      if (f.done || (f.waits_on && *f.waits_on == f.waits_while)) continue;
      f.waits_on = nullptr;
      f.spinning = false;
      block.current = &f;
      threadIdx = {f.thread % threads.x, f.thread / threads.x % threads.y,
                   f.thread / threads.x / threads.y};
      emulation_switch(&block.scheduler, f.stack_pointer);
      left -= f.done;
      progress |= !f.spinning;
      spins |= f.spinning;
    }
    if (!progress && !spins && left) fail("deadlock: not all threads reach a barrier or a collective");
    if (!progress && spins) sched_yield();
  }
}

template <class... Args>
void launch(void (*kernel)(Args...), const unsigned* shape, unsigned shared, int cooperative,
            void** params) {
  std::tuple<std::remove_cv_t<std::remove_reference_t<Args>>...> args;
  int place = 0;
  std::apply([&](auto&... arg) { (std::memcpy(&arg, params[place++], sizeof arg), ...); }, args);
  const std::function<void()> body = [&] { std::apply(kernel, args); };
  const dim3 grid{shape[0], shape[1], shape[2]}, threads{shape[3], shape[4], shape[5]};
  const unsigned blocks = grid.x * grid.y * grid.z;
  const unsigned workers = cooperative ? blocks : blocks < 3 ? blocks : 3;
  std::atomic<unsigned> next{0};
  std::vector<std::thread> pool;
  for (unsigned w = 0; w < workers; ++w)
    pool.emplace_back([&] {
      for (unsigned b; (b = next++) < blocks;) run_block(b, grid, threads, shared, body);
    });
  for (auto& worker : pool) worker.join();
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
inline void* dynamic_shared() {
  return block.dynamic.data() + 63 - (reinterpret_cast<uintptr_t>(block.dynamic.data()) + 63) % 64;
}

template <class T, class F>
T atomically(T* p, F change) {
  T now;
  __atomic_load(p, &now, __ATOMIC_RELAXED);
  while (true) {
    T next = change(now);
    if (__atomic_compare_exchange(p, &now, &next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return now;
  }
}

}  // namespace emulation
