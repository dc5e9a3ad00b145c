// Ctrl-C while the GIL is released: solvers call poll(work) as they run.
//
// A poll is an addition and a comparison. After 2^16 units of work the clock is read, and after 50
// ms the GIL is taken and pending signals are handled; one raises nb::python_error
// (KeyboardInterrupt or the handler's exception). Python handles signals only on its main thread,
// so other threads check a flag instead: workers one that says that the run was abandoned, other
// Python threads a StopFlag (interrupt.cpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

// Thrown to leave a worker's part of a run that was abandoned elsewhere.
struct GivenUp {};

class Interrupt {
 public:
  // For the thread that made the call from Python. poll throws nb::python_error when a signal
  // handler raised an exception.
  Interrupt();
  // For a worker thread. poll throws GivenUp once the flag is set.
  explicit Interrupt(const std::atomic<bool>& given_up);

  NEARFAR_INLINE void poll(uint64_t work) {
    work_ += work;
    if (work_ >= kWork) [[unlikely]]
      look();
  }

 private:
  static constexpr uint64_t kWork = uint64_t{1} << 16;
  NEARFAR_COLD void look();

  uint64_t work_ = 0;
  const std::atomic<bool>* const stop_;  // or null
  const bool holds_call_;
  int64_t next_;  // steady clock, ns
};

}  // namespace nearfar
