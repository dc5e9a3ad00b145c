// Tarjan's subtree disassembly (1981; "BFCT" in Cherkassky and Goldberg 1999), the fastest
// sequential form on most negative graphs of their study.
//
// Besides the queue it stores the tree of predecessors as a list in preorder. When v improves,
// every vertex below v has a distance that will fall, so the subtree is cut off and its vertices
// are not scanned until they are reached again: no work on stale distances. If the vertex that
// improves v is below v, the edge closes a cycle, which is found at once and at no more than the
// cost of cutting. O(n m) in the worst case.
//
// Two additions, for floats: a vertex that was cut off may also be reached again at an equal
// distance (rounding can make the new sum equal to the old), and a closed cycle whose exact weight
// is not below zero is refused, so the tree stays a tree and the run ends for every input.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/bellman_ford/bellman_ford.hpp"

namespace nearfar::bellman_ford {

// The tree of predecessors in preorder: a circular list in which a vertex is followed by its
// subtree.
class PreorderTree {
 public:
  explicit PreorderTree(Index slots) : after_(slots, -1), before_(slots, -1), children_(slots, 0) {}

  bool holds(Index v) const { return after_[v] >= 0; }
  void plant(Index root) { after_[root] = before_[root] = root; }

  // Puts v, not in the tree, directly behind its predecessor p.
  void attach(Index v, Index p) {
    const Index next = after_[p];
    after_[p] = v;
    before_[v] = p;
    after_[v] = next;
    before_[next] = v;
    ++children_[p];
  }

  // Whether x is v or below it. Takes the size of the subtree, which is added to `work`.
  bool below(Index v, Index x, int64_t& work) const {
    if (x == v) return true;
    int64_t open = children_[v];
    for (Index y = after_[v]; open > 0; y = after_[y]) {
      ++work;
      if (y == x) return true;
      open += children_[y] - 1;
    }
    return false;
  }

  // Cuts off v, whose predecessor is p, with its subtree; calls gone(x) for each vertex but v.
  template <class Gone>
  void cut(Index v, Index p, Gone&& gone) {
    int64_t open = children_[v];
    Index y = after_[v];
    while (open > 0) {
      open += children_[y] - 1;
      children_[y] = 0;
      const Index next = after_[y];
      after_[y] = -1;
      gone(y);
      y = next;
    }
    const Index ahead = before_[v];
    after_[ahead] = y;
    before_[y] = ahead;
    after_[v] = -1;
    children_[v] = 0;
    --children_[p];
  }

 private:
  std::vector<Index> after_, before_, children_;
};

// source < 0 means a virtual source with an edge of weight 0 to every vertex (Johnson's first step,
// and the search for any negative cycle).
template <class Graph, class Poll>
void subtree(const Graph& graph, Index source, typename Graph::Weight* distance,
             std::vector<Arrival>& arrival, Outcome& outcome, Poll&& poll) {
  using Weight = typename Graph::Weight;
  const Index n = graph.n, root = source < 0 ? n : source;
  PreorderTree tree(n + 1);
  std::vector<char> waiting(n, 0);
  std::vector<Index> active, next;
  std::fill(distance, distance + n, source < 0 ? Weight{} : unreached<Weight>());
  tree.plant(root);
  if (source < 0) {
    active.resize(n);
    for (Index v = 0; v < n; ++v) {
      active[v] = v;
      waiting[v] = 1;
      arrival[v].vertex = root;
      tree.attach(v, root);
    }
  } else {
    distance[source] = Weight{};
    active.push_back(source);
    waiting[source] = 1;
  }
  std::vector<int64_t> loop;
  int64_t work = 0;  // edges, and vertices of subtrees
  // Whether edge i from u to v closes a cycle; fills `loop` and determines its sign.
  auto closes = [&](Index u, Index v, int64_t i, bool& negative) {
    if (!tree.holds(v) || !tree.below(v, u, work)) return false;
    ExactSum<Weight> sum;
    sum.add(graph.weights[i]);
    loop.clear();
    for (Index x = u; x != v; x = arrival[x].vertex) {
      loop.push_back(x);
      sum.add(graph.weights[edge_of(graph, arrival[x])]);
    }
    loop.push_back(v);
    negative = sum.negative();
    return true;
  };
  while (!active.empty()) {
    int64_t edges = 0, scanned = 0;
    for (Index v : active) {
      waiting[v] = 0;
      if (!tree.holds(v)) continue;  // cut off: it will be reached again
      ++scanned;
      if (work > outcome.most) {
        outcome.undecided = true;
        return;
      }
      const Weight d = distance[v];
      const int64_t begin = graph.indptr[v], end = graph.indptr[v + 1];
      edges += end - begin;
      work += end - begin;
      for (int64_t i = begin; i < end; ++i) {
        const Index t = graph.indices[i];
        const Weight sum = candidate(d, graph.weights[i], outcome.saturated);
        const bool inside = tree.holds(t);
        if (!(sum < distance[t] || (!inside && sum == distance[t] && sum < unreached<Weight>())))
          continue;
        bool negative = false;
        if (closes(v, t, i, negative)) {
          if (negative) {
            outcome.cycle.assign(loop.rbegin(), loop.rend());
            outcome.step(scanned, edges);
            return;
          }
          ++outcome.refused;
          continue;
        }
        if (inside) tree.cut(t, arrival[t].vertex, [](Index) {});
        distance[t] = sum;
        arrival[t] = {v, static_cast<Index>(i - begin)};
        tree.attach(t, v);
        if (!waiting[t]) {
          waiting[t] = 1;
          next.push_back(t);
        }
      }
      poll(static_cast<uint64_t>(end - begin) + 8);
    }
    outcome.step(scanned, edges);
    active.swap(next);
    next.clear();
  }
}

}  // namespace nearfar::bellman_ford
