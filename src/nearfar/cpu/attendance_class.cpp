// Attendance for Python, whose tests feed it made-up times.
#include "cpu/attendance.hpp"
#include "cpu/bindings.hpp"

namespace nearfar {

NEARFAR_BIND(m) {
  nanobind::class_<Attendance>(m, "Attendance")
      .def(nanobind::init<>())
      .def("wanted", &Attendance::wanted, nanobind::arg("now"))
      .def("joined", &Attendance::joined, nanobind::arg("now"))
      .def("left", &Attendance::left, nanobind::arg("now"))
      .def("declined", &Attendance::declined, nanobind::arg("now"))
      .def("late", &Attendance::late, nanobind::arg("now"), nanobind::arg("waited"),
           nanobind::arg("owed") = 0, nanobind::arg("helpers") = 1)
      .def_prop_ro("pause", &Attendance::pause);
}

}  // namespace nearfar
