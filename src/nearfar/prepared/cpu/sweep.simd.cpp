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

template <class Value, int kLanes>
void sweep_lanes(const Metric<Value>& metric, const SweepPlan<Value>& plan, const int32_t* sources,
                 int count, SweepState<Value>& state) {
  constexpr std::size_t kBytes =
      sizeof(Value) * kLanes < kRegister ? sizeof(Value) * kLanes : kRegister;
  using L = Lanes<Value, kBytes>;
  constexpr int kParts = kLanes / L::kCount;
  using Vector = typename L::Vector;
  const Arcs& arcs = metric.arcs;
  int32_t n_touched = 0;
  for (int lane = 0; lane < count; ++lane) {
    upward_space(arcs, metric.up, sources[lane], state.space);
    int32_t depth = arcs.depth[sources[lane]];
    for (int32_t v = sources[lane]; v >= 0; v = arcs.parent[v], --depth) {
      int32_t& place = state.place[v];
      if (place < 0) {
        place = n_touched;
        state.touched[n_touched++] = v;
        for (int i = 0; i < kLanes; ++i) state.started[place * kLanes + i] = far<Value>();
      }
      state.started[place * kLanes + lane] = state.space[depth];
    }
  }
  const Vector nothing = Vector{} + far<Value>();
  for (int32_t i = 0; i < plan.count; ++i) {
    const int32_t v = plan.label == nullptr ? plan.count - 1 - i : plan.label[i];
    const int32_t at = plan.label == nullptr ? v : i;
    Vector x[kParts];
    for (int k = 0; k < kParts; ++k) x[k] = nothing;
    const int32_t place = state.place[v];
    if (place >= 0)
      for (int k = 0; k < kParts; ++k)
        x[k] = L::load(state.started + static_cast<std::size_t>(place) * kLanes + k * L::kCount);
    const int64_t end = plan.first[at + 1];
    for (int64_t j = plan.first[at]; j < end; ++j) {
      const Value* from = state.path + static_cast<std::size_t>(plan.head_depth[j]) * kLanes;
      const Value w = plan.weight[j];
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
  for (int32_t i = 0; i < n_touched; ++i) state.place[state.touched[i]] = -1;
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
