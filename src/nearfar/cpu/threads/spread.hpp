// Batches over workers: each takes the next number from a shared counter until none is left. One
// that busy cores keep from coming is not waited for.
//
// Worker 0 is the calling thread, which looks for Ctrl-C. An exception in any worker stops the
// others in the middle of their batches and is thrown again here.
//
// Memory order. Additions to one counter have one order on every processor, so no number is handed
// out twice, relaxed or not; no data are passed by it. What batches read was written before the
// run, and what they write is read after it: the pool's doors order both (worker_pool.hpp), and
// batches of one run share nothing but what their callers guard. The flags that stop a run only
// end it sooner: a worker that sees one late does a batch too many. This is all that searches from
// many sources need, on graphs, within limits and on prepared graphs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "cpu/threads/interrupt.hpp"

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
void spread(int64_t batches, int threads,
            const std::function<void(BatchCounter&, Interrupt&)>& work);

}  // namespace nearfar
