// Origins of the weights of arcs, and the arcs that a walk followed.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "prepared/metric/metric.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {

// Origin of an arc's weight: the two arcs that replace it, the first followed down and the second
// up, or edges. With two values per arc there is one origin per direction, and edges are {~edge,
// -1}. With one, both directions share it: a downward step uses the arcs in exchanged roles, and
// edges are {~edge up, ~edge down}. Ties go to the first edge and the lowest triangle.
struct Origin {
  int32_t down, up;
};
constexpr int32_t kNowhere = std::numeric_limits<int32_t>::min();

struct Step {
  int64_t arc;
  bool down;          // from its upper to its lower end
  int32_t place = 0;  // position on the path
};

// Returns the arc in [from, end) that leads to `depth`, or -1.
inline int64_t arc_to(const int32_t* depths, int64_t from, int64_t end, int32_t depth) {
  int64_t length = end - from;
  if (length == 0) return -1;
  while (length > 1) {
    const int64_t half = length / 2;
    from += depths[from + half] <= depth ? half : 0;
    length -= half;
  }
  return depths[from] == depth ? from : -1;
}

// Appends the arcs from the label at depth `meeting` down to `v`, in this order. The walk recorded
// no predecessors, because few are needed: a predecessor is an arc whose sum equals the distance
// bit for bit. `path` is working space.
template <class Value>
void trace(const Metric<Value>& metric, const Upward<Value>& up, int32_t v, const Value* space,
           int32_t meeting, bool down, std::vector<int32_t>& path, std::vector<Step>& steps) {
  const Arcs& arcs = metric.arcs;
  path.clear();  // labels by descending depth
  for (int32_t a = v; arcs.depth[a] > meeting; a = arcs.parent[a]) path.push_back(a);
  int32_t to = meeting;
  for (std::size_t i = path.size(); i-- > 0;) {
    const int32_t x = path[i], depth = meeting + static_cast<int32_t>(path.size() - i);
    if (is_far(space[depth]) || (metric.prunes && space[depth] > space[to])) continue;
    const int64_t j = arc_to(up.head_depth, up.first[x], up.first[x + 1], to);
    if (j < 0 || space[depth] + up.weight[j] != space[to]) continue;
    steps.push_back({arc_to(arcs.head_depth, arcs.first[x], arcs.first[x + 1], to), down});
    to = depth;
  }
}

}  // namespace nearfar::prepared
