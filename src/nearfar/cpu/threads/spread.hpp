// Distributes batches over workers: each takes the next number from a shared counter until none is
// left. The call does not wait for a worker that gets no core because all are busy.
//
// Worker 0 is the calling thread, which checks for Ctrl-C. An exception in any worker stops the
// others in the middle of their batches and is rethrown here.
//
// Memory order. All threads see additions to one counter in the same order, so no number is handed
// out twice even with relaxed order; the counter publishes no data. What batches read was written
// before the run, and what they write is read after it: the pool's signals order both
// (worker_pool.hpp). Batches of one run share only what their callers protect. The flags that stop
// a run only shorten it: a worker that sees one late runs one batch too many. Searches from many
// sources need nothing more, whether on graphs, within limits or on prepared graphs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "cpu/threads/interrupt.hpp"

namespace nearfar {

class BatchCounter {
 public:
  explicit BatchCounter(int64_t total) : total_(total) {}
  // Returns the number of the next batch, or -1 if there is none or the run was stopped.
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
void spread(int64_t batches, int threads,
            const std::function<void(BatchCounter&, Interrupt&)>& work);

// Calls work(each_block, interrupt) on up to `threads` workers, which share the blocks of
// [0, size): each_block(f) calls f(first, last) for one after another.
template <class Work>
void spread_blocks(int64_t size, int64_t block, int threads, Work&& work) {
  spread((size + block - 1) / block, threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    const auto each_block = [&](auto&& f) {
      for (int64_t b; (b = counter.take()) >= 0;) f(b * block, std::min(size, (b + 1) * block));
    };
    work(each_block, interrupt);
  });
}

}  // namespace nearfar
