// The loops of together.hpp: every lane of a vertex takes the least over its edges, against the
// order of distance and with it, until a sweep changes nothing. Ways lead towards the place amid
// the sources and then away from it, so two or three sweeps of each kind are enough.
#include "algorithms/bounded/together.hpp"

#include "cpu/search/arithmetic.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

using bounded::kLanes;
using bounded::Surroundings;

// The lanes of a vertex as whole registers; compilers leave comparisons of floats in loops alone,
// since they may trap.
template <class Weight>
struct Registers {
  typedef Weight One __attribute__((vector_size(64), may_alias));
  static constexpr int kCount = kLanes * sizeof(Weight) / 64;
  static NEARFAR_INLINE One* of(Weight* lanes, std::ptrdiff_t v) {
    return reinterpret_cast<One*>(lanes + v * kLanes);
  }
};

// Whether a lane of the vertex fell.
template <class Weight>
NEARFAR_INLINE bool pull(const Surroundings<Weight>& graph, Weight* lanes, int32_t v) {
  using R = Registers<Weight>;
  typename R::One* const mine = R::of(lanes, v);
  typename R::One least[R::kCount];
  for (int k = 0; k < R::kCount; ++k) least[k] = mine[k];
  for (int32_t e = graph.indptr[v]; e < graph.indptr[v + 1]; ++e) {
    const typename R::One* const from = R::of(lanes, graph.from[e]);
    for (int k = 0; k < R::kCount; ++k) {
      const typename R::One sum = from[k] + graph.weights[e];
      least[k] = sum < least[k] ? sum : least[k];
    }
  }
  auto fell = least[0] < mine[0];
  for (int k = 1; k < R::kCount; ++k) fell |= least[k] < mine[k];
  for (int k = 0; k < R::kCount; ++k) mine[k] = least[k];
  bool any = false;
  for (std::size_t k = 0; k < 64 / sizeof(Weight); ++k) any |= fell[k] != 0;
  return any;
}

}  // namespace

template <class Weight>
int settle_together(const Surroundings<Weight>& graph, Weight* lanes) {
  for (int sweep = 1;; ++sweep) {
    bool fell = false;
    if (sweep % 2)
      for (int32_t v = graph.n; v-- > 0;) fell |= pull(graph, lanes, v);
    else
      for (int32_t v = 0; v < graph.n; ++v) fell |= pull(graph, lanes, v);
    if (!fell) return sweep;
  }
}

template <class Weight>
void count_together(int32_t n, const Weight* lanes, Weight limit, int32_t* counts,
                    Weight* greatest) {
  using R = Registers<Weight>;
  typename R::One most[R::kCount] = {};
  decltype(most[0] < most[0]) count[R::kCount] = {};
  for (int32_t v = 0; v < n; ++v)
    for (int k = 0; k < R::kCount; ++k) {
      const typename R::One here = R::of(const_cast<Weight*>(lanes), v)[k];
      const auto near = here <= limit;
      count[k] -= near;  // true is -1
      most[k] = (near & (here > most[k])) ? here : most[k];
    }
  constexpr int each = 64 / sizeof(Weight);
  for (int k = 0; k < kLanes; ++k) {
    counts[k] = static_cast<int32_t>(count[k / each][k % each]);
    greatest[k] = most[k / each][k % each];
  }
}

#define NEARFAR_TOGETHER(Weight)                                              \
  template int settle_together<Weight>(const Surroundings<Weight>&, Weight*); \
  template void count_together<Weight>(int32_t, const Weight*, Weight, int32_t*, Weight*);
NEARFAR_TOGETHER(int32_t)
NEARFAR_TOGETHER(int64_t)
NEARFAR_TOGETHER(float)
NEARFAR_TOGETHER(double)
#undef NEARFAR_TOGETHER

}  // namespace nearfar::NEARFAR_ISA
