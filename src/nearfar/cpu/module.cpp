// The nanobind module nearfar._cpu: collects what the families and the shared code bind.
#include "cpu/bindings.hpp"

NB_MODULE(_cpu, m) {
  m.doc() = "Hot loops of nearfar on CPU cores. Internal: use the functions of nearfar instead.";
  for (auto& bind : nearfar::binders()) bind(m);
}
