// Point queries: walk from both ends to the root.
//
// All arcs of a label lead to its ancestors, so the search space of a vertex is its path to the
// root, and going along it in order settles every label when it is reached: no queue, and the
// distances so far are an array indexed by depth. The two walks meet at a common ancestor. Up to
// the lowest one each goes its own way; from there on both are at the same label, and a label as
// far as the best meeting so far cannot improve it. Dibbelt, Strasser and Wagner 2016, section 8.2
// ("elimination tree query").
#include "prepared/walk.hpp"

#include "prepared/loops.hpp"

namespace nearfar::prepared::NEARFAR_ISA {
namespace {

// One source's distances by depth and, where a path is wanted, the depth that each came from.
template <class Value, bool kTraced>
struct Space {
  Value* distance;
  DepthBeside<Value>* from = nullptr;

  NEARFAR_INLINE void start(int32_t depth) const {
    for (int32_t i = 0; i < depth; ++i) distance[i] = far<Value>();
    distance[depth] = 0;
    if constexpr (kTraced) from[depth] = -1;
  }

  // Over the arcs of v, which lies at `depth`.
  NEARFAR_INLINE void relax(const Upward<Value>& arcs, int32_t v, int32_t depth) const {
    using L = Lanes<Value>;
    using Before = Lanes<DepthBeside<Value>>;
    using Vector = typename L::Vector;
    const Value d = distance[depth];
    const int64_t first = arcs.first[v];
    const Value* weight = arcs.weight + first;
    const Vector wide = L::template spread<1>(&d);
    const auto here = typename Before::Vector{} + depth;
    for_arcs<Value, 1>(
        arcs.head_depth + first, arcs.first[v + 1] - first,
        [&](int64_t j, int32_t slot) {
          const Vector old = L::load(distance + slot), sum = L::load(weight + j) + wide;
          L::store(distance + slot, lesser<Vector>(old, sum));
          if constexpr (kTraced)
            Before::store(from + slot, old <= sum ? Before::load(from + slot) : here);
        },
        [&](int64_t j, int32_t slot) {
          const Value sum = d + weight[j];
          if constexpr (kTraced) from[slot] = sum < distance[slot] ? depth : from[slot];
          distance[slot] = lesser<Value>(distance[slot], sum);
        });
  }

  // From v up to `stop`, which is not relaxed.
  NEARFAR_INLINE void climb(const Arcs& arcs, const Upward<Value>& up, int32_t v,
                            int32_t stop) const {
    for (int32_t depth = arcs.depth[v]; v != stop; v = arcs.parent[v], --depth)
      if (!is_far(distance[depth])) relax(up, v, depth);
  }
};

template <class Value, bool kTraced>
NEARFAR_INLINE Value walk(const Metric<Value>& metric, int32_t source, int32_t target,
                          const Space<Value, kTraced>& forward,
                          const Space<Value, kTraced>& backward, int32_t& meeting) {
  const Arcs& arcs = metric.arcs;
  meeting = -1;
  const int32_t common = common_ancestor(arcs, source, target);
  if (common < 0) return far<Value>();
  forward.start(arcs.depth[source]);
  backward.start(arcs.depth[target]);
  forward.climb(arcs, metric.up, source, common);
  backward.climb(arcs, metric.down, target, common);
  Value best = far<Value>();
  int32_t depth = arcs.depth[common];
  for (int32_t v = common; v >= 0; v = arcs.parent[v], --depth) {
    const Value f = forward.distance[depth], b = backward.distance[depth];
    const bool f_there = !is_far(f), b_there = !is_far(b);
    if (f_there && b_there && f + b < best) {
      best = f + b;
      meeting = depth;
    }
    if (f_there && (!metric.prunes || f < best)) forward.relax(metric.up, v, depth);
    if (b_there && (!metric.prunes || b < best)) backward.relax(metric.down, v, depth);
  }
  return best;
}

}  // namespace

template <class Value>
void upward_space(const Arcs& arcs, const Upward<Value>& up, int32_t from, Value* space) {
  const Space<Value, false> all{space};
  all.start(arcs.depth[from]);
  all.climb(arcs, up, from, -1);
}

template <class Value>
Value distance(const Metric<Value>& metric, int32_t source, int32_t target, Value* forward,
               Value* backward, int32_t& meeting) {
  return walk<Value, false>(metric, source, target, {forward}, {backward}, meeting);
}

template <class Value>
Value traced_distance(const Metric<Value>& metric, int32_t source, int32_t target, Value* forward,
                      Value* backward, DepthBeside<Value>* forward_from,
                      DepthBeside<Value>* backward_from, int32_t& meeting) {
  return walk<Value, true>(metric, source, target, {forward, forward_from},
                           {backward, backward_from}, meeting);
}

#define NEARFAR_WALK(Value)                                                                     \
  template void upward_space<Value>(const Arcs&, const Upward<Value>&, int32_t, Value*);        \
  template Value distance<Value>(const Metric<Value>&, int32_t, int32_t, Value*, Value*,        \
                                 int32_t&);                                                     \
  template Value traced_distance<Value>(const Metric<Value>&, int32_t, int32_t, Value*, Value*, \
                                        DepthBeside<Value>*, DepthBeside<Value>*, int32_t&);
NEARFAR_WALK(uint32_t)
NEARFAR_WALK(uint64_t)
NEARFAR_WALK(int64_t)
NEARFAR_WALK(float)
NEARFAR_WALK(double)

}  // namespace nearfar::prepared::NEARFAR_ISA
