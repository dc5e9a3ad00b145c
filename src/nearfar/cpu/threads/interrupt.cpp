// The out-of-line part of Interrupt: clock, GIL, signals, flags.
#include "cpu/threads/interrupt.hpp"

#include <chrono>

#include "cpu/bindings/bindings.hpp"

namespace nearfar {
namespace {

constexpr int64_t kPause = 50'000'000;  // ns between two checks

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

thread_local const std::atomic<bool>* flag_here = nullptr;

// Used by Python as `with flag:` around calls in secondary threads; after another thread calls
// flag.set(), those calls raise KeyboardInterrupt.
class StopFlag {
 public:
  void set() { set_ = true; }
  void enter() const { flag_here = &set_; }
  void leave() const { flag_here = nullptr; }

 private:
  std::atomic<bool> set_{false};
};

}  // namespace

Interrupt::Interrupt() : stop_(flag_here), holds_call_(true), next_(now() + kPause) {}

Interrupt::Interrupt(const std::atomic<bool>& given_up)
    : stop_(&given_up), holds_call_(false), next_(0) {}

void Interrupt::look() {
  work_ = 0;
  const bool stop = stop_ != nullptr && stop_->load(std::memory_order_relaxed);
  if (!holds_call_) {
    if (stop) throw GivenUp{};
    return;
  }
  const int64_t time = now();
  if (time < next_ && !stop) return;
  next_ = time + kPause;
  nb::gil_scoped_acquire gil;
  if (stop) PyErr_SetNone(PyExc_KeyboardInterrupt);
  if (stop || PyErr_CheckSignals() != 0) throw nb::python_error();
}

NEARFAR_BIND(m) {
  nb::class_<StopFlag>(m, "StopFlag")
      .def(nb::init<>())
      .def("set", &StopFlag::set)
      .def("__enter__", &StopFlag::enter)
      .def(
          "__exit__",
          [](const StopFlag& flag, nb::object, nb::object, nb::object) { flag.leave(); },
          nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none());
}

}  // namespace nearfar
