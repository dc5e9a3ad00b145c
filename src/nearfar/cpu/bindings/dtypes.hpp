// Maps the dtype of a NumPy array to a C++ type.
#pragma once

#include "cpu/bindings/bindings.hpp"

namespace nearfar {

// Calls f with a default value of the array's type as a tag; throws for any other type.
template <class F>
decltype(auto) with_index_type(const nb::dlpack::dtype& type, F&& f) {
  if (type == nb::dtype<int32_t>()) return f(int32_t{});
  if (type == nb::dtype<int64_t>()) return f(int64_t{});
  throw nb::type_error("expected int32 or int64 indices");
}

template <class F>
decltype(auto) with_weight_type(const nb::dlpack::dtype& type, F&& f) {
  if (type == nb::dtype<int32_t>()) return f(int32_t{});
  if (type == nb::dtype<int64_t>()) return f(int64_t{});
  if (type == nb::dtype<float>()) return f(float{});
  if (type == nb::dtype<double>()) return f(double{});
  throw nb::type_error("expected int32, int64, float32 or float64 weights");
}

}  // namespace nearfar
