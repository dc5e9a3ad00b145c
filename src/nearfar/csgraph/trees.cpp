// Distances and weights along given predecessors, as SciPy's construct_dist_matrix and
// reconstruct_path compute them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {
namespace {

// Writes the least weight of an edge from each vertex's predecessor; without an edge, NaN stays.
void tree_weights(ConstArray indptr, ConstArray indices, ConstArray weights, ConstArray before,
                  Array out) {
  const std::size_t n = before.size();
  double* const found = checked<double>(out, n, "out");
  with_index_type(indptr.dtype(), [&](auto pointer) {
    with_index_type(indices.dtype(), [&](auto index) {
      with_index_type(before.dtype(), [&](auto vertex) {
        with_weight_type(weights.dtype(), [&](auto weight) {
          const auto* const starts = static_cast<const decltype(pointer)*>(indptr.data());
          const auto* const targets = static_cast<const decltype(index)*>(indices.data());
          const auto* const values = static_cast<const decltype(weight)*>(weights.data());
          const auto* const tails = static_cast<const decltype(vertex)*>(before.data());
          nb::gil_scoped_release release;
          for (std::size_t u = 0; u < n; ++u)
            for (auto e = starts[u]; e < starts[u + 1]; ++e) {
              const auto v = static_cast<std::size_t>(targets[e]);
              if (static_cast<int64_t>(tails[v]) != static_cast<int64_t>(u)) continue;
              const auto length = static_cast<double>(values[e]);
              if (!(found[v] <= length)) found[v] = length;
            }
        });
      });
    });
  });
}

// Writes distances along rows of predecessors; `weights` is a dense matrix, infinite without an
// edge. Returns the first row whose predecessors form a cycle, or -1.
int64_t matrix_distances(ConstArray weights, ConstArray before, double null, Array out) {
  const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(before.size())) + 0.5);
  if (before.size() != n * n || before.dtype() != nb::dtype<int32_t>() || weights.size() != n * n ||
      weights.dtype() != nb::dtype<double>())
    throw nb::type_error("weights: float64, before: int32, both square");
  const auto* const lengths = static_cast<const double*>(weights.data());
  const auto* const rows = static_cast<const int32_t*>(before.data());
  double* const all = checked<double>(out, n * n, "out");
  nb::gil_scoped_release release;
  Interrupt interrupt;
  enum class State : uint8_t { unknown, waits, reached, apart };
  std::vector<State> states(n);
  std::vector<std::size_t> chain;
  for (std::size_t i = 0; i < n; ++i) {
    const int32_t* const tails = rows + i * n;
    double* const distances = all + i * n;
    std::fill(states.begin(), states.end(), State::unknown);
    states[i] = State::reached;
    distances[i] = 0;
    interrupt.poll(n);
    for (std::size_t v = 0; v < n; ++v) {
      std::size_t u = v;
      while (states[u] == State::unknown && tails[u] >= 0) {
        states[u] = State::waits;
        chain.push_back(u);
        u = static_cast<std::size_t>(tails[u]);
      }
      if (states[u] == State::waits) return static_cast<int64_t>(i);
      if (states[u] == State::unknown) states[u] = State::apart, distances[u] = null;
      for (; !chain.empty(); chain.pop_back()) {
        const std::size_t next = chain.back();
        states[next] = states[u];
        distances[next] = states[u] == State::reached ? distances[u] + lengths[u * n + next] : null;
        u = next;
      }
    }
  }
  return -1;
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("tree_weights", &tree_weights, arg("indptr"), arg("indices"), arg("weights"), arg("before"),
        arg("out"));
  m.def("matrix_distances", &matrix_distances, arg("weights"), arg("before"), arg("null"),
        arg("out"));
}

}  // namespace nearfar
