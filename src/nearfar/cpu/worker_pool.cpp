// Threads, their sleep and their wake-up.
#include "cpu/worker_pool.hpp"

#include <unistd.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace nearfar {
namespace {

constexpr int kSpins = 400;  // a few microseconds: longer than a barrier between busy workers takes
constexpr int kYields = 20;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

uint32_t wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause();
  }
  for (int i = 0; i < kYields; ++i) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    std::this_thread::yield();
  }
  for (;;) {
    value.wait(old, std::memory_order_acquire);
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
  }
}

void Barrier::meet() {
  const uint32_t round = round_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
    return;
  }
  wait_for_change(round_, round);
}

struct WorkerPool::State {
  std::mutex turn;  // one run at a time
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<std::atomic<uint32_t>>> signals;  // one a worker: its run number
  const std::function<void(int)>* work = nullptr;
  std::atomic<uint32_t> running{0};

  void serve(int worker, std::atomic<uint32_t>& signal) {
    uint32_t seen = 0;
    for (;;) {
      seen = wait_for_change(signal, seen);
      (*work)(worker);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_all();
    }
  }

  void grow(int wanted) {
    while (static_cast<int>(threads.size()) < wanted) {
      signals.push_back(std::make_unique<std::atomic<uint32_t>>(0));
      auto& signal = *signals.back();
      const int worker = static_cast<int>(threads.size()) + 1;
      try {
        threads.emplace_back([this, worker, &signal] { serve(worker, signal); });
      } catch (...) {
        signals.pop_back();
        throw;
      }
    }
  }
};

WorkerPool::WorkerPool() : state_(new State) {}

WorkerPool& WorkerPool::shared() {
  // Never destroyed: the threads sleep until the process ends. A child of fork() has none of them,
  // so it makes a pool of its own.
  static std::mutex guard;
  static WorkerPool* pool = nullptr;
  static pid_t owner = 0;
  const std::lock_guard<std::mutex> lock(guard);
  if (pool == nullptr || owner != ::getpid()) {
    pool = new WorkerPool;
    owner = ::getpid();
  }
  return *pool;
}

void WorkerPool::run(int threads, const std::function<void(int)>& work) {
  if (threads <= 1) {
    work(0);
    return;
  }
  const std::lock_guard<std::mutex> lock(state_->turn);
  state_->grow(threads - 1);
  state_->work = &work;
  state_->running.store(static_cast<uint32_t>(threads - 1), std::memory_order_release);
  for (int i = 0; i + 1 < threads; ++i) {
    state_->signals[static_cast<std::size_t>(i)]->fetch_add(1, std::memory_order_release);
    state_->signals[static_cast<std::size_t>(i)]->notify_one();
  }
  auto others_done = [this] {
    for (uint32_t left = state_->running.load(std::memory_order_acquire); left != 0;)
      left = wait_for_change(state_->running, left);
  };
  try {
    work(0);
  } catch (...) {
    others_done();
    throw;
  }
  others_done();
}

}  // namespace nearfar
