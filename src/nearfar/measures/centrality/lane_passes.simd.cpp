// The loops of lane_passes.hpp.
#include "measures/centrality/lane_passes.hpp"

#include "cpu/instructions/registers.hpp"
#include "cpu/search/arithmetic.hpp"
#include "measures/paths/scaled.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

using measures::kLanes;
using measures::kMostLanes;
using measures::kMostPaths;
using measures::LaneGraph;
using measures::LaneSpace;

constexpr int kPerPart = static_cast<int>(kRegister / sizeof(double));
constexpr int kParts = kLanes / kPerPart;
typedef double Part __attribute__((vector_size(kRegister)));
typedef int64_t Bits __attribute__((vector_size(kRegister)));

// All ones in each lane of part p that is set in the mask.
NEARFAR_INLINE Bits chosen(uint8_t mask, int p) {
  Bits bit;
  for (int i = 0; i < kPerPart; ++i) bit[i] = int64_t{1} << (p * kPerPart + i);
  return ((Bits{} + int64_t{mask}) & bit) == bit;
}

NEARFAR_INLINE Part load(const double* from) {
  return *reinterpret_cast<const Part*>(from);
}

// Eight numbers in registers.
struct Row {
  Part part[kParts] = {};

  NEARFAR_INLINE void add_where(uint8_t mask, const double* from) {
#if defined(__AVX512DQ__)
    part[0] = _mm512_mask_add_pd(part[0], mask, part[0], load(from));
#else
    for (int p = 0; p < kParts; ++p)
      part[p] += (Part)((Bits)load(from + p * kPerPart) & chosen(mask, p));
#endif
  }
  NEARFAR_INLINE void store_where(uint8_t mask, double* to) const {
    for (int p = 0; p < kParts; ++p) {
      Part& there = *reinterpret_cast<Part*>(to + p * kPerPart);
      there = chosen(mask, p) ? part[p] : there;
    }
  }
};

// Sums x over the vertices of a row that are on the level in `now`.
NEARFAR_INLINE Row pulled(const int32_t* t, const int32_t* end, const uint8_t* now,
                          const double* x) {
  Row sum;
  for (; t != end; ++t) sum.add_where(now[*t], x + static_cast<std::size_t>(*t) * kLanes);
  return sum;
}

NEARFAR_INLINE double total(const Row& row) {
  double sums[kLanes / 2];
  for (int i = 0; i < kLanes / 2; ++i)
    sums[i] = row.part[2 * i / kPerPart][2 * i % kPerPart] +
              row.part[(2 * i + 1) / kPerPart][(2 * i + 1) % kPerPart];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Selects the visits of the batch that concern a group of eight sources.
void choose_group(LaneSpace& space, int from) {
  const auto& [vertex, lanes, first] = space.batch;
  auto& group = space.group;
  const std::size_t n_visits = first.data[first.size - 1];
  group.vertex.reserve(n_visits + 1);
  group.lanes.reserve(n_visits + 1);
  group.first.size = 0;
  std::size_t count = 0, i = 0;
  for (std::size_t level = 0; level + 1 < first.size; ++level) {
    group.first.push(count);
    for (; i < first.data[level + 1]; ++i) {
      const auto mask = static_cast<uint8_t>(lanes.data[i] >> from);
      group.vertex.data[count] = vertex.data[i];
      group.lanes.data[count] = mask;
      count += mask != 0;
    }
    if (group.first.data[level] == count) return;  // all of them have visited their farthest vertex
  }
  group.first.push(count);
}

// Writes the lanes of the visits of one level to `now`, or zeros.
NEARFAR_INLINE void show(LaneSpace& space, std::size_t level, bool on) {
  const auto& [vertex, lanes, first] = space.group;
  for (std::size_t i = first.data[level]; i < first.data[level + 1]; ++i)
    space.now[static_cast<std::size_t>(vertex.data[i])] = on ? lanes.data[i] : uint8_t{0};
}

// Returns the largest path count.
double count_paths(const LaneGraph& graph, LaneSpace& space) {
  const auto& [vertex, lanes, first] = space.group;
  const uint8_t* const now = space.now;
  double* const x = space.x;
  Row most, one;
  for (Part& part : one.part) part = Part{} + 1.0;
  for (std::size_t i = 0; i < first.data[1]; ++i)
    one.store_where(lanes.data[i], x + static_cast<std::size_t>(vertex.data[i]) * kLanes);
  for (std::size_t level = 1; level + 1 < first.size; ++level) {
    show(space, level - 1, true);
    for (std::size_t i = first.data[level]; i < first.data[level + 1]; ++i) {
      const int32_t v = vertex.data[i];
      const Row paths =
          pulled(graph.tails + graph.in_first[v], graph.tails + graph.in_first[v + 1], now, x);
      for (int p = 0; p < kParts; ++p)
        most.part[p] = paths.part[p] > most.part[p] ? paths.part[p] : most.part[p];
      paths.store_where(lanes.data[i], x + static_cast<std::size_t>(v) * kLanes);
    }
    show(space, level - 1, false);
  }
  double greatest = 1;
  for (int i = 0; i < kLanes; ++i) {
    const double paths = most.part[i / kPerPart][i % kPerPart];
    greatest = paths > greatest ? paths : greatest;
  }
  return greatest;
}

}  // namespace

