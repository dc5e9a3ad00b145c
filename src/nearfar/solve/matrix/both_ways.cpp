// The rows of a matrix together with those of its transpose, for searches of undirected edges.
#include <algorithm>
#include <limits>
#include <optional>

#include "cpu/bindings/bindings.hpp"
#include "solve/matrix/columns.hpp"

namespace nearfar {
namespace {

using Column = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Writes each row, followed by the same column. Returns whether every row is equal to its column,
// so that the matrix itself will do, or None if a row is malformed.
std::optional<bool> both_ways(Column indptr, Column indices, std::optional<Values> weights,
                              Array starts, Array targets, std::optional<Array> values) {
  const std::size_t n = indptr.size() - 1, m = indices.size();
  if (indptr.size() < 1 || (weights && weights->size() != m))
    throw nb::value_error("indptr, indices and weights do not fit together");
  if (n >= std::numeric_limits<int32_t>::max() || m > std::numeric_limits<int32_t>::max() / 2)
    return std::nullopt;
  auto* const out = checked<int32_t>(starts, n + 1, "starts");
  auto* const to = checked<int32_t>(targets, 2 * m, "targets");
  auto* const w = values ? checked<double>(*values, 2 * m, "values") : nullptr;
  const int32_t* const row = indptr.data();
  const int32_t* const column = indices.data();
  const double* const weight = weights ? weights->data() : nullptr;
  if ((w == nullptr) != (weight == nullptr)) throw nb::value_error("values without weights");
  nb::gil_scoped_release release;
  bool rising = row[0] == 0 && row[n] == static_cast<int32_t>(m);
  for (std::size_t v = 0; v < n; ++v) rising &= row[v] <= row[v + 1];
  if (!rising) return std::nullopt;
  if (!write_columns(n, row, column, weight, true, out, to, w)) return std::nullopt;
  for (std::size_t v = 0; v < n; ++v) {
    const auto own = static_cast<std::size_t>(row[v + 1] - row[v]);
    const int32_t* const first = to + out[v];
    if (static_cast<std::size_t>(out[v + 1] - out[v]) != 2 * own) return false;
    if (!std::equal(first, first + own, first + own)) return false;
    if (w != nullptr && !std::equal(w + out[v], w + out[v] + own, w + out[v] + own)) return false;
  }
  return true;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("both_ways", &both_ways, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights").none(),
        nb::arg("starts"), nb::arg("targets"), nb::arg("values").none());
}

}  // namespace nearfar
