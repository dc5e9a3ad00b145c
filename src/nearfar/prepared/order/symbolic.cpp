// Symbolic analysis of an elimination order: the elimination tree, the number of arcs of every
// vertex before any arc is built, and then the arcs.
//
// Vertices are renumbered by a postorder of the elimination tree (labels). A vertex's ancestors
// then have greater labels, its subtree is the interval [low, label], and its arcs lead only to
// ancestors, so a depth identifies an ancestor: every search space is an array indexed by depth,
// without a hash table or stamps. Children are numbered with the largest subtree last, which keeps
// long separators consecutive.
//
// The tree: Liu 1990, "The role of elimination trees in sparse factorization". Counts: Gilbert, Ng
// and Peyton 1994, "An efficient algorithm to compute row and column counts for sparse Cholesky
// factorization": almost linear in the edges, without memory for arcs. Arcs: those of a vertex are
// its own upward edges and the arcs of its children (George and Liu 1980). All come from sparse
// Cholesky factorization, of which customization is the (min, +) form; Dibbelt, Strasser and Wagner
// 2016, "Customizable contraction hierarchies", describe the same in terms of routing.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/interrupt.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

// Arrays indexed by label, -1 for "no parent".
struct Tree {
  std::vector<int32_t> vertex, label;  // of each label, of each vertex
  std::vector<int32_t> parent, depth, low;
  std::vector<int32_t> arcs;  // number of arcs upwards
};

std::vector<int32_t> elimination_parents(const Structure& graph, const int32_t* order,
                                         const std::vector<int32_t>& place) {
  const auto n = at(graph.n);
  std::vector<int32_t> parent(n, -1), ancestor(n, -1);
  for (int32_t i = 0; i < graph.n; ++i)
    for (const int32_t t : graph.of(order[i]))
      for (int32_t j = place[at(t)]; j != -1 && j < i;) {
        const int32_t next = ancestor[at(j)];
        ancestor[at(j)] = i;
        if (next == -1) parent[at(j)] = i;
        j = next;
      }
  return parent;
}

// Renumbers the places of the order by a postorder.
Tree postordered(const Structure& graph, const int32_t* order, const std::vector<int32_t>& parent) {
  const auto n = at(graph.n);
  std::vector<int32_t> size(n, 1), first(n, -1), next(n, -1), post(n), by_size(n);
  for (std::size_t v = 0; v < n; ++v)
    if (parent[v] >= 0) size[at(parent[v])] += size[v];
  // In descending order of size and then place: pushing each to the front leaves the smallest
  // first.
  std::vector<int64_t> key(n);
  for (std::size_t v = 0; v < n; ++v)
    key[v] = (static_cast<int64_t>(graph.n - size[v]) << 32) | static_cast<int64_t>(v);
  std::sort(key.begin(), key.end());
  int32_t root = -1;
  for (const int64_t k : key) {
    const auto v = static_cast<int32_t>(k & 0xffffffff);
    int32_t& head = parent[at(v)] < 0 ? root : first[at(parent[at(v)])];
    next[at(v)] = head;
    head = v;
  }
  int32_t count = 0;
  std::vector<int32_t> stack;
  for (int32_t r = root; r >= 0; r = next[at(r)]) {
    stack.push_back(r);
    while (!stack.empty()) {
      const int32_t v = stack.back();
      int32_t& child = first[at(v)];
      if (child >= 0) {
        stack.push_back(child);
        child = next[at(child)];
      } else {
        stack.pop_back();
        post[at(v)] = count++;
      }
    }
  }
  Tree tree;
  tree.vertex.resize(n);
  tree.label.resize(n);
  tree.parent.assign(n, -1);
  tree.depth.assign(n, 0);
  tree.low.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t label = at(post[i]);
    tree.vertex[label] = order[i];
    tree.label[at(order[i])] = post[i];
    if (parent[i] >= 0) tree.parent[label] = post[at(parent[i])];
    tree.low[label] = post[i] - size[i] + 1;
  }
  for (std::size_t v = n; v-- > 0;)
    if (tree.parent[v] >= 0) tree.depth[v] = tree.depth[at(tree.parent[v])] + 1;
  return tree;
}

