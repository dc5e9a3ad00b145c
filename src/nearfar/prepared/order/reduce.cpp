// Vertices that every good elimination order starts with: those of degree 0, 1 and 2.
//
// Eliminating a vertex joins its neighbours. With at most one neighbour that adds nothing, and with
// two it replaces a path by an edge, so the remaining graph keeps its separators and loses
// vertices: a road network loses half, and the dissection of the rest takes half the time. Each
// round takes an independent set, so a long chain is halved round by round and the elimination tree
// has logarithmic height (eliminating from one end would make it as high as the chain is long).
// Eliminating such vertices first is optimal: Bodlaender and Koster 2006, "Safe separators for
// treewidth", rules simplicial and almost simplicial.
#include <algorithm>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/interrupt.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

// Returns both directions of every edge once, sorted, without self-loops.
template <class C>
OwnedStructure undirected(const C& csr) {
  const auto n = static_cast<std::size_t>(csr.n);
  OwnedStructure out;
  out.first.assign(n + 1, 0);
  auto each = [&](auto&& f) {
    for (std::size_t v = 0; v < n; ++v)
      for (auto e = csr.indptr[v]; e < csr.indptr[v + 1]; ++e) {
        const auto t = static_cast<std::size_t>(csr.indices[e]);
        if (t != v) f(v, t);
      }
  };
  each([&](std::size_t v, std::size_t t) {
    ++out.first[v + 1];
    ++out.first[t + 1];
  });
  for (std::size_t v = 0; v < n; ++v) out.first[v + 1] += out.first[v];
  out.neighbour.resize(at(out.first[n]));
  std::vector<int64_t> next(out.first.begin(), out.first.end() - 1);
  each([&](std::size_t v, std::size_t t) {
    out.neighbour[at(next[v]++)] = static_cast<int32_t>(t);
    out.neighbour[at(next[t]++)] = static_cast<int32_t>(v);
  });
  int64_t kept = 0;
  for (std::size_t v = 0; v < n; ++v) {
    auto* from = out.neighbour.data() + out.first[v];
    auto* to = out.neighbour.data() + next[v];
    std::sort(from, to);
    to = std::unique(from, to);
    std::copy(from, to, out.neighbour.data() + kept);
    out.first[v] = kept;
    kept += to - from;
  }
  out.first[n] = kept;
  out.neighbour.resize(at(kept));
  return out;
}

class Reduction {
 public:
  explicit Reduction(const Structure& graph)
      : row_(graph.first, graph.first + graph.n),
        degree_(at(graph.n)),
        neighbour_(graph.neighbour, graph.neighbour + graph.first[graph.n]),
        gone_(at(graph.n), 0),
        round_of_(at(graph.n), -1) {
    for (int32_t v = 0; v < graph.n; ++v) degree_[at(v)] = graph.degree(v);
  }

  void run(std::vector<int32_t>& order, Interrupt& interrupt) {
    std::vector<int32_t> now, later;
    for (int32_t v = 0; v < static_cast<int32_t>(degree_.size()); ++v)
      if (degree_[at(v)] <= 2) now.push_back(v);
    for (int32_t round = 0; !now.empty(); ++round) {
      later.clear();
      interrupt.poll(now.size() + 1);
      for (const int32_t v : now) {
        if (gone_[at(v)] || degree_[at(v)] > 2) continue;
        if (round_of_[at(v)] == round) {  // a neighbour was eliminated in this round
          later.push_back(v);
          continue;
        }
        order.push_back(v);
        eliminate(v, round, later);
      }
      std::sort(later.begin(), later.end());
      later.erase(std::unique(later.begin(), later.end()), later.end());
      now.swap(later);
    }
  }

  // Returns the graph of the remaining vertices, renumbered by `kept`.
  OwnedStructure rest(std::vector<int32_t>& kept) const {
    std::vector<int32_t> number(degree_.size(), -1);
    for (std::size_t v = 0; v < degree_.size(); ++v)
      if (!gone_[v]) {
        number[v] = static_cast<int32_t>(kept.size());
        kept.push_back(static_cast<int32_t>(v));
      }
    OwnedStructure out;
    out.first.assign(1, 0);
    for (const int32_t v : kept) {
      const auto* from = neighbour_.data() + row_[at(v)];
      for (int32_t i = 0; i < degree_[at(v)]; ++i) out.neighbour.push_back(number[at(from[i])]);
      std::sort(out.neighbour.begin() + out.first.back(), out.neighbour.end());
      out.first.push_back(static_cast<int64_t>(out.neighbour.size()));
    }
    return out;
  }

 private:
  // Removes `old` from the neighbours of v; adds `by`, unless it was one already or is -1.
  void replace(int32_t v, int32_t old, int32_t by) {
    auto* from = neighbour_.data() + row_[at(v)];
    int32_t& count = degree_[at(v)];
    auto* place = std::find(from, from + count, old);
    if (by >= 0 && std::find(from, from + count, by) == from + count)
      *place = by;
    else
      *place = from[--count];
  }

  void eliminate(int32_t v, int32_t round, std::vector<int32_t>& later) {
    gone_[at(v)] = 1;
    const auto* from = neighbour_.data() + row_[at(v)];
    const int32_t count = degree_[at(v)];
    const int32_t a = count > 0 ? from[0] : -1, b = count > 1 ? from[1] : -1;
    if (a >= 0) touch(a, v, b, round, later);
    if (b >= 0) touch(b, v, a, round, later);
  }

  void touch(int32_t v, int32_t old, int32_t by, int32_t round, std::vector<int32_t>& later) {
    replace(v, old, by);
    round_of_[at(v)] = round;
    if (degree_[at(v)] <= 2) later.push_back(v);
  }

  const std::vector<int64_t> row_;
  std::vector<int32_t> degree_;
  std::vector<int32_t> neighbour_;
  std::vector<char> gone_;
  std::vector<int32_t> round_of_;  // the last round that eliminated a neighbour
};

nb::tuple undirected_of(GraphView& view) {
  OwnedStructure out = view.visit([](const auto& csr) {
    nb::gil_scoped_release release;
    return undirected(csr);
  });
  return arrays(std::move(out.first), std::move(out.neighbour));
}

nb::tuple reduce(const Longs& first, const Ints& neighbour) {
  const Structure graph{static_cast<int32_t>(first.size()) - 1, first.data(), neighbour.data()};
  std::vector<int32_t> order, kept;
  OwnedStructure rest;
  {
    nb::gil_scoped_release release;
    Interrupt interrupt;
    Reduction reduction(graph);
    reduction.run(order, interrupt);
    rest = reduction.rest(kept);
  }
  return arrays(std::move(order), std::move(kept), std::move(rest.first),
                std::move(rest.neighbour));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_structure", &prepared::undirected_of, arg("view"));
  m.def("prepared_reduce", &prepared::reduce, arg("first"), arg("neighbour"));
}
}  // namespace nearfar
