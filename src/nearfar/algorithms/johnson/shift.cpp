// Johnson's own steps on CPU cores: reweighting, shifting rows back, and exact float rows.
#include <nanobind/stl/vector.h>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/distances/polish.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

// Writes weights[i] + h[u] - h[v] for every edge i = (u, v): Algorithm 3 of the paper. Rounding may
// make a float slightly negative, where the exact value is not: it becomes zero.
void reweight(GraphView& view, const Array& potentials, const Array& out) {
  view.visit([&](const auto& csr) {
    using Weight = typename std::decay_t<decltype(csr)>::Weight;
    const Weight* h = checked<Weight>(potentials, static_cast<std::size_t>(csr.n), "potentials");
    Weight* shifted = checked<Weight>(out, static_cast<std::size_t>(csr.m), "out");
    nb::gil_scoped_release release;
    for (Index u = 0; u < csr.n; ++u)
      for (int64_t i = csr.indptr[u]; i < csr.indptr[u + 1]; ++i)
        shifted[i] = std::max<Weight>(0, csr.weights[i] + h[u] - h[csr.indices[i]]);
  });
}

// rows[r][c] += h[columns[c]] - h[sources[r]] where reached. Returns true if a sum overflows.
bool shift_back(const Array& rows, const Ids& sources, const Ids& columns, const Array& potentials,
                int threads) {
  return with_weight_type(rows.dtype(), [&](auto tag) {
    using Weight = decltype(tag);
    const std::size_t k = sources.size(), width = columns.size();
    Weight* out = checked<Weight>(rows, k * width, "rows");
    const Weight* h = checked<Weight>(potentials, potentials.size(), "potentials");
    check_vertices(columns, potentials.size(), "column is not a vertex");
    std::atomic<bool> overflow{false};
    nb::gil_scoped_release release;
    spread(static_cast<int64_t>(k), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      bool lost = false;
      for (int64_t r; (r = counter.take()) >= 0;) {
        interrupt.poll(width);
        const Weight from = h[sources.data()[r]];
        Weight* row = out + static_cast<std::size_t>(r) * width;
        for (std::size_t c = 0; c < width; ++c) {
          if (row[c] == unreached<Weight>()) continue;
          const Weight to = h[columns.data()[c]];
          if constexpr (std::is_floating_point_v<Weight>) {
            row[c] = row[c] + to - from;
          } else {
            // h <= 0, so the two steps stay away from opposite ends of the range.
            Weight sum;
            lost |= __builtin_sub_overflow(row[c] + to, from, &sum) || sum == unreached<Weight>();
            row[c] = sum;
          }
        }
      }
      if (lost) overflow = true;
    });
    return overflow.load();
  });
}

// Makes approximate whole rows exact; returns the rows for which that failed (see
// cpu/distances/polish.hpp).
std::vector<int64_t> polish_rows(GraphView& view, const Ids& sources, const Array& rows,
                                 std::optional<Array> potentials, int threads) {
  std::vector<int64_t> left;
  view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    if constexpr (std::is_floating_point_v<Weight>) {
      const auto n = static_cast<std::size_t>(csr.n);
      Weight* out = checked<Weight>(rows, sources.size() * n, "rows");
      const Weight* h = potentials ? checked<Weight>(*potentials, n, "potentials") : nullptr;
      std::vector<char> inexact(sources.size(), 0);
      nb::gil_scoped_release release;
      spread(static_cast<int64_t>(sources.size()), threads,
             [&](BatchCounter& counter, Interrupt& interrupt) {
               Polisher<C> polisher(csr);
               for (int64_t r; (r = counter.take()) >= 0;) {
                 interrupt.poll(static_cast<uint64_t>(csr.m));
                 const auto source = static_cast<Index>(sources.data()[r]);
                 inexact[r] = !polisher.polish(source, out + static_cast<std::size_t>(r) * n, h);
               }
             });
      for (std::size_t r = 0; r < inexact.size(); ++r)
        if (inexact[r]) left.push_back(static_cast<int64_t>(r));
    }
  });
  return left;
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("johnson_reweight", &reweight, arg("view"), arg("potentials"), arg("out"));
  m.def("johnson_shift_back", &shift_back, arg("rows"), arg("sources"), arg("columns"),
        arg("potentials"), arg("threads") = 1);
  m.def("polish_rows", &polish_rows, arg("view"), arg("sources"), arg("rows"),
        arg("potentials") = nb::none(), arg("threads") = 1);
}

}  // namespace nearfar
