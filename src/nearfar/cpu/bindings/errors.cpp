// Translates the library's own C++ errors into the classes of nearfar.errors.
#include "cpu/bindings/errors.hpp"

#include <system_error>

#include "cpu/bindings/bindings.hpp"

namespace nearfar {
namespace {

template <class... Args>
void raise(const char* name, Args&&... args) {
  const nb::object type = nb::module_::import_("nearfar.errors").attr(name);
  const nb::object error = type(std::forward<Args>(args)...);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const FormatError& error) {
    const nb::object line = error.line == 0 ? nb::none() : nb::object(nb::int_(error.line));
    raise("GraphFormatError", error.what(), nb::none(), line);
  } catch (const DistanceOverflow& error) {
    raise("DistanceOverflowError", error.what());
  } catch (const std::system_error& error) {
    PyErr_SetObject(PyExc_OSError, nb::make_tuple(error.code().value(), error.what()).ptr());
  } catch (const Unsupported& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what());
  }
}

}  // namespace

NEARFAR_BIND(m) {
  static_cast<void>(m);
  nb::register_exception_translator(&translate);
}

}  // namespace nearfar
