// Validates that arrays from a file are those of a prepared graph, because the loops index by them
// without checks.
//
// First the tree, in one pass: labels and vertices are inverse to each other, parents have greater
// labels, subtrees are intervals. Then each label, on several workers: its arcs lead to its own
// ancestors, and all but the one to its parent are arcs of the parent too (so every lower triangle
// is complete); each lower arc ends at the label and starts at the label it names; each edge is
// stored where its ends require. Linear in arcs and edges except for searches in short sorted rows.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/with_value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int32_t kBlock = 2048;  // labels

bool in_range(int64_t x, int64_t end) {
  return x >= 0 && x < end;
}

// Row starts begin at 0, never decrease and end at the number of entries.
bool are_rows(const int64_t* first, int32_t n, int64_t entries) {
  if (first[0] != 0 || first[n] != entries) return false;
  for (int32_t v = 0; v < n; ++v)
    if (first[v] > first[v + 1]) return false;
  return true;
}

const char* wrong_in_tree(const Arcs& a, const int32_t* counts) {
  std::vector<int32_t> least(at(a.n)), size(at(a.n), 1);
  std::iota(least.begin(), least.end(), 0);
  for (int32_t x = 0; x < a.n; ++x)
    if (!in_range(a.vertex[x], a.n) || a.label[a.vertex[x]] != x) return "tree.vertex";
  for (int32_t x = 0; x < a.n; ++x) {
    const int32_t up = a.parent[x];
    if (a.low[x] != least[at(x)] || x - a.low[x] + 1 != size[at(x)]) return "tree.low";
    if (up == -1) continue;
    if (up <= x || up >= a.n) return "tree.parent";
    least[at(up)] = std::min(least[at(up)], least[at(x)]);
    size[at(up)] += size[at(x)];
  }
  for (int32_t x = a.n - 1; x >= 0; --x) {
    const int32_t up = a.parent[x];
    if (a.depth[x] != (up < 0 ? 0 : a.depth[up] + 1)) return "tree.depth";
    if (counts[x] != a.first[x + 1] - a.first[x]) return "tree.arcs";
  }
  return nullptr;
}

bool has_arc(const Arcs& a, int32_t x, int32_t depth) {
  const int32_t* end = a.head_depth + a.first[x + 1];
  const int32_t* found = std::lower_bound(a.head_depth + a.first[x], end, depth);
  return found != end && *found == depth;
}

// Ascending depths of ancestors of x, the parent last; the others are the parent's too.
bool arcs_are_right(const Arcs& a, int32_t x) {
  const int64_t from = a.first[x], end = a.first[x + 1];
  const int32_t up = a.parent[x];
  if (up < 0) return from == end;
  if (from == end || a.head_depth[end - 1] != a.depth[up]) return false;
  int64_t at_parent = a.first[up];
  const int64_t parent_end = a.first[up + 1];
  int32_t before = -1;
  for (int64_t j = from; j < end; ++j) {
    const int32_t depth = a.head_depth[j];
    if (depth <= before) return false;
    before = depth;
    if (j + 1 == end) break;
    while (at_parent < parent_end && a.head_depth[at_parent] < depth) ++at_parent;
    if (at_parent == parent_end || a.head_depth[at_parent] != depth) return false;
  }
  return true;
}

bool lower_arcs_are_right(const Arcs& a, int32_t x) {
  int32_t before = -1;
  for (int64_t q = a.lower_first[x]; q < a.lower_first[x + 1]; ++q) {
    const int32_t tail = a.lower_tail[q], arc = a.lower_arc[q];
    if (tail <= before || tail < a.low[x] || tail >= x) return false;
    if (arc < a.first[tail] || arc >= a.first[tail + 1]) return false;
    if (a.head_depth[arc] != a.depth[x]) return false;
    before = tail;
  }
  return true;
}

// Each edge except self-loops is listed once, at its lower end.
template <class Index>
bool edges_are_right(const Arcs& a, int32_t x, const Index* heads, const int32_t* tails, int64_t m,
                     std::atomic<uint8_t>* seen) {
  for (int64_t i = a.edge_first[x]; i < a.edge_first[x + 1]; ++i) {
    const int32_t e = a.edge[i], place = a.edge_place[i];
    if (!in_range(e, m) || place < 0) return false;
    const bool down = place % 2 == 1;
    const int32_t tail = a.label[tails[e]], head = a.label[heads[e]];
    const int32_t high = down ? tail : head;
    if ((down ? head : tail) != x || high <= x || a.low[high] > x) return false;
    if (a.depth[high] != place / 2 || !has_arc(a, x, place / 2)) return false;
    if (seen[e].exchange(1, std::memory_order_relaxed) != 0) return false;
  }
  return true;
}