// Row subtrees: vertex y has an arc from every vertex of the smallest subtree that contains its
// lower neighbours, so arcs are counted at the leaves of those subtrees and subtracted where paths
// meet.
void count_arcs(const Structure& graph, Tree& tree) {
  const auto n = at(graph.n);
  std::vector<int32_t> far_leaf(n, -1), last_leaf(n, -1), set(n);
  auto& count = tree.arcs;
  count.resize(n);
  for (std::size_t v = 0; v < n; ++v) {
    set[v] = static_cast<int32_t>(v);
    count[v] = tree.low[v] == static_cast<int32_t>(v);
  }
  for (int32_t j = 0; j < graph.n; ++j) {
    const int32_t parent = tree.parent[at(j)];
    if (parent >= 0) --count[at(parent)];
    for (const int32_t t : graph.of(tree.vertex[at(j)])) {
      const int32_t i = tree.label[at(t)];
      if (i <= j || tree.low[at(j)] <= far_leaf[at(i)]) continue;
      far_leaf[at(i)] = tree.low[at(j)];
      const int32_t before = last_leaf[at(i)];
      last_leaf[at(i)] = j;
      ++count[at(j)];
      if (before < 0) continue;
      int32_t meet = before;
      while (meet != set[at(meet)]) meet = set[at(meet)];
      for (int32_t s = before; s != meet;) {
        const int32_t up = set[at(s)];
        set[at(s)] = meet;
        s = up;
      }
      --count[at(meet)];
    }
    if (parent >= 0) set[at(j)] = parent;
  }
  for (std::size_t v = 0; v < n; ++v)
    if (tree.parent[v] >= 0) count[at(tree.parent[v])] += count[v];
  for (std::size_t v = 0; v < n; ++v) --count[v];
}

nb::dict analyse(const Longs& first, const Ints& neighbour, const Ints& order) {
  const Structure graph{static_cast<int32_t>(first.size()) - 1, first.data(), neighbour.data()};
  if (order.size() != at(graph.n)) throw nb::type_error("order: wrong size");
  Tree tree;
  {
    nb::gil_scoped_release release;
    std::vector<int32_t> place(at(graph.n), -1);
    for (int32_t i = 0; i < graph.n; ++i) place[at(order.data()[i])] = i;
    tree = postordered(graph, order.data(), elimination_parents(graph, order.data(), place));
    count_arcs(graph, tree);
  }
  nb::dict out;
  out["vertex"] = as_numpy(std::move(tree.vertex));
  out["label"] = as_numpy(std::move(tree.label));
  out["parent"] = as_numpy(std::move(tree.parent));
  out["depth"] = as_numpy(std::move(tree.depth));
  out["low"] = as_numpy(std::move(tree.low));
  out["arcs"] = as_numpy(std::move(tree.arcs));
  return out;
}

