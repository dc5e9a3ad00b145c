// A persistent pool of worker threads, and their barrier.
//
// There is one pool per process, made on first use. Threads are created when a run first requests
// that many, and sleep on a futex between runs. A run has them to itself: a call from another
// Python thread waits its turn. OpenMP is not used, because two OpenMP runtimes in one process
// crash programs.
//
// The cores may be shared with other programs, so a helper may start milliseconds after it was
// called or be descheduled in the middle of its work. Callers that can do without a helper should:
// share() does not wait for helpers that have not started when the work is done, and a Crew
// requests them one by one, repeatedly.
//
// Memory order. A helper sees what the caller wrote before a run: the caller sets the helper's
// signal with a release store, and the helper enters with an acquiring compare-and-swap. The caller
// sees what a helper wrote after the run, by the same two operations when the helper leaves.
// `work`, which is not atomic, is written only while no helper is inside and read only by helpers
// inside. A barrier's counter is incremented with acquire and release, so the last thread to arrive
// has seen all earlier writes, and its release store of the round publishes them to all. Its reset
// of the counter needs no order: no thread increments it again before reading the new round.
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
  // when all have returned. `work` must not throw on workers other than 0; an exception on worker 0
  // must let the others finish (see the stop flags of the callers) and is rethrown when they have.
  void run(int threads, const std::function<void(int)>& work);

  // The same, but a helper that has not started when work(0) returns is no longer called: for work
  // that the running workers take from a counter.
  void share(int threads, const std::function<void(int)>& work);

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

 private:
  friend class Crew;
  WorkerPool();
  struct State;
  State* const state_;  // lives as long as the process: threads are never joined
};

// Helpers 1 .. threads - 1 of a pool, requested one by one while the object exists. Used only by
// the calling thread; `work` as in run(), but it may be called several times in sequence for one
// helper.
class Crew {
 public:
  Crew(WorkerPool& pool, int threads, const std::function<void(int)>& work);
  ~Crew();  // waits for helpers in work(), which must be about to return
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Asks a helper to call work(worker) as soon as it can; returns false if an earlier call is still
  // running.
  bool call(int worker);
  // Withdraws the request; returns false if the helper has already started.
  bool take_back(int worker);
  Backoff& backoff(int worker);

 private:
  WorkerPool::State& state_;
  const int threads_;
};

}  // namespace nearfar
