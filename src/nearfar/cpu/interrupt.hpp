// Ctrl-C while the GIL is released: solvers call poll(work) as they go.
//
// A poll is an addition and a comparison. Every 2^16 units of work the clock is read, and after 50
// ms the GIL is taken and pending signals are looked at; a pending one surfaces as nb::python_error
// (KeyboardInterrupt or whatever the handler raised). Only the thread that holds the Python call
// may poll.
#pragma once

#include <cstdint>

#include "cpu/arithmetic.hpp"

namespace nearfar {

class Interrupt {
 public:
  Interrupt();

  // Throws nb::python_error when a Python signal handler raised.
  NEARFAR_INLINE void poll(uint64_t work) {
    work_ += work;
    if (work_ >= kWork) [[unlikely]]
      look();
  }

 private:
  static constexpr uint64_t kWork = uint64_t{1} << 16;
  NEARFAR_COLD void look();

  uint64_t work_ = 0;
  int64_t next_;  // steady clock, ns
};

}  // namespace nearfar
