// One source to all labels, and many at once in the lanes of vector registers.
//
// The distance of a label is the minimum over its arcs of the upper end's distance plus the arc, or
// its value in the source's own upward search space if it is an ancestor of the source. In
// descending order of labels upper ends come first, so one pass over all arcs gives a whole row: no
// queue and no tests (Delling, Goldberg, Nowatzyk and Werneck 2011, "PHAST"). Labels are a
// postorder, so descending order is a depth-first traversal: the upper ends of a label are all on
// the path from it to the root, and the distances on that path are an array indexed by depth that
// stays in the first-level cache. PHAST reads them from a row as long as the graph.
//
// Rows use the graph's own numbering: the sweep writes the values of a vertex, one or two cache
// lines, to the vertex's position, bypassing the caches, and a second pass transposes blocks of
// vertices in registers.
#include "prepared/cpu/sweep.hpp"

#include "cpu/instructions/registers.hpp"
#include "prepared/cpu/walk.hpp"
#include "prepared/metric/loops.hpp"

namespace nearfar::prepared::NEARFAR_ISA {

template <class Value, class Out>
void sweep_one(const Metric<Value>& metric, int32_t source, Value* path, Value* space,
               int32_t* ancestor, Out* out) {
  const Arcs& arcs = metric.arcs;
  upward_space(arcs, metric.up, source, space);
  const int64_t* first = metric.down.first;
  const int32_t* head_depth = metric.down.head_depth;
  const Value* weight = metric.down.weight;
  auto settle = [&](int32_t v, Value x) __attribute__((always_inline)) {
    for (int64_t j = first[v]; j < first[v + 1]; ++j)
      x = lesser<Value>(x, path[head_depth[j]] + weight[j]);
    path[arcs.depth[v]] = x;
    out[arcs.vertex[v]] = distance_of<Out>(x, metric.step);
  };
  // Only the ancestors of the source start from its search space; they are visited from the root
  // down.
  int32_t v = arcs.n - 1;
  const int32_t last = arcs.depth[source];
  for (int32_t a = source, d = last; a >= 0; a = arcs.parent[a], --d) ancestor[d] = a;
  for (int32_t d = 0; d <= last; ++d) {
    for (; v > ancestor[d]; --v) settle(v, far<Value>());
    settle(v--, space[d]);
  }
  for (; v >= 0; --v) settle(v, far<Value>());
}

namespace {

// Fills `started` with the distances from all sources to their ancestors, and returns the number of
// these. Sources ascend: where a path to the root meets that of the next source, all that is below
// is done, and the values above are those of both.
template <class Value, int kLanes, class L>
NEARFAR_INLINE int32_t climb_lanes(const Arcs& arcs, const Upward<Value>& up,
                                   const int32_t* sources, int count, SweepState<Value>& state) {
  using Vector = typename L::Vector;
  constexpr int kParts = kLanes / L::kCount;
  auto at = [](Value* values, int64_t i) { return values + i * kLanes; };
  int32_t n_touched = 0, shared = -1;  // depth at which the path meets the previous one
  for (int lane = 0; lane < count; ++lane) {
    int32_t v = sources[lane], depth = arcs.depth[v];
    for (Value* x = at(state.path, shared + 1); x < at(state.path, depth + 1); ++x)
      *x = far<Value>();
    at(state.path, depth)[lane] = 0;
    const int32_t next = lane + 1 < count ? sources[lane + 1] : arcs.n;
    for (; v >= 0 && v < next; v = arcs.parent[v], --depth) {
      state.touched[n_touched] = v;
      Value* const to = at(state.started, n_touched++);
      Vector x[kParts];
      for (int k = 0; k < kParts; ++k) {
        x[k] = L::load(at(state.path, depth) + k * L::kCount);
        L::store(to + k * L::kCount, x[k]);
      }
      const int64_t end = up.first[v + 1];
      for (int64_t j = up.first[v]; j < end; ++j) {
        Value* const head = at(state.path, up.head_depth[j]);
        const Value w = up.weight[j];
        for (int k = 0; k < kParts; ++k)
          L::store(head + k * L::kCount, lesser<Vector>(L::load(head + k * L::kCount), x[k] + w));
      }
    }
    shared = depth;
  }
  return n_touched;
}

}  // namespace

template <class Value, int kLanes>
void sweep_lanes(const Metric<Value>& metric, const SweepPlan<Value>& plan, const int32_t* sources,
                 int count, SweepState<Value>& state) {
  constexpr std::size_t kBytes =
      sizeof(Value) * kLanes < kRegister ? sizeof(Value) * kLanes : kRegister;
  using L = Lanes<Value, kBytes>;
  constexpr int kParts = kLanes / L::kCount;
  using Vector = typename L::Vector;
  const Arcs& arcs = metric.arcs;
  const int32_t n_touched = climb_lanes<Value, kLanes, L>(arcs, metric.up, sources, count, state);
  const Upward<Value> down = plan.down;
  const Vector nothing = Vector{} + far<Value>();
  int32_t last = n_touched - 1;  // the highest ancestor of a source that is not visited yet
  for (int32_t i = 0; i < plan.count; ++i) {
    const int32_t v = plan.label == nullptr ? plan.count - 1 - i : plan.label[i];
    while (last >= 0 && state.touched[last] > v) --last;
    Vector x[kParts];
    if (last >= 0 && state.touched[last] == v) {
      const Value* from = state.started + static_cast<std::size_t>(last--) * kLanes;
      for (int k = 0; k < kParts; ++k) x[k] = L::load(from + k * L::kCount);
    } else {
      for (int k = 0; k < kParts; ++k) x[k] = nothing;
    }
    const int32_t at = plan.copied ? i : v;
    const int64_t end = down.first[at + 1];
    for (int64_t j = down.first[at]; j < end; ++j) {
      const Value* from = state.path + static_cast<std::size_t>(down.head_depth[j]) * kLanes;
      const Value w = down.weight[j];
      for (int k = 0; k < kParts; ++k)
        x[k] = lesser<Vector>(x[k], L::load(from + k * L::kCount) + w);
    }
    Value* to = state.path + static_cast<std::size_t>(arcs.depth[v]) * kLanes;
    const int32_t r = plan.label == nullptr ? arcs.vertex[v] : i;
    Value* row = state.rows + static_cast<std::size_t>(r) * kLanes;
    for (int k = 0; k < kParts; ++k) {
      L::store(to + k * L::kCount, x[k]);
      if (plan.label == nullptr)
        L::stream(row + k * L::kCount, x[k]);
      else
        L::store(row + k * L::kCount, x[k]);
    }
  }
  stream_end();
}

namespace {

// Copies four columns of four lanes, transposed in registers if values are results without
// conversion.
template <class Value, class Out, int kLanes>
NEARFAR_INLINE void tile(const Value* const* from, int lane, Out* const* rows, int64_t column,
                         double step) {
  if constexpr (sizeof(Value) == 4 && sizeof(Out) == 4 &&
                std::is_floating_point_v<Value> == std::is_floating_point_v<Out>) {
    typedef Value Quad __attribute__((vector_size(16)));
    Quad a[4], b[4];
    for (int r = 0; r < 4; ++r) std::memcpy(&a[r], from[r] + lane, 16);
    nearfar::NEARFAR_ISA::interleave(a, b);
    nearfar::NEARFAR_ISA::interleave(b, a);
    for (int l = 0; l < 4; ++l) std::memcpy(rows[lane + l] + column, &a[l], 16);
  } else {
    for (int r = 0; r < 4; ++r)
      for (int l = 0; l < 4; ++l)
        rows[lane + l][column + r] = distance_of<Out>(from[r][lane + l], step);
  }
}

}  // namespace

template <class Value, class Out, int kLanes>
void write_rows(const Value* values, const int32_t* place, int64_t n, int count, double step,
                Out* const* rows) {
  constexpr int64_t kBlock = 64;  // columns whose values stay in the first-level cache
  auto of = [&](int64_t i) {
    return values + static_cast<std::size_t>(place == nullptr ? i : place[i]) * kLanes;
  };
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    for (int lane = 0; lane < count; lane += 4) {
      int64_t i = begin;
      if (count - lane >= 4)
        for (; i + 4 <= end; i += 4) {
          const Value* from[4] = {of(i), of(i + 1), of(i + 2), of(i + 3)};
          tile<Value, Out, kLanes>(from, lane, rows, i, step);
        }
      const int last = count - lane < 4 ? count : lane + 4;
      for (; i < end; ++i)
        for (int l = lane; l < last; ++l) rows[l][i] = distance_of<Out>(of(i)[l], step);
    }
  }
}

