// When a helper is let go, and the class for Python, whose tests feed it made-up times.
#include "cpu/attendance.hpp"

#include <algorithm>

#include "cpu/bindings.hpp"

namespace nearfar {
namespace {

constexpr int64_t kBearable = 500'000;       // ns: less than a time slice, more than a hiccup
constexpr int64_t kForget = 8;               // an eighth of the time may be lost for ever
constexpr int64_t kPause = 8;                // times what was lost
constexpr int64_t kFirst = 32'000'000;       // ns; one long absence says little about the next
constexpr int64_t kLongest = 1'000'000'000;  // ns of a pause

}  // namespace

bool Attendance::late(int64_t now, int64_t waited, int64_t owed) {
  lost_ = std::max<int64_t>(0, lost_ - (now - forgotten_) / kForget);
  forgotten_ = now;
  lost_ += std::max<int64_t>(0, waited - owed);
  if (lost_ <= kBearable) return false;
  left(now);
  const int64_t grown = 2 * std::max<int64_t>(0, pause_ - served_);
  pause_ = std::min(kLongest, std::max(std::min(kPause * lost_, kFirst), grown));
  back_ = now + pause_;
  served_ = 0;
  lost_ = 0;
  return true;
}

NEARFAR_BIND(m) {
  nanobind::class_<Attendance>(m, "Attendance")
      .def(nanobind::init<>())
      .def("wanted", &Attendance::wanted, nanobind::arg("now"))
      .def("joined", &Attendance::joined, nanobind::arg("now"))
      .def("left", &Attendance::left, nanobind::arg("now"))
      .def("late", &Attendance::late, nanobind::arg("now"), nanobind::arg("waited"),
           nanobind::arg("owed") = 0)
      .def_prop_ro("pause", &Attendance::pause);
}

}  // namespace nearfar