// Lists the arcs of every vertex, in ascending order of the depth of their upper ends, and the arcs
// to every vertex, in ascending order of the labels of their lower ends.
nb::dict build(const Longs& first, const Ints& neighbour, const Ints& vertex, const Ints& label,
               const Ints& parent, const Ints& depth, const Ints& arcs) {
  const Structure graph{static_cast<int32_t>(first.size()) - 1, first.data(), neighbour.data()};
  const auto n = at(graph.n);
  for (const Ints* array : {&vertex, &label, &parent, &depth, &arcs})
    if (array->size() != n) throw nb::type_error("tree: wrong size");
  std::vector<int64_t> begin(n + 1, 0), lower_begin(n + 1, 0);
  std::vector<int32_t> head_depth, lower_arc, lower_tail;
  {
    nb::gil_scoped_release release;
    Interrupt interrupt;
    for (std::size_t v = 0; v < n; ++v) begin[v + 1] = begin[v] + arcs.data()[v];
    const std::size_t all = at(begin[n]);
    std::vector<int32_t> head(all), child(n, -1), sibling(n, -1), mark(n, -1), fresh;
    for (std::size_t v = 0; v < n; ++v) {
      const auto me = static_cast<int32_t>(v);
      interrupt.poll(static_cast<uint64_t>(arcs.data()[v]) + 1);
      // The largest child first: its arcs are sorted and usually nearly all of them.
      int32_t* out = head.data() + begin[v];
      int32_t count = 0;
      mark[v] = me;
      int32_t most = -1;
      for (int32_t c = child[v]; c >= 0; c = sibling[at(c)])
        if (most < 0 || arcs.data()[c] > arcs.data()[most]) most = c;
      if (most >= 0)
        for (int64_t j = begin[at(most)]; j < begin[at(most) + 1]; ++j) {
          const int32_t h = head[at(j)];
          if (h == me) continue;
          mark[at(h)] = me;
          out[count++] = h;
        }
      fresh.clear();
      for (int32_t c = child[v]; c >= 0; c = sibling[at(c)]) {
        if (c == most) continue;
        for (int64_t j = begin[at(c)]; j < begin[at(c) + 1]; ++j) {
          const int32_t h = head[at(j)];
          if (mark[at(h)] == me) continue;
          mark[at(h)] = me;
          fresh.push_back(h);
        }
      }
      for (const int32_t t : graph.of(vertex.data()[v])) {
        const int32_t h = label.data()[t];
        if (h < me || mark[at(h)] == me) continue;
        mark[at(h)] = me;
        fresh.push_back(h);
      }
      if (count + static_cast<int32_t>(fresh.size()) != arcs.data()[v])
        throw std::logic_error("arcs do not match their count");
      if (!fresh.empty()) {
        std::sort(fresh.begin(), fresh.end(), std::greater<>());
        std::copy(fresh.begin(), fresh.end(), out + count);
        std::inplace_merge(out, out + count, out + arcs.data()[v], std::greater<>());
      }
      const int32_t up = parent.data()[v];
      if (up >= 0) {
        sibling[v] = child[at(up)];
        child[at(up)] = me;
      }
    }
    for (const int32_t h : head) ++lower_begin[at(h) + 1];
    for (std::size_t v = 0; v < n; ++v) lower_begin[v + 1] += lower_begin[v];
    head_depth.resize(all);
    lower_arc.resize(all);
    lower_tail.resize(all);
    std::vector<int64_t> next(lower_begin.begin(), lower_begin.end() - 1);
    for (std::size_t v = 0; v < n; ++v)
      for (int64_t j = begin[v]; j < begin[v + 1]; ++j) {
        const std::size_t place = at(next[at(head[at(j)])]++);
        lower_arc[place] = static_cast<int32_t>(j);
        lower_tail[place] = static_cast<int32_t>(v);
        head_depth[at(j)] = depth.data()[head[at(j)]];
      }
  }
  nb::dict out;
  out["first"] = as_numpy(std::move(begin));
  out["head_depth"] = as_numpy(std::move(head_depth));
  out["lower_first"] = as_numpy(std::move(lower_begin));
  out["lower_arc"] = as_numpy(std::move(lower_arc));
  out["lower_tail"] = as_numpy(std::move(lower_tail));
  return out;
}

