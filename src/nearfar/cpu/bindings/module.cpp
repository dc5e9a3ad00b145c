// The nanobind module nearfar._cpu: the bindings of the families and of the shared code.
#include "cpu/bindings/bindings.hpp"

namespace nearfar {

void check_vertices(const Ids& ids, std::size_t n, const char* message) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (static_cast<uint64_t>(ids.data()[i]) >= n) throw nb::index_error(message);
}

void check_array(const Array& array, nb::dlpack::dtype dtype, std::size_t size, const char* name) {
  if (array.dtype() != dtype || array.size() != size)
    throw nb::type_error((std::string(name) + ": wrong dtype or size").c_str());
}

}  // namespace nearfar

NB_MODULE(_cpu, m) {
  m.doc() = "Hot loops of nearfar on CPU cores. Internal: use the functions of nearfar instead.";
#if defined(__clang__)
  m.attr("compiler") = "Clang " __clang_version__;
#elif defined(__GNUC__)
  m.attr("compiler") = "GCC " __VERSION__;
#else
  m.attr("compiler") = "an unknown compiler";
#endif
  // Graphs in reference cycles may outlive the interpreter's last collection; a leak warning would
  // be wrong.
  nanobind::set_leak_warnings(false);
  for (auto& bind : nearfar::binders()) bind(m);
}