void lane_visits(const LaneGraph& graph, LaneSpace& space, const int32_t* sources, int count) {
  const auto n = static_cast<std::size_t>(graph.n);
  uint64_t* const seen = space.seen;
  uint64_t* const met = space.met;
  auto& [vertex, lanes, first] = space.batch;
  first.size = 0;
  first.push(0);
  vertex.reserve(n + kMostLanes + 1);
  lanes.reserve(n + kMostLanes + 1);
  std::size_t low = 0, high = 0;
  for (; high < static_cast<std::size_t>(count); ++high) {
    vertex.data[high] = sources[high];
    seen[sources[high]] = lanes.data[high] = uint64_t{1} << high;
  }
  while (low < high) {
    first.push(high);
    vertex.reserve(high + n + 1);
    lanes.reserve(high + n + 1);
    std::size_t next = high;
    const auto each_head = [&](auto&& act) {
      for (std::size_t i = low; i < high; ++i)
        for (int32_t e = graph.first[vertex.data[i]]; e < graph.first[vertex.data[i] + 1]; ++e)
          act(graph.heads[e], lanes.data[i]);
    };
    if (high - low > n / 32) {
      each_head([&](int32_t t, uint64_t mask) { met[t] |= mask; });
      for (std::size_t v = 1; v < n; ++v) {
        const uint64_t found = met[v] & ~seen[v];
        met[v] = 0;
        seen[v] |= found;
        vertex.data[next] = static_cast<int32_t>(v);
        lanes.data[next] = found;
        next += found != 0;
      }
    } else {
      each_head([&](int32_t t, uint64_t mask) {
        const uint64_t found = mask & ~seen[t];
        vertex.data[next] = t;
        next += (met[t] == 0) & (found != 0);
        met[t] |= found;
      });
      for (std::size_t i = high; i < next; ++i) {
        const int32_t v = vertex.data[i];
        lanes.data[i] = met[v];
        seen[v] |= met[v];
        met[v] = 0;
      }
    }
    low = high;
    high = next;
  }
  for (std::size_t i = 0; i < high; ++i) seen[vertex.data[i]] = 0;
}

namespace {

// Adds to each edge of a row the paths over it: `paths`, times the weights of the sources, times
// the share of its head, in lanes where the head is on the level in `now`.
NEARFAR_INLINE void add_to_edges(const Row& paths, const int32_t* t, const int32_t* end,
                                 const uint8_t* now, const double* x, double* edge) {
  for (; t != end; ++t, ++edge) {
    const double* const share = x + static_cast<std::size_t>(*t) * kLanes;
    Row over;
#if defined(__AVX512DQ__)
    over.part[0] = _mm512_maskz_mul_pd(now[*t], paths.part[0], load(share));
#else
    for (int p = 0; p < kParts; ++p)
      over.part[p] =
          (Part)((Bits)(paths.part[p] * load(share + p * kPerPart)) & chosen(now[*t], p));
#endif
    *edge += total(over);
  }
}

// Processes levels from the farthest: shares of successors are added to those of their
// predecessors.
template <bool kEdges>
void add_shares(const LaneGraph& graph, LaneSpace& space, const double* weights, double* vertices,
                double* edges) {
  const auto& [vertex, lanes, first] = space.group;
  const uint8_t* const now = space.now;
  double* const x = space.x;
  const std::size_t levels = first.size - 1;
  for (std::size_t level = levels; level-- > (kEdges ? 0 : 1);) {
    if (level + 1 < levels) show(space, level + 1, true);
    for (std::size_t i = first.data[level]; i < first.data[level + 1]; ++i) {
      const int32_t v = vertex.data[i];
      double* const here = x + static_cast<std::size_t>(v) * kLanes;
      const int32_t *const row = graph.heads + graph.first[v], *const end =
                                                                   graph.heads + graph.first[v + 1];
      Row sum = pulled(row, end, now, x);
      const auto [all, behind] = graph.ends[v];
      Row through, weighted;
      for (int p = 0; p < kParts; ++p) {
        const Part paths = load(here + p * kPerPart), w = load(weights + p * kPerPart);
        const Part each = (paths * sum.part[p] + behind) * w;
        through.part[p] = (Part)((Bits)each & chosen(lanes.data[i], p));
        weighted.part[p] = (Part)((Bits)(paths * w) & chosen(lanes.data[i], p));
        sum.part[p] += all / paths;
      }
      if constexpr (kEdges) add_to_edges(weighted, row, end, now, x, edges + graph.first[v]);
      if (level > 0) vertices[v] += total(through);
      sum.store_where(lanes.data[i], here);
    }
    if (level + 1 < levels) show(space, level + 1, false);
  }
}

}  // namespace

bool lane_passes(const LaneGraph& graph, LaneSpace& space, int from, const double* weights,
                 double* vertices, double* edges) {
  choose_group(space, from);
  if (!(count_paths(graph, space) < kMostPaths)) return false;
  if (edges == nullptr)
    add_shares<false>(graph, space, weights, vertices, nullptr);
  else
    add_shares<true>(graph, space, weights, vertices, edges);
  return true;
}

}  // namespace nearfar::NEARFAR_ISA