// Lists the edges that weigh the arcs of each label: position of the edge, and twice the depth of
// the arc's upper end, plus one where the edge leads down. Self-loops are left out.
template <class C>
void place_edges(const C& csr, const int32_t* vertex_label, const int32_t* depth,
                 std::vector<int64_t>& first, std::vector<int32_t>& edge,
                 std::vector<int32_t>& place) {
  const auto n = static_cast<std::size_t>(csr.n);
  first.assign(n + 1, 0);
  auto each = [&](auto&& f) {
    for (std::size_t v = 0; v < n; ++v) {
      const int32_t x = vertex_label[v];
      for (auto e = csr.indptr[v]; e < csr.indptr[v + 1]; ++e) {
        const int32_t y = vertex_label[csr.indices[e]];
        if (x < y) f(x, y, 0, static_cast<int32_t>(e));
        if (y < x) f(y, x, 1, static_cast<int32_t>(e));
      }
    }
  };
  each([&](int32_t low, int32_t, int, int32_t) { ++first[at(low) + 1]; });
  for (std::size_t v = 0; v < n; ++v) first[v + 1] += first[v];
  edge.resize(at(first[n]));
  place.resize(at(first[n]));
  std::vector<int64_t> next(first.begin(), first.end() - 1);
  each([&](int32_t low, int32_t high, int down, int32_t e) {
    const std::size_t i = at(next[at(low)]++);
    edge[i] = e;
    place[i] = 2 * depth[high] + down;
  });
}

nb::tuple edges_of_arcs(GraphView& view, const Ints& label, const Ints& depth) {
  std::vector<int64_t> first;
  std::vector<int32_t> edge, place;
  view.visit([&](const auto& csr) {
    if (label.size() != static_cast<std::size_t>(csr.n) || depth.size() != label.size())
      throw nb::type_error("label: wrong size");
    nb::gil_scoped_release release;
    place_edges(csr, label.data(), depth.data(), first, edge, place);
  });
  return arrays(std::move(first), std::move(edge), std::move(place));
}

// Returns the edges of each label without some entries, which ascend.
nb::tuple without_entries(const Longs& first, const Ints& edge, const Ints& place,
                          const Longs& gone) {
  const std::size_t n = first.size(), all = edge.size(), fewer = gone.size();
  if (place.size() != all || n == 0 || at(first.data()[n - 1]) != all)
    throw nb::type_error("edges of arcs: wrong size");
  for (std::size_t i = 0; i < fewer; ++i)
    if (gone.data()[i] < 0 || at(gone.data()[i]) >= all ||
        (i > 0 && gone.data()[i] <= gone.data()[i - 1]))
      throw nb::index_error("gone: not ascending entries");
  std::vector<int64_t> first_left(n);
  std::vector<int32_t> edge_left(all - fewer), place_left(all - fewer);
  {
    nb::gil_scoped_release release;
    std::size_t next = 0;
    for (std::size_t v = 0; v < n; ++v) {
      while (next < fewer && gone.data()[next] < first.data()[v]) ++next;
      first_left[v] = first.data()[v] - static_cast<int64_t>(next);
    }
    std::size_t from = 0, to = 0;
    for (std::size_t i = 0; i <= fewer; ++i) {
      const std::size_t end = i < fewer ? at(gone.data()[i]) : all;
      std::copy(edge.data() + from, edge.data() + end,
                edge_left.begin() + static_cast<int64_t>(to));
      std::copy(place.data() + from, place.data() + end,
                place_left.begin() + static_cast<int64_t>(to));
      to += end - from;
      from = end + 1;
    }
  }
  return arrays(std::move(first_left), std::move(edge_left), std::move(place_left));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_analyse", &prepared::analyse, arg("first"), arg("neighbour"), arg("order"));
  m.def("prepared_arcs", &prepared::build, arg("first"), arg("neighbour"), arg("vertex"),
        arg("label"), arg("parent"), arg("depth"), arg("arcs"));
  m.def("prepared_without_entries", &prepared::without_entries, arg("first"), arg("edge"),
        arg("place"), arg("gone"));
  m.def("prepared_edges", &prepared::edges_of_arcs, arg("view"), arg("label"), arg("depth"));
}
}  // namespace nearfar
