// Searches within a limit from all sources, by workers that take runs of neighbouring vertices:
// such searches read the same memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "algorithms/bounded/either_csr.hpp"
#include "algorithms/bounded/neighbours.hpp"
#include "algorithms/bounded/search.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::bounded {

inline constexpr int64_t kRun = 64;  // sources that a worker takes at a time

inline std::size_t at(int64_t i) {
  return static_cast<std::size_t>(i);
}

// Positions of the sources in order of vertex.
inline std::vector<uint32_t> in_order_of_vertex(const Ids& sources) {
  std::vector<uint32_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0);
  const int64_t* ids = sources.data();
  if (!std::is_sorted(ids, ids + sources.size()))
    std::stable_sort(order.begin(), order.end(),
                     [ids](uint32_t a, uint32_t b) { return ids[a] < ids[b]; });
  return order;
}

// Called after each search with the position of its source.
template <class C>
using Visit = std::function<void(uint32_t row, const Search<C>& search)>;

// Searches from each source and calls the worker's own visitor after each. Returns the number of
// edges read.
template <class C>
uint64_t each_source(const C& csr, const Ids& sources, std::optional<double> limit,
                     std::size_t most, int threads, const std::function<Visit<C>()>& visitor) {
  const std::vector<uint32_t> order = in_order_of_vertex(sources);
  const auto bound = farthest<typename C::Weight>(limit);
  std::atomic<uint64_t> edges{0};
  spread_blocks(static_cast<int64_t>(order.size()), kRun, threads,
                [&](const auto& each_block, Interrupt& interrupt) {
                  Search<C> search(csr, most);
                  const Visit<C> visit = visitor();
                  each_block([&](int64_t first, int64_t last) {
                    for (std::size_t i = at(first); i < at(last); ++i) {
                      search.run(static_cast<Index>(sources.data()[order[i]]), bound, interrupt);
                      visit(order[i], search);
                    }
                  });
                  edges += search.edges();
                });
  return edges;
}

inline constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// Calls f with unpacked rows for few sources and packed edges for many: packing them takes as long
// as searching from a few sources per thousand edges.
template <class F>
auto visit_rows(GraphView& view, std::size_t sources, int threads, F&& f) {
  const bool many = view.visit([&](const auto& csr) { return 64 * sources >= std::size_t(csr.m); });
  if (many) view.pack(threads);
  return view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    return f(EitherCsr<typename C::Weight>(csr, many));
  });
}

// Called after the searches of one worker from sources that may be close together.
template <class C>
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void alone(uint32_t row, const Search<C>& search) = 0;
  virtual void together(const uint32_t* rows, const typename Neighbours<C>::Group& group) = 0;
};

// Searches from all sources, from close ones together, with one visitor per worker. Returns the
// number of edges read.
template <class C>
uint64_t each_neighbour(const C& csr, const Ids& sources, std::optional<double> limit, int threads,
                        const std::function<std::unique_ptr<Visitor<C>>()>& visitor) {
  using Group = typename Neighbours<C>::Group;
  const std::vector<uint32_t> order = in_order_of_vertex(sources);
  std::vector<int64_t> rising(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rising[i] = sources.data()[order[i]];
  const auto bound = farthest<typename C::Weight>(limit);
  const auto k = static_cast<int64_t>(order.size());
  const int64_t run = std::clamp<int64_t>(k / (4 * threads), kRun, 1 << 16);
  std::atomic<uint64_t> edges{0};
  spread_blocks(k, run, threads, [&](const auto& each_block, Interrupt& interrupt) {
    Neighbours<C> neighbours(csr);
    const auto visit = visitor();
    each_block([&](int64_t first, int64_t last) {
      const uint32_t* const positions = order.data() + first;
      neighbours.run(
          rising.data() + first, at(last - first), bound, interrupt,
          [&](std::size_t i, const Search<C>& search) { visit->alone(positions[i], search); },
          [&](const Group& group) { visit->together(positions, group); });
    });
    edges += neighbours.edges();
  });
  return edges;
}

}  // namespace nearfar::bounded
