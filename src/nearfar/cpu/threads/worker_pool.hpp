// Worker threads that stay, and the barrier that they meet at.
//
// One pool per process, made on first use; threads are created when a run first asks for so many
// and sleep on a futex between runs. A run lends them to one call at a time: a second caller from
// another Python thread waits its turn. No OpenMP: two OpenMP runtimes in one process crash
// people's programs.
//
// The cores may be shared with other programs, so a helper may come milliseconds after it was
// called, or be taken off its core in the middle of its work. Who can do without a helper should:
// share() leaves out those that have not come when the work is done, and a Crew asks for them one
// by one, again and again.
//
// Memory order. What the caller wrote before a run is seen by the helpers: it opens a helper's door
// by a store that releases, and the helper comes in by a compare and swap that acquires. What a
// helper wrote is seen by the caller after the run, by the same two when it goes out. `work`, which
// is no atomic, is written only while all doors are shut and read only inside one. A barrier's
// counter is added to with acquire and release, so the last to arrive has seen what all wrote
// before, and the round that it stores with release hands that to all. Its reset of the counter
// needs no order of its own: nobody adds again before having read the new round.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/threads/backoff.hpp"
#include "cpu/threads/waiting.hpp"

namespace nearfar {

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
  alignas(64) uint32_t arrived_ = 0;
  alignas(64) Signal round_;
};

class WorkerPool {
 public:
  static WorkerPool& shared();

  // Calls work(0) on the calling thread and work(1) .. work(threads - 1) on others, and returns
  // when all have. `work` must not throw on workers other than 0; an exception on worker 0 must
  // leave the others able to finish (see the stop flags of the callers), and is passed on when they
  // have.
  void run(int threads, const std::function<void(int)>& work);

  // The same, but a helper that has not come by the time that work(0) returns is not called any
  // more: for work that the running workers take from a counter.
  void share(int threads, const std::function<void(int)>& work);

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

 private:
  friend class Crew;
  WorkerPool();
  struct State;
  State* const state_;  // lives as long as the process: threads are never joined
};

// Helpers 1 .. threads - 1 of a pool, asked for one by one while it exists. Used by its caller's
// thread alone; `work` as in run(), and may be called several times for a helper, one after the
// other.
class Crew {
 public:
  Crew(WorkerPool& pool, int threads, const std::function<void(int)>& work);
  ~Crew();  // waits for those that are in work() and have to be on their way out
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Asks a helper to call work(worker) as soon as it can; false while it is still in an earlier
  // call.
  bool call(int worker);
  // Takes that back; false when it came already.
  bool take_back(int worker);
  Backoff& backoff(int worker);

 private:
  WorkerPool::State& state_;
  const int threads_;
};

}  // namespace nearfar
