// Threads, their sleep and their wake-up.
#include "cpu/threads/worker_pool.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace nearfar {
namespace {

// States of a helper's signal. The caller offers and withdraws, the helper enters and leaves.
constexpr uint32_t kFree = 0;     // asleep, or about to be
constexpr uint32_t kOffered = 1;  // there is work
constexpr uint32_t kInside = 2;   // in work()

}  // namespace

void Barrier::meet() {
  const uint32_t round = round_.read();
  if (__atomic_add_fetch(&arrived_, 1, __ATOMIC_ACQ_REL) == threads_) {
    __atomic_store_n(&arrived_, 0, __ATOMIC_RELAXED);
    round_.set(round + 1);
    return;
  }
  round_.wait_change(round);
}

struct WorkerPool::State {
  struct alignas(64) Helper {
    Signal door;
    Backoff backoff;  // used by the caller
  };

  std::mutex turn;  // one run at a time
  std::deque<Helper> helpers;
  // Written before a signal becomes kOffered, never while one is kInside.
  const std::function<void(int)>* work = nullptr;

  void serve(int worker, Signal& door) {
    for (;;) {
      // Sleeps only while the state is kFree: an offer may be withdrawn and made again, and a
      // helper that waited for kOffered to change would then wait forever.
      if (door.wait_change(kFree) != kOffered || !door.replace(kOffered, kInside)) continue;
      (*work)(worker);
      door.set(kFree);
    }
  }

  Helper& helper(int worker) { return helpers[static_cast<std::size_t>(worker - 1)]; }

  void wait_until_free(int worker) {
    Signal& door = helper(worker).door;
    for (uint32_t now = door.read(); now != kFree;) now = door.wait_change(now);
  }

  void grow(int wanted) {
    while (static_cast<int>(helpers.size()) < wanted) {
      Signal& door = helpers.emplace_back().door;
      const int worker = static_cast<int>(helpers.size());
      try {
        // Never joined: the thread sleeps until the process ends.
        std::thread([this, worker, &door] { serve(worker, door); }).detach();
      } catch (...) {
        helpers.pop_back();
        throw;
      }
    }
  }
};

WorkerPool::WorkerPool() : state_(new State) {}

WorkerPool& WorkerPool::shared() {
  // Never destroyed: the threads sleep until the process ends. A child of fork() has none of them,
  // so it makes its own pool.
  static std::mutex guard;
  static WorkerPool* pool = nullptr;
  static int64_t owner = 0;
  const std::lock_guard<std::mutex> lock(guard);
  if (pool == nullptr || owner != this_process()) {
    pool = new WorkerPool;
    owner = this_process();
  }
  return *pool;
}

Crew::Crew(WorkerPool& pool, int threads, const std::function<void(int)>& work)
    : state_(*pool.state_), threads_(threads) {
  state_.turn.lock();
  try {
    state_.grow(threads - 1);
  } catch (...) {
    state_.turn.unlock();
    throw;
  }
  state_.work = &work;
}

Crew::~Crew() {
  for (int worker = 1; worker < threads_; ++worker)
    if (!take_back(worker)) state_.wait_until_free(worker);
  state_.turn.unlock();
}

bool Crew::call(int worker) {
  Signal& door = state_.helper(worker).door;
  if (door.read() != kFree) return false;
  door.set(kOffered);
  return true;
}

bool Crew::take_back(int worker) {
  Signal& door = state_.helper(worker).door;
  return door.read() == kFree || door.replace(kOffered, kFree);
}

Backoff& Crew::backoff(int worker) {
  return state_.helper(worker).backoff;
}

void WorkerPool::run(int threads, const std::function<void(int)>& work) {
  if (threads <= 1) {
    work(0);
    return;
  }
  Crew crew(*this, threads, work);
  struct All {  // leaves before `crew` is destroyed
    State& state;
    const int threads;
    ~All() {
      for (int worker = 1; worker < threads; ++worker) state.wait_until_free(worker);
    }
  } all{*state_, threads};
  for (int worker = 1; worker < threads; ++worker) crew.call(worker);
  work(0);
}

void WorkerPool::share(int threads, const std::function<void(int)>& work) {
  if (threads <= 1) {
    work(0);
    return;
  }
  Crew crew(*this, threads, work);
  for (int worker = 1; worker < threads; ++worker) crew.call(worker);
  work(0);
}

}  // namespace nearfar
