// The bind functions of all parts of the module, which module.cpp calls. A C++ file of a family
// registers its own with a static Binder (see NEARFAR_BIND), so there is no central list.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <utility>
#include <vector>

#include "cpu/graph/graph_view.hpp"

namespace nearfar {

namespace nb = nanobind;

inline std::vector<std::function<void(nb::module_&)>>& binders() {
  static std::vector<std::function<void(nb::module_&)>> all;
  return all;
}

struct Binder {
  explicit Binder(std::function<void(nb::module_&)> bind) { binders().push_back(std::move(bind)); }
};

// NEARFAR_BIND(m) { m.def(...); } at namespace scope of a .cpp file. Several files may be compiled
// as one, so the names have a number that a line of another file cannot repeat.
#define NEARFAR_BIND_NAMED(m, number)                            \
  static void bind_##number(::nanobind::module_& m);             \
  static const ::nearfar::Binder binder_##number(bind_##number); \
  static void bind_##number(::nanobind::module_& m)
#define NEARFAR_BIND_NUMBERED(m, number) NEARFAR_BIND_NAMED(m, number)
#define NEARFAR_BIND(m) NEARFAR_BIND_NUMBERED(m, __COUNTER__)

// Types that are more precise in the stubs (`_cpu.pyi`) than their bases.
using Fields = nb::typed<nb::dict, nb::str, nb::any>;  // values by name
using Ints = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ids = Longs;  // vertices
template <class T>
using Owned = nb::ndarray<nb::numpy, T, nb::ndim<1>>;  // result of as_numpy

using ConstArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;  // any dtype, read-only
using Array = nb::ndarray<nb::c_contig, nb::device::cpu>;               // any dtype, writable

// Throws nb::index_error(message) if an id is no vertex of a graph with n.
void check_vertices(const Ids& ids, std::size_t n, const char* message);
void check_array(const Array& array, nb::dlpack::dtype dtype, std::size_t size, const char* name);

// Returns the data pointer of an output array, after checks of dtype and size.
template <class T>
T* checked(const Array& array, std::size_t size, const char* name) {
  check_array(array, nb::dtype<T>(), size, name);
  return static_cast<T*>(array.data());
}

// Returns a NumPy array that owns the vector's memory.
template <class T>
Owned<T> as_numpy(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Owned<T>(kept->data(), {kept->size()}, owner);
}

// A tuple of such arrays.
template <class... T>
nb::tuple arrays(std::vector<T>&&... values) {
  return nb::make_tuple(as_numpy(std::move(values))...);
}

}  // namespace nearfar
