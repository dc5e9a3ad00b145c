// Worker threads that stay, and the barrier that they meet at.
//
// One pool a process, made on first use; threads are created when a run first asks for so many and
// sleep on a futex between runs. run() lends them to one call at a time: a second caller from
// another Python thread waits its turn. No OpenMP: two OpenMP runtimes in one process crash
// people's programs.
//
// Waiting is polite, because the cores may be shared: a waiter spins for a few microseconds, then
// yields its time slice, then sleeps until it is woken. Barriers that only spin slowed other
// programs on the same machine many times over.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "cpu/arithmetic.hpp"

namespace nearfar {

// Waits until `value` differs from `old`: spin, yield, sleep. Returns the new value.
uint32_t wait_for_change(const std::atomic<uint32_t>& value, uint32_t old);

// All `threads` workers arrive, then all leave. Reusable at once.
class Barrier {
 public:
  explicit Barrier(uint32_t threads) : threads_(threads) {}

  NEARFAR_INLINE void arrive_and_wait() {
    if (threads_ > 1) meet();
  }

 private:
  void meet();

  const uint32_t threads_;
  alignas(64) std::atomic<uint32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

class WorkerPool {
 public:
  static WorkerPool& shared();

  // Calls work(0) on the calling thread and work(1) .. work(threads - 1) on others, and returns
  // when all have. `work` must not throw on workers other than 0; an exception on worker 0 must
  // leave the others able to finish (see the stop flags of the callers), and is passed on when they
  // have.
  void run(int threads, const std::function<void(int)>& work);

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

 private:
  WorkerPool();
  struct State;
  State* const state_;  // lives as long as the process: threads are never joined
};

}  // namespace nearfar
