// The loops of together.hpp. Vertices whose lanes changed push them along their edges, in
// alternating sweeps against and with the order of distance. Shortest paths first approach the
// place among the sources and then lead away from it, so most vertices push once or twice.
#include "algorithms/bounded/together.hpp"

#include <bit>
#include <limits>

#include "cpu/instructions/registers.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

using bounded::kLanes;
using bounded::Surroundings;

// The lanes of a vertex as full registers; compilers do not vectorise comparisons of floats, which
// may trap.
template <class Number>
struct Registers {
  typedef Number One __attribute__((vector_size(kRegister), may_alias));
  static constexpr std::size_t kEach = kRegister / sizeof(Number);
  static constexpr std::size_t kCount = kLanes / kEach;
  static NEARFAR_INLINE One* of(Number* lanes, std::size_t v) {
    return reinterpret_cast<One*>(lanes + v * kLanes);
  }
  static NEARFAR_INLINE const One* of(const Number* lanes, std::size_t v) {
    return reinterpret_cast<const One*>(lanes + v * kLanes);
  }
};

template <class Weight>
NEARFAR_INLINE uint64_t push(const Surroundings<Weight>& graph, Weight* lanes, uint64_t* marks,
                             std::size_t v) {
  using R = Registers<Weight>;
  typename R::One from[R::kCount];
  for (std::size_t k = 0; k < R::kCount; ++k) from[k] = R::of(lanes, v)[k];
  const int32_t begin = graph.indptr[v], end = graph.indptr[v + 1];
  for (int32_t e = begin; e < end; ++e) {
    const auto to = static_cast<std::size_t>(graph.edges[e].to);
    typename R::One* const there = R::of(lanes, to);
    bool news = false;
    for (std::size_t k = 0; k < R::kCount; ++k) {
      const typename R::One sum = from[k] + graph.edges[e].weight, old = there[k];
      const auto less = sum < old;
      there[k] = less ? sum : old;
      news |= any_lane(less);
    }
    marks[to / 64] |= uint64_t{news} << (to % 64);
  }
  return static_cast<uint64_t>(end - begin);
}

}  // namespace

template <class Weight>
uint64_t settle_together(const Surroundings<Weight>& graph, Weight* lanes, uint64_t* marks) {
  const std::size_t words = (static_cast<std::size_t>(graph.n) + 63) / 64;
  uint64_t edges = 0;
  for (bool some = true; some;) {
    for (std::size_t i = words; i-- > 0;) {
      uint64_t ahead = ~uint64_t{0};
      while (const uint64_t todo = marks[i] & ahead) {
        const int bit = 63 - std::countl_zero(todo);
        ahead = (uint64_t{1} << bit) - 1;
        marks[i] &= ~(uint64_t{1} << bit);
        edges += push(graph, lanes, marks, 64 * i + static_cast<std::size_t>(bit));
      }
    }
    for (std::size_t i = 0; i < words; ++i) {
      uint64_t ahead = ~uint64_t{0};
      while (const uint64_t todo = marks[i] & ahead) {
        const int bit = std::countr_zero(todo);
        ahead = ~uint64_t{1} << bit;
        marks[i] &= ~(uint64_t{1} << bit);
        edges += push(graph, lanes, marks, 64 * i + static_cast<std::size_t>(bit));
      }
    }
    some = false;
    for (std::size_t i = 0; i < words; ++i) some |= marks[i] != 0;
  }
  return edges;
}

template <class Weight>
void count_together(int32_t n, const Weight* lanes, Weight limit, int32_t* counts,
                    Weight* greatest) {
  using R = Registers<Weight>;
  typename R::One most[R::kCount] = {};
  decltype(most[0] < most[0]) count[R::kCount] = {};
  for (std::size_t v = 0; v < static_cast<std::size_t>(n); ++v)
    for (std::size_t k = 0; k < R::kCount; ++k) {
      const typename R::One here = R::of(lanes, v)[k];
      const auto near = here <= limit;
      count[k] -= near;  // true is -1 in a mask
      most[k] = (near & (here > most[k])) ? here : most[k];
    }
  for (std::size_t k = 0; k < kLanes; ++k) {
    counts[k] = static_cast<int32_t>(count[k / R::kEach][k % R::kEach]);
    greatest[k] = most[k / R::kEach][k % R::kEach];
  }
}

namespace {

template <bool kFactors, bool kOnlySums>
NEARFAR_INLINE void add_column(const bounded::Column& column, bounded::Totals& totals) {
  using R = Registers<double>;
  using One = R::One;
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  // In blocks, so that all totals of a block stay in registers.
  constexpr std::size_t kBlock = R::kCount < 4 ? R::kCount : 4;
  for (std::size_t block = 0; block < R::kCount; block += kBlock) {
    One sums[kBlock] = {}, shares[kBlock] = {}, least[kBlock], greatest[kBlock];
    for (std::size_t k = 0; k < kBlock; ++k) least[k] = greatest[k] = One{} + kNaN;
    for (std::size_t i = 0; i < column.count; ++i) {
      const One* const far = R::of(column.distances, column.at[i]) + block;
      const One* const factors = kFactors ? R::of(column.factors, column.at[i]) + block : far;
      const int64_t v = column.vertices[i];
      for (int64_t row = column.place[v]; row < column.place[v + 1]; ++row) {
        const double value = column.values[static_cast<std::size_t>(row) * column.width];
        if (value != value) continue;
        for (std::size_t k = 0; k < kBlock; ++k) {
          const One none = One{}, all = none + value;
          const One factor = kFactors ? factors[k] : none + 1.0;
          const auto near = far[k] <= column.limit;
          sums[k] += near ? (kFactors ? factor * value : all) : none;
          if (kOnlySums) continue;
          shares[k] += near ? factor : none;
          least[k] = (near & ~(least[k] <= all)) ? all : least[k];
          greatest[k] = (near & ~(greatest[k] >= all)) ? all : greatest[k];
        }
      }
    }
    for (std::size_t k = 0; k < kBlock * R::kEach; ++k) {
      const std::size_t lane = block * R::kEach + k, j = k / R::kEach, l = k % R::kEach;
      totals.sums[lane] = sums[j][l];
      totals.shares[lane] = shares[j][l];
      totals.least[lane] = least[j][l];
      totals.greatest[lane] = greatest[j][l];
    }
  }
}

}  // namespace

void add_together(const bounded::Column& column, bool only_sums, bounded::Totals& totals) {
  if (column.factors)
    only_sums ? add_column<true, true>(column, totals) : add_column<true, false>(column, totals);
  else
    only_sums ? add_column<false, true>(column, totals) : add_column<false, false>(column, totals);
}

#define NEARFAR_TOGETHER(Weight)                                                              \
  template uint64_t settle_together<Weight>(const Surroundings<Weight>&, Weight*, uint64_t*); \
  template void count_together<Weight>(int32_t, const Weight*, Weight, int32_t*, Weight*);
NEARFAR_TOGETHER(int32_t)
NEARFAR_TOGETHER(int64_t)
NEARFAR_TOGETHER(float)
NEARFAR_TOGETHER(double)
#undef NEARFAR_TOGETHER

}  // namespace nearfar::NEARFAR_ISA
