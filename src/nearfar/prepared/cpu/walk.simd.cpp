// Point queries: walk from both ends to the root.
//
// All arcs of a label lead to its ancestors, so the search space of a vertex is its path to the
// root, and going along it in order settles every label when it is reached: no queue, and the
// distances so far are an array indexed by depth. The two walks meet at a common ancestor. Below
// the lowest one their paths differ; above it both visit the same labels, and a label as far as the
// best meeting so far cannot improve it. Dibbelt, Strasser and Wagner 2016, section 8.2
// ("elimination tree query").
#include "prepared/cpu/walk.hpp"

#include "prepared/metric/loops.hpp"

namespace nearfar::prepared::NEARFAR_ISA {
namespace {

template <class Value>
NEARFAR_INLINE void relax(const Upward<Value>& arcs, int32_t v, Value d, Value* space) {
  using L = Lanes<Value>;
  const int64_t from = arcs.first[v];
  const Value* weight = arcs.weight + from;
  const typename L::Vector wide = L::template spread<1>(&d);
  for_arcs<Value, 1>(
      arcs.head_depth + from, arcs.first[v + 1] - from,
      [&](int64_t j, int32_t slot) {
        L::store(space + slot,
                 lesser<typename L::Vector>(L::load(space + slot), L::load(weight + j) + wide));
      },
      [&](int64_t j, int32_t slot) { space[slot] = lesser<Value>(space[slot], d + weight[j]); });
}

// Relaxes the arcs of one window; their number is that of the bits of `slots`.
template <class Value>
NEARFAR_INLINE void relax_window(const Value* weight, uint32_t slots, Value d, Value* space) {
#if defined(__AVX512F__)
  using L = Lanes<Value, 64>;
  using Vector = typename L::Vector;
  const Value none = far<Value>();
  const auto gaps = (__m512i)L::template spread<1>(&none), all = _mm512_loadu_si512(weight);
  Vector there;
  if constexpr (sizeof(Value) == 4)
    there = (Vector)_mm512_mask_expand_epi32(gaps, static_cast<__mmask16>(slots), all);
  else
    there = (Vector)_mm512_mask_expand_epi64(gaps, static_cast<__mmask8>(slots), all);
  L::store(space, lesser<Vector>(L::load(space), there + L::template spread<1>(&d)));
#else
  for (; slots != 0; slots &= slots - 1, ++weight) {
    Value& to = space[std::countr_zero(slots)];
    to = lesser<Value>(to, d + *weight);
  }
#endif
}

// Relaxes the windows of a label that has them.
template <class Value>
NEARFAR_INLINE void relax(const Upward<Value>& arcs, const Windows<Value>& windows, int32_t v,
                          Value d, Value* space) {
  const int32_t row = windows.row(v);
  if (row < 0) return relax(arcs, v, d, space);
  const auto begin = windows.rows[row], end = windows.rows[row + 1];
  const Value* weight = windows.weights + begin.weight;
  for (int32_t w = begin.window; w < end.window; ++w) {
    const auto [at, slots] = windows.windows[w];
    relax_window<Value>(weight, slots, d, space + int64_t{at} * windows.kSlots);
    weight += std::popcount(slots);
  }
}

template <class Value>
NEARFAR_INLINE void start(const Arcs& arcs, int32_t from, Value* space) {
  const int32_t depth = arcs.depth[from];
  for (int32_t i = 0; i < depth; ++i) space[i] = far<Value>();
  space[depth] = 0;
}

// Walks from v up to `stop`, which is not relaxed; `to_relax` calls relax().
template <class Value, class Relax>
NEARFAR_INLINE void climb(const Arcs& arcs, int32_t v, int32_t stop, Value* space,
                          Relax&& to_relax) {
  start(arcs, v, space);
  for (int32_t depth = arcs.depth[v]; v != stop; v = arcs.parent[v], --depth)
    if (!is_far(space[depth])) to_relax(v, space[depth], space);
}

}  // namespace

template <class Value>
void upward_space(const Arcs& arcs, const Upward<Value>& up, int32_t from, Value* space) {
  climb(arcs, from, -1, space, [&](auto... given) { relax(up, given...); });
}

template <class Value>
Value distance(const Metric<Value>& metric, const WalkRows<Value>& rows, int32_t source,
               int32_t target, Value* forward, Value* backward, int32_t& meeting) {
  const Arcs& arcs = metric.arcs;
  meeting = -1;
  const int32_t common = common_ancestor(arcs, source, target);
  if (common < 0) return far<Value>();
  const auto up = [&](auto... given) { relax(metric.up, rows.up, given...); };
  const auto down = [&](auto... given) { relax(metric.down, rows.down, given...); };
  climb(arcs, source, common, forward, up);
  climb(arcs, target, common, backward, down);
  Value best = far<Value>();
  int32_t depth = arcs.depth[common];
  for (int32_t v = common; v >= 0; v = arcs.parent[v], --depth) {
    const Value f = forward[depth], b = backward[depth];
    const bool f_there = !is_far(f), b_there = !is_far(b);
    if (f_there && b_there && f + b < best) {
      best = f + b;
      meeting = depth;
    }
    if (f_there && (!metric.prunes || f < best)) up(v, f, forward);
    if (b_there && (!metric.prunes || b < best)) down(v, b, backward);
  }
  return best;
}

#define NEARFAR_WALK(Value)                                                                      \
  template void upward_space<Value>(const Arcs&, const Upward<Value>&, int32_t, Value*);         \
  template Value distance<Value>(const Metric<Value>&, const WalkRows<Value>&, int32_t, int32_t, \
                                 Value*, Value*, int32_t&);
NEARFAR_WALK(uint32_t)
NEARFAR_WALK(uint64_t)
NEARFAR_WALK(int64_t)
NEARFAR_WALK(float)
NEARFAR_WALK(double)

}  // namespace nearfar::prepared::NEARFAR_ISA
