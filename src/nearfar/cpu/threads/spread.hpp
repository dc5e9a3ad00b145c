// Batches over workers: each takes the next number from a shared counter until none is left. One
// that busy cores keep from coming is not waited for.
//
// Worker 0 is the calling thread, which looks for Ctrl-C. An exception in any worker stops the
// others in the middle of their batches and is thrown again here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/worker_pool.hpp"

namespace nearfar {

class BatchCounter {
 public:
  explicit BatchCounter(int64_t total) : total_(total) {}
  // Number of the next batch, or -1 when there is none or the run was stopped.
  int64_t take() {
    if (stopped_.load(std::memory_order_relaxed)) return -1;
    const int64_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    return mine < total_ ? mine : -1;
  }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

 private:
  const int64_t total_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stopped_{false};
};

// Calls work(counter, interrupt) on up to `threads` workers.
template <class Work>
void spread(int64_t batches, int threads, Work&& work) {
  BatchCounter counter(batches);
  std::atomic<bool> given_up{false};
  std::exception_ptr failure;
  std::mutex mutex;
  auto guarded = [&](Interrupt interrupt) {
    try {
      work(counter, interrupt);
    } catch (const GivenUp&) {
    } catch (...) {
      given_up = true;
      counter.stop();
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  const auto workers =
      static_cast<std::size_t>(std::max<int64_t>(1, std::min<int64_t>(threads, batches)));
  WorkerPool::shared().share(static_cast<int>(workers), [&](int worker) {
    guarded(worker == 0 ? Interrupt() : Interrupt(given_up));
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace nearfar
