// The workers behind spread.
#include "cpu/threads/spread.hpp"

#include <algorithm>
#include <exception>
#include <mutex>

#include "cpu/threads/worker_pool.hpp"

namespace nearfar {

void spread(int64_t batches, int threads,
            const std::function<void(BatchCounter&, Interrupt&)>& work) {
  BatchCounter counter(batches);
  std::atomic<bool> given_up{false};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto guarded = [&](Interrupt interrupt) {
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
