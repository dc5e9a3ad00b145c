// Converts the description of a raster from Python to a RasterView.
#pragma once

#include "cpu/bindings/bindings.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/ranges.hpp"
#include "raster/tile.hpp"

namespace nearfar {

// The dict has: cost, shape (three extents), rule, offsets (int8, k x 3), factors, inverses; and
// elevation, table (values, low, scale), no_data, which may be None.
template <class T>
RasterView<T> raster_view(const nb::dict& given) {
  RasterView<T> view{};
  const auto array = [&](const char* name, std::size_t size) -> const T* {
    const auto held = nb::cast<ConstArray>(given[name]);
    if (held.dtype() != nb::dtype<T>() || held.size() != size)
      throw nb::type_error((std::string(name) + ": wrong dtype or size").c_str());
    return static_cast<const T*>(held.data());
  };
  const auto shape = nb::cast<nb::tuple>(given["shape"]);
  view.shape = {nb::cast<int64_t>(shape[0]), nb::cast<int64_t>(shape[1]),
                nb::cast<int64_t>(shape[2])};
  const auto cells = static_cast<std::size_t>(view.shape.cells());
  view.rule = static_cast<StepRule>(nb::cast<int>(given["rule"]));
  view.cost = array("cost", cells);
  const auto offsets = nb::cast<ConstArray>(given["offsets"]);
  view.steps = static_cast<int>(offsets.size() / 3);
  if (offsets.dtype() != nb::dtype<int8_t>() || view.steps > kMostSteps)
    throw nb::type_error("offsets: wrong dtype or size");
  const auto steps = static_cast<std::size_t>(view.steps);
  std::memcpy(view.offset, offsets.data(), steps * 3);
  view.measure_steps();
  std::copy_n(array("factors", steps), steps, view.factor);
  std::copy_n(array("inverses", steps), steps, view.inverse);
  view.negative = nb::cast<bool>(given["negative"]);
  view.has_no_data = !given["no_data"].is_none();
  if (view.has_no_data) view.no_data = nb::cast<T>(given["no_data"]);
  if (view.rule == StepRule::slope) {
    view.elevation = array("elevation", cells);
    const auto table = nb::cast<nb::tuple>(given["table"]);
    const auto values = nb::cast<ConstArray>(table[0]);
    if (values.dtype() != nb::dtype<T>() || values.size() < 3)
      throw nb::type_error("table: wrong dtype or size");
    view.table = {static_cast<const T*>(values.data()), nb::cast<T>(table[1]),
                  nb::cast<T>(table[2]), static_cast<T>(values.size() - 2)};
  }
  return view;
}

}  // namespace nearfar
