// Rows of distances and predecessors over a dense SciPy matrix, in one call.
//
// Lists of the edges of a dense matrix take longer to build than a search over them, and a search
// of the matrix itself (square.simd.cpp) is as fast where most entries are edges. Distances and
// predecessors are those of every other method.
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "cpu/bindings/call.hpp"
#include "cpu/memory/huge_block.hpp"
#include "cpu/threads/spread.hpp"
#include "solve/matrix/roots.hpp"
#include "solve/matrix/square.hpp"

namespace nearfar {
namespace {

constexpr std::size_t kSparse = 8;    // entries per edge from which a matrix is sparse
constexpr std::size_t kFew = 1 << 4;  // searches of it that take less time than listing the edges

// As small_rows, for a matrix of n * n entries. Returns false if it must be validated, or if lists
// of edges are faster.
bool dense_rows(ConstArray matrix, bool both_ways, bool unit, Ids sources, bool joined,
                std::optional<double> limit, int threads, Array distances,
                std::optional<Array> predecessors, std::optional<Array> roots) {
  const std::size_t k = joined ? 1 : sources.size();
  Square square;
  square.n = k == 0 ? 0 : distances.size() / k;
  if (matrix.dtype() != nb::dtype<double>() || matrix.size() != square.n * square.n ||
      square.n == 0)
    return false;
  check_vertices(sources, square.n, "source is not a vertex");
  auto* const out = checked<double>(distances, k * square.n, "distances");
  auto* const tree =
      predecessors ? checked<int32_t>(*predecessors, k * square.n, "predecessors") : nullptr;
  auto* const top = roots ? checked<int32_t>(*roots, square.n, "roots") : nullptr;
  nb::gil_scoped_release release;
  const std::vector<int32_t> from(sources.data(), sources.data() + sources.size());
  square.stride = (square.n + kSquareRow - 1) / kSquareRow * kSquareRow;
  const HugeBlock weights(square.n * square.stride * sizeof(double));
  square.weights = reinterpret_cast<double*>(weights.data());
  const auto* const given = static_cast<const double*>(matrix.data());
  if (!NEARFAR_PICK_ISA(copy_square)(given, unit, square)) return false;
  if (!std::isfinite(square.greatest * static_cast<double>(square.n))) return false;
  if (k > kFew && square.n_edges < square.n * square.n / kSparse) return false;
  if (both_ways) NEARFAR_PICK_ISA(add_reverse)(square);
  std::atomic<bool> flat{false};
  spread(static_cast<int64_t>(k), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    const HugeBlock scratch(3 * square.stride * sizeof(double));
    for (int64_t i; (i = counter.take()) >= 0;) {
      const std::span<const int32_t> own(from.data() + i, joined ? from.size() : 1);
      const auto at = static_cast<std::size_t>(i) * square.n;
      const double farthest = NEARFAR_PICK_ISA(search_square)(
          square, own, limit ? *limit : std::numeric_limits<double>::max(),
          reinterpret_cast<double*>(scratch.data()), out + at,
          tree == nullptr ? nullptr : tree + at, kNoVertex);
      // A predecessor must be strictly nearer, and here an edge may not change a sum.
      if (tree != nullptr && farthest + square.least == farthest) flat = true;
      interrupt.poll(square.n * square.n);
    }
  });
  if (flat) return false;  // vertices at one distance may be each other's predecessor
  if (top != nullptr && tree != nullptr) find_roots(tree, out, square.n, top);
  return true;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("dense_rows", &dense_rows, nb::arg("matrix"), nb::arg("both_ways"), nb::arg("unit"),
        nb::arg("sources"), nb::arg("joined"), nb::arg("limit").none(), nb::arg("threads"),
        nb::arg("distances"), nb::arg("predecessors").none(), nb::arg("roots").none());
}

}  // namespace nearfar
