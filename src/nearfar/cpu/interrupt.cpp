// The slow half of Interrupt: clock, GIL, signals.
#include "cpu/interrupt.hpp"

#include <nanobind/nanobind.h>

#include <chrono>

namespace nearfar {
namespace {

constexpr int64_t kPause = 50'000'000;  // ns between two looks

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Interrupt::Interrupt() : next_(now() + kPause) {}

void Interrupt::look() {
  work_ = 0;
  const int64_t time = now();
  if (time < next_) return;
  next_ = time + kPause;
  nanobind::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace nearfar
