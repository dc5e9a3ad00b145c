// The first levels of a breadth-first search, to estimate how fast they grow (graph/facts.py).
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <tuple>
#include <vector>

#include "cpu/bindings/dtypes.hpp"

namespace nearfar {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Returns the number of vertices within 0, 1, 2, ... hops of `start`, the largest vertex of the
// last level, and whether that level was the last one of all. Stops at `most` vertices, `edges`
// edges or `levels` levels, and reads at most `row` edges per vertex. Takes O(edges + row) time and
// n bytes, of which only those of visited vertices are touched.
std::tuple<std::vector<int64_t>, int64_t, bool> ball(ConstArray indptr, ConstArray indices,
                                                     int64_t start, int64_t most, int64_t edges,
                                                     std::size_t levels, int64_t row) {
  return with_index_type(indptr.dtype(), [&](auto tag) {
    using I = decltype(tag);
    if (indices.dtype() != indptr.dtype()) throw nb::type_error("indptr and indices differ");
    if (start < 0 || start + 1 >= static_cast<int64_t>(indptr.size()))
      throw nb::index_error("start is not a vertex");
    const I* const offsets = static_cast<const I*>(indptr.data());
    const I* const targets = static_cast<const I*>(indices.data());
    // calloc leaves the pages untouched: a graph may be far larger than a ball.
    const std::unique_ptr<char[], Free> seen(
        static_cast<char*>(std::calloc(indptr.size(), sizeof(char))));
    if (!seen) throw std::bad_alloc();
    std::vector<I> frontier{static_cast<I>(start)}, next;
    std::vector<int64_t> sizes{1};
    seen[static_cast<std::size_t>(start)] = 1;
    const std::size_t all = indptr.size() - 1;
    bool ended = false;
    for (int64_t looked = 0;
         !ended && sizes.size() <= levels && sizes.back() < most && looked < edges;) {
      next.clear();
      const std::size_t unseen = all - static_cast<std::size_t>(sizes.back());
      for (const I v : frontier) {
        if (next.size() == unseen) break;  // as in dense graphs
        const int64_t begin = offsets[v], end = std::min<int64_t>(offsets[v + 1], begin + row);
        looked += end - begin;
        for (int64_t e = begin; e < end; ++e) {
          char& mark = seen[static_cast<std::size_t>(targets[e])];
          if (mark) continue;
          mark = 1;
          next.push_back(targets[e]);
        }
      }
      ended = next.empty() || next.size() == unseen;
      if (next.empty()) break;
      frontier.swap(next);
      sizes.push_back(sizes.back() + static_cast<int64_t>(frontier.size()));
    }
    const int64_t last = *std::max_element(frontier.begin(), frontier.end());
    return std::tuple(sizes, last, ended);
  });
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("ball", &ball, nb::arg("indptr"), nb::arg("indices"), nb::arg("start"), nb::arg("most"),
        nb::arg("edges"), nb::arg("levels"), nb::arg("row"));
}

}  // namespace nearfar
