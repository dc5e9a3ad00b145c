// Python binding of Backoff, for tests with made-up times.
#include "cpu/threads/backoff.hpp"

#include "cpu/bindings/bindings.hpp"

namespace nearfar {

NEARFAR_BIND(m) {
  nanobind::class_<Backoff>(m, "Backoff")
      .def(nanobind::init<>())
      .def("over", &Backoff::over, nanobind::arg("now"))
      .def("declined", &Backoff::declined, nanobind::arg("now"))
      .def("reset", &Backoff::reset);
}

}  // namespace nearfar
