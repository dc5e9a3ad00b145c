// Searches the few edges that rounding leaves undecided for a negative cycle, in exact integers.
#include "algorithms/bellman_ford/exact_cycles.hpp"

#include <bit>

#include "algorithms/bellman_ford/subtree.hpp"

namespace nearfar::bellman_ford {
namespace {

// Rows of exact integer weights, in the form that the subtree method reads.
template <int kLimbs>
struct ExactRows {
  using Weight = Fixed<kLimbs>;
  Index n = 0;
  RowStarts indptr;
  const Index* indices = nullptr;
  const Weight* weights = nullptr;
};

// Positions of the edges of each row, rows by tail or by head.
template <class End>
std::pair<std::vector<int64_t>, std::vector<int64_t>> rows_by(int64_t n,
                                                              const std::vector<ExactEdge>& edges,
                                                              End&& end) {
  std::vector<int64_t> begins(n + 1, 0), places(edges.size());
  for (const auto& edge : edges) ++begins[end(edge) + 1];
  for (int64_t v = 0; v < n; ++v) begins[v + 1] += begins[v];
  std::vector<int64_t> next(begins.begin(), begins.end() - 1);
  for (std::size_t i = 0; i < edges.size(); ++i)
    places[next[end(edges[i])]++] = static_cast<int64_t>(i);
  return {std::move(begins), std::move(places)};
}

// Removes every edge whose tail no other edge enters or whose head none leaves, until each vertex
// has both. O(n + edges).
void keep_cyclic(int64_t n, std::vector<ExactEdge>& edges) {
  std::vector<char> gone(edges.size(), 0);
  auto peel = [&](auto&& near, auto&& far) {
    const auto [begins, places] = rows_by(n, edges, near);
    std::vector<int64_t> left(n, 0), bare;
    for (std::size_t i = 0; i < edges.size(); ++i) left[far(edges[i])] += !gone[i];
    for (int64_t v = 0; v < n; ++v)
      if (left[v] == 0) bare.push_back(v);
    while (!bare.empty()) {
      const int64_t v = bare.back();
      bare.pop_back();
      for (int64_t at = begins[v]; at < begins[v + 1]; ++at) {
        const int64_t i = places[at];
        if (gone[i]) continue;
        gone[i] = 1;
        if (--left[far(edges[i])] == 0) bare.push_back(far(edges[i]));
      }
    }
  };
  auto tail = [](const ExactEdge& edge) { return edge.tail; };
  auto head = [](const ExactEdge& edge) { return edge.head; };
  peel(tail, head);
  peel(head, tail);
  std::size_t count = 0;
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (!gone[i]) edges[count++] = edges[i];
  edges.resize(count);
}

template <int kLimbs>
std::vector<int64_t> cycle_in_limbs(int64_t n, const std::vector<ExactEdge>& edges, int low,
                                    const Poll& poll) {
  const auto [begins, places] = rows_by(n, edges, [](const ExactEdge& edge) { return edge.tail; });
  std::vector<Index> heads(edges.size());
  std::vector<Fixed<kLimbs>> weights(edges.size()), distance(n);
  for (std::size_t at = 0; at < edges.size(); ++at) {
    const ExactEdge& edge = edges[places[at]];
    heads[at] = static_cast<Index>(edge.head);
    if (edge.weight.mantissa != 0)
      weights[at].add(edge.weight.mantissa, edge.weight.exponent - low);
  }
  Outcome outcome;
  std::vector<Arrival> arrival(n);
  const ExactRows<kLimbs> rows{static_cast<Index>(n), begins.data(), heads.data(), weights.data()};
  subtree(rows, Index{-1}, distance.data(), arrival, outcome, poll);
  return outcome.cycle;
}

}  // namespace

std::vector<int64_t> exact_cycle(int64_t n, std::vector<ExactEdge> edges, const Poll& poll) {
  keep_cyclic(n, edges);
  if (edges.empty()) return {};
  poll(edges.size() + static_cast<uint64_t>(n));
  std::vector<int64_t> names;  // of the remaining vertices, in order
  {
    std::vector<int64_t> place(n, -1);
    for (const auto& edge : edges) place[edge.tail] = 0;  // every head is a tail as well
    for (int64_t v = 0; v < n; ++v)
      if (place[v] == 0) {
        place[v] = static_cast<int64_t>(names.size());
        names.push_back(v);
      }
    for (auto& edge : edges) edge.tail = place[edge.tail], edge.head = place[edge.head];
  }
  const auto count = static_cast<int64_t>(names.size());
  int low = std::numeric_limits<int>::max(), high = std::numeric_limits<int>::min();
  for (const auto& edge : edges) {
    if (edge.weight.mantissa == 0) continue;
    low = std::min(low, edge.weight.exponent);
    high = std::max(high, edge.weight.top());
  }
  if (high < low) return {};  // all weights are 0
  const int bits = high - low + static_cast<int>(std::bit_width(static_cast<uint64_t>(count))) + 2;
  auto cycle = bits <= 128   ? cycle_in_limbs<2>(count, edges, low, poll)
               : bits <= 384 ? cycle_in_limbs<6>(count, edges, low, poll)
                             : cycle_in_limbs<35>(count, edges, low, poll);
  for (int64_t& v : cycle) v = names[v];
  return cycle;
}

}  // namespace nearfar::bellman_ford