// Returns the name of the first invalid array, or an empty string.
std::string check_arcs(const ArcsView& view, const Ints& counts, const ConstArray& indptr,
                       const ConstArray& indices, int threads) {
  const Arcs& a = view.arcs();
  if (counts.size() != at(a.n) || indptr.size() != at(a.n) + 1) return "tree.arcs";
  nb::gil_scoped_release release;
  if (!are_rows(a.first, a.n, a.n_arcs)) return "arcs.first";
  if (!are_rows(a.lower_first, a.n, a.n_arcs)) return "arcs.lower_first";
  if (!are_rows(a.edge_first, a.n, a.n_edges)) return "arcs.edge_first";
  if (const char* wrong = wrong_in_tree(a, counts.data())) return wrong;
  return with_index_type(indices.dtype(), [&](auto index) -> std::string {
    using Index = decltype(index);
    const auto* heads = static_cast<const Index*>(indices.data());
    const auto* starts = static_cast<const Index*>(indptr.data());
    const auto m = static_cast<int64_t>(indices.size());
    std::vector<int32_t> tails(at(m));
    int64_t loops = 0;
    for (int32_t u = 0; u < a.n; ++u)
      for (Index e = starts[u]; e < starts[u + 1]; ++e) {
        tails[at(e)] = u;
        loops += heads[e] == u;
      }
    if (a.n_edges != m - loops) return "arcs.edge";
    std::vector<std::atomic<uint8_t>> seen(at(m));
    std::atomic<const char*> wrong{nullptr};
    spread_blocks(a.n, kBlock, threads, [&](const auto& each_block, Interrupt& interrupt) {
      each_block([&](int64_t first, int64_t last) {
        for (auto x = static_cast<int32_t>(first); x < last && wrong == nullptr; ++x) {
          interrupt.poll(at(a.first[x + 1] - a.first[x]) + 16);
          if (!arcs_are_right(a, x)) wrong = "arcs.head_depth";
          if (wrong == nullptr && !lower_arcs_are_right(a, x)) wrong = "arcs.lower_arc";
          if (wrong == nullptr && !edges_are_right(a, x, heads, tails.data(), m, seen.data()))
            wrong = "arcs.edge";
        }
      });
    });
    return wrong == nullptr ? "" : wrong.load();
  });
}

// Whether queries follow existing arcs, at the arcs' own weights.
bool check_queries(const ArcsView& view, const ConstArray& weights, int sides, int side,
                   const Longs& first, const Ints& depths, const ConstArray& values, int threads) {
  const Arcs& a = view.arcs();
  const auto entries = static_cast<int64_t>(depths.size());
  if (first.size() != at(a.n) + 1 || values.size() != depths.size() ||
      values.dtype() != weights.dtype() || weights.size() != at(sides * a.n_arcs))
    return false;
  std::atomic<bool> right{true};
  with_value(weights.dtype(), [&](auto tag) {
    using Value = decltype(tag);
    const auto* of_arc = static_cast<const Value*>(weights.data());
    const auto* own = static_cast<const Value*>(values.data());
    nb::gil_scoped_release release;
    if (!are_rows(first.data(), a.n, entries)) {
      right = false;
      return;
    }
    spread_blocks(a.n, kBlock, threads, [&](const auto& each_block, Interrupt& interrupt) {
      each_block([&](int64_t from, int64_t to) {
        for (auto x = static_cast<int32_t>(from); x < to && right; ++x) {
          int64_t j = a.first[x];
          const int64_t end = a.first[x + 1];
          interrupt.poll(at(end - j) + 16);
          for (int64_t i = first.data()[x]; i < first.data()[x + 1]; ++i, ++j) {
            while (j < end && a.head_depth[j] != depths.data()[i]) ++j;
            if (j == end || of_arc[sides * j + side] != own[i]) {
              right = false;
              break;
            }
          }
        }
      });
    });
  });
  return right;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_check_arcs", &prepared::check_arcs, arg("view"), arg("counts"), arg("indptr"),
        arg("indices"), arg("threads"));
  m.def("prepared_check_queries", &prepared::check_queries, arg("view"), arg("weights"),
        arg("sides"), arg("side"), arg("first"), arg("depths"), arg("values"), arg("threads"));
}
}  // namespace nearfar
