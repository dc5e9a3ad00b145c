// Binding of breadth_first@cpu and breadth_first_parallel@cpu.
#include <cstring>
#include <stdexcept>

#include "algorithms/breadth_first/breadth_first.hpp"
#include "cpu/bindings/call.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

constexpr int64_t kBlock = int64_t{1} << 15;  // distances

// Replaces numbers of edges by lengths[number]; `out` may be the memory of `hops`.
template <class W>
void lengths_of_hops(const Array& hops, const Array& lengths, const Array& out, int threads) {
  const std::size_t n = hops.size();
  const int32_t* from = checked<int32_t>(hops, n, "hops");
  const W* by_hops = checked<W>(lengths, n, "lengths");
  W* to = checked<W>(out, n, "out");
  nb::gil_scoped_release release;
  spread_blocks(static_cast<int64_t>(n), kBlock, threads, [&](const auto& each_block, Interrupt&) {
    each_block([&](int64_t first, int64_t last) {
      for (int64_t v = first; v < last; ++v) {
        int32_t count;  // in memory of another type
        std::memcpy(&count, from + v, sizeof count);
        const W length = count == unreached<int32_t>() ? unreached<W>() : by_hops[count];
        std::memcpy(to + v, &length, sizeof length);
      }
    });
  });
}

}  // namespace

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
  m.def(
      "lengths_of_hops",
      [](const Array& hops, const Array& lengths, const Array& out, int threads) {
        with_weight_type(lengths.dtype(), [&](auto tag) {
          lengths_of_hops<decltype(tag)>(hops, lengths, out, threads);
        });
      },
      nb::arg("hops"), nb::arg("lengths"), nb::arg("out"), nb::arg("threads") = 1);
}

}  // namespace nearfar
