// Binding of breadth_first@cpu and breadth_first_parallel@cpu.
#include <stdexcept>

#include "algorithms/breadth_first/breadth_first.hpp"
#include "cpu/bindings/call.hpp"

namespace nearfar {

NEARFAR_BIND(m) {
  m.def(
      "breadth_first",
      [](GraphView& view, GraphView* reverse, int64_t source, Array distances,
         std::optional<double> limit, const Targets& targets, int threads) {
        return call_search(
            view, false, source, distances, limit, targets, threads,
            [&](const auto& csr, auto from, auto* out, auto stop, Interrupt& poll) -> SearchStats {
              using C = std::decay_t<decltype(csr)>;
              if constexpr (std::is_same_v<typename C::Weight, int32_t>) {
                const C* in = nullptr;
                if (reverse != nullptr)
                  in = reverse->visit([&](const auto& other) -> const C* {
                    if constexpr (std::is_same_v<std::decay_t<decltype(other)>, C>)
                      return other.n == csr.n ? &other : nullptr;
                    else
                      return nullptr;
                  });
                return breadth_first::Search<C>(csr, in, out, threads, poll).run(from, stop);
              } else {
                throw std::invalid_argument("breadth-first search counts edges: int32 ones");
              }
            });
      },
      nb::arg("view"), nb::arg("reverse").none(), nb::arg("source"), nb::arg("distances"),
      nb::arg("limit") = nb::none(), nb::arg("targets") = nb::none(), nb::arg("threads") = 1);
}

}  // namespace nearfar
