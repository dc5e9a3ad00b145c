// Ctrl-C while the GIL is released: solvers call poll(work) as they go.
//
// A poll is an addition and a comparison. Every 2^16 units of work the clock is read, and after 50
// ms the GIL is taken and pending signals are looked at; a pending one surfaces as nb::python_error
// (KeyboardInterrupt or whatever the handler raised). Python looks at signals on its main thread
// alone, so the others watch a flag instead: workers one that says that the run was given up,
// further threads of Python a StopFlag (interrupt.cpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

// Leaves a worker's part of a run that was given up elsewhere.
struct GivenUp {};

class Interrupt {
 public:
  // For the thread that holds the Python call. poll throws nb::python_error when a signal handler
  // raised.
  Interrupt();
  // For a worker beside it. poll throws GivenUp once the flag is set.
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
