// Tree labels: a point query is one pass over two rows, stored in the order of reading.
//
// The row of v has the shortest path over ascending labels to each of its ancestors, by depth. It
// is the minimum over the arcs of v of the arc plus the upper end's row, which is shorter, so rows
// are built from the roots down, a register at a time. The common ancestors of two vertices are
// those of their lowest common ancestor: the least sum over that many first values is the distance.
// Ouyang et al. 2018 ("H2H") read the separator by positions; reading the whole common prefix needs
// neither positions nor tests, and separators are most of it.
#include "prepared/cpu/labels.hpp"

#include "prepared/metric/loops.hpp"

namespace nearfar::prepared::NEARFAR_ISA {

template <class Value>
void lower_row(Value* mine, const Value* other, Value way, int32_t count) {
  using L = Lanes<Value>;
  const typename L::Vector wide = L::template spread<1>(&way);
  int32_t d = 0;
  for (; d + L::kCount <= count; d += L::kCount)
    L::store(mine + d, lesser<typename L::Vector>(L::load(mine + d), L::load(other + d) + wide));
  for (; d < count; ++d) mine[d] = lesser<Value>(mine[d], other[d] + way);
}

template <class Value>
void label_row(const Arcs& arcs, const Upward<Value>& up, const int64_t* offset, int32_t v,
               const int32_t* ancestor, Value* rows) {
  Value* mine = rows + offset[v];
  const int32_t depth = arcs.depth[v];
  for (int32_t d = 0; d < depth; ++d) mine[d] = far<Value>();
  mine[depth] = 0;
  for (int64_t j = up.first[v]; j < up.first[v + 1]; ++j) {
    const int32_t head = up.head_depth[j];
    lower_row(mine, rows + offset[ancestor[head]], up.weight[j], head + 1);
  }
}

template <class Value>
Value meet(const Value* a, const Value* b, int32_t count) {
  using L = Lanes<Value>;
  using Vector = typename L::Vector;
  const Vector nothing = Vector{} + far<Value>();
  Vector x = nothing, y = nothing;
  int32_t d = 0;
  for (; d + 2 * L::kCount <= count; d += 2 * L::kCount) {
    x = lesser<Vector>(x, L::load(a + d) + L::load(b + d));
    y = lesser<Vector>(y, L::load(a + d + L::kCount) + L::load(b + d + L::kCount));
  }
  for (; d + L::kCount <= count; d += L::kCount)
    x = lesser<Vector>(x, L::load(a + d) + L::load(b + d));
  x = lesser<Vector>(x, y);
  Value best = x[0];
  for (int i = 1; i < L::kCount; ++i) best = lesser<Value>(best, x[i]);
  for (; d < count; ++d) best = lesser<Value>(best, a[d] + b[d]);
  return best;
}

#define NEARFAR_LABELS(Value)                                                                \
  template void label_row<Value>(const Arcs&, const Upward<Value>&, const int64_t*, int32_t, \
                                 const int32_t*, Value*);                                    \
  template void lower_row<Value>(Value*, const Value*, Value, int32_t);                      \
  template Value meet<Value>(const Value*, const Value*, int32_t);
NEARFAR_LABELS(uint32_t)
NEARFAR_LABELS(uint64_t)
NEARFAR_LABELS(int64_t)
NEARFAR_LABELS(float)
NEARFAR_LABELS(double)

}  // namespace nearfar::prepared::NEARFAR_ISA
