// Maps the dtype of an array of arc weights to its C++ type.
#pragma once

#include "cpu/bindings/bindings.hpp"

namespace nearfar::prepared {

// Calls f with a default value of the array's type as a tag; throws for any other type.
template <class F>
decltype(auto) with_value(const nb::dlpack::dtype& type, F&& f) {
  if (type == nb::dtype<uint32_t>()) return f(uint32_t{});
  if (type == nb::dtype<uint64_t>()) return f(uint64_t{});
  if (type == nb::dtype<int64_t>()) return f(int64_t{});
  if (type == nb::dtype<float>()) return f(float{});
  if (type == nb::dtype<double>()) return f(double{});
  throw nb::type_error("expected uint32, uint64, int64, float32 or float64 weights of arcs");
}

}  // namespace nearfar::prepared