#define NEARFAR_SWEEP(Value, Out)                                                              \
  template void sweep_one<Value, Out>(const Metric<Value>&, int32_t, Value*, Value*, int32_t*, \
                                      Out*);
#define NEARFAR_SWEEP_LANES(Value, kLanes)                                                \
  template void sweep_lanes<Value, kLanes>(const Metric<Value>&, const SweepPlan<Value>&, \
                                           const int32_t*, int, SweepState<Value>&);
#define NEARFAR_SWEEP_ROWS(Value, Out, kLanes)                                                     \
  template void write_rows<Value, Out, kLanes>(const Value*, const int32_t*, int64_t, int, double, \
                                               Out* const*);
NEARFAR_SWEEP(uint32_t, int32_t)
NEARFAR_SWEEP(uint64_t, int64_t)
NEARFAR_SWEEP(int64_t, int32_t)
NEARFAR_SWEEP(int64_t, int64_t)
NEARFAR_SWEEP(uint32_t, float)
NEARFAR_SWEEP(uint32_t, double)
NEARFAR_SWEEP(uint64_t, float)
NEARFAR_SWEEP(uint64_t, double)
NEARFAR_SWEEP(int64_t, float)
NEARFAR_SWEEP(int64_t, double)
NEARFAR_SWEEP(float, float)
NEARFAR_SWEEP(double, double)
NEARFAR_SWEEP_LANES(uint32_t, 16)
NEARFAR_SWEEP_LANES(uint32_t, 32)
NEARFAR_SWEEP_LANES(uint64_t, 8)
NEARFAR_SWEEP_LANES(uint64_t, 16)
NEARFAR_SWEEP_LANES(int64_t, 8)
NEARFAR_SWEEP_LANES(int64_t, 16)
NEARFAR_SWEEP_LANES(float, 16)
NEARFAR_SWEEP_LANES(float, 32)
NEARFAR_SWEEP_LANES(double, 8)
NEARFAR_SWEEP_LANES(double, 16)
#define NEARFAR_SWEEP_ROWS_BOTH(Value, Out, kLanes) \
  NEARFAR_SWEEP_ROWS(Value, Out, kLanes)            \
  NEARFAR_SWEEP_ROWS(Value, Out, 2 * kLanes)
NEARFAR_SWEEP_ROWS_BOTH(uint32_t, int32_t, 16)
NEARFAR_SWEEP_ROWS_BOTH(uint32_t, float, 16)
NEARFAR_SWEEP_ROWS_BOTH(uint32_t, double, 16)
NEARFAR_SWEEP_ROWS_BOTH(uint64_t, int64_t, 8)
NEARFAR_SWEEP_ROWS_BOTH(uint64_t, float, 8)
NEARFAR_SWEEP_ROWS_BOTH(uint64_t, double, 8)
NEARFAR_SWEEP_ROWS_BOTH(int64_t, int32_t, 8)
NEARFAR_SWEEP_ROWS_BOTH(int64_t, int64_t, 8)
NEARFAR_SWEEP_ROWS_BOTH(int64_t, float, 8)
NEARFAR_SWEEP_ROWS_BOTH(int64_t, double, 8)
NEARFAR_SWEEP_ROWS_BOTH(float, float, 16)
NEARFAR_SWEEP_ROWS_BOTH(double, double, 8)

}  // namespace nearfar::prepared::NEARFAR_ISA
