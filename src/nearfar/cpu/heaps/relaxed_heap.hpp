// Rank-relaxed heap (Driscoll, Gabow, Shrairman and Tarjan 1988), the papers' second baseline: the
// queue that Boost's Dijkstra used under the name relaxed_heap.
//
// Binomial trees in which a few nodes may be smaller than their parents. Such a node is "active";
// at most one of each rank is, and it is the last child of its parent, so decrease-key restores the
// order with an amortised constant number of links instead of cuts. The least key is at a root or
// an active node: O(log n) candidates.
//
// As in the paper's section on storage, a node is a group of ~log2 n consecutive vertices. A
// group's key is its least vertex, the forest over all groups exists from the start with infinite
// keys, and the child tables together take n slots. Popping a vertex increases its group's key: the
// group becomes a single tree again and is combined with its former children in order of rank.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

template <class WeightT>
class RelaxedHeap {
 public:
  using Weight = WeightT;
  static constexpr bool indexed = true;

  explicit RelaxedHeap(Index n)
      : n_(n),
        width_(std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(n))))),
        groups_(n == 0 ? 0 : (n - 1) / width_ + 1),
        ranks_(std::bit_width(static_cast<uint64_t>(groups_)) + 1),
        keys_(new Weight[static_cast<std::size_t>(n)]),
        group_(new Group[static_cast<std::size_t>(groups_) + 1]),
        children_(new Index[(static_cast<std::size_t>(groups_) + 1) * ranks_]) {
    std::fill_n(keys_.get(), n, unreached<Weight>());
    std::fill_n(active_, kRanks, none);
    // A root above all trees, number groups_, has no vertex and counts as smaller than every other
    // node.
    group_[groups_] = Group{unreached<Weight>(), none, 0};
    std::fill_n(children(groups_), ranks_, none);
    Index first = 0;
    for (int rank = ranks_ - 1; rank >= 0; --rank) {
      if ((static_cast<uint64_t>(groups_) >> rank & 1) == 0) continue;
      build(first, rank);
      attach(groups_, rank, first);
      first += Index{1} << rank;
    }
  }

  void insert(Index v, Weight d) { decrease(v, d); }

  void decrease(Index v, Weight d) {
    keys_[v] = d;
    const Index g = v / width_;
    if (d >= group_[g].key) return;
    group_[g].key = d;
    promote_if_bad(g);
  }

  bool pop(Index& v, Weight& d) {
    const Index g = least();
    if (g == none || group_[g].key == unreached<Weight>()) return false;
    d = group_[g].key;
    const Index begin = g * width_;
    const Index end = std::min<Index>(begin + width_, n_);
    Index at = begin;
    while (keys_[at] != d) ++at;
    v = at;
    keys_[at] = unreached<Weight>();
    raise(g, *std::min_element(keys_.get() + begin, keys_.get() + end));
    return true;
  }

 private:
  static constexpr Index none = -1;
  static constexpr int kRanks = 65;
  struct Group {
    Weight key;
    Index above;
    int rank;
  };

  Index* children(Index g) { return children_.get() + static_cast<std::size_t>(g) * ranks_; }
  bool is_root(Index g) const { return g == groups_; }
  bool bad(Index g) const {
    const Index above = group_[g].above;
    return !is_root(above) && group_[g].key < group_[above].key;
  }
  void attach(Index above, int rank, Index g) {
    children(above)[rank] = g;
    group_[g].above = above;
  }

  // Binomial tree of `rank` over the groups first, first + 1, ...
  void build(Index first, int rank) {
    group_[first] = Group{unreached<Weight>(), none, rank};
    for (int r = 0; r < rank; ++r) {
      const Index child = first + (Index{1} << r);
      build(child, r);
      attach(first, r, child);
    }
  }

  Index least() {
    Index best = none;
    auto look = [&](Index g) {
      if (g != none && (best == none || group_[g].key < group_[best].key)) best = g;
    };
    for (int rank = 0; rank < ranks_; ++rank) {
      look(children(groups_)[rank]);
      look(active_[rank]);
    }
    return best;
  }

  // Links two trees of one rank and returns the root. The root's former last child is no longer
  // last, so it must not stay active: it is exchanged with the new last child's own last child,
  // which has the same rank and is in order under either parent.
  Index combine(Index a, Index b) {
    if (group_[b].key < group_[a].key) std::swap(a, b);
    const int rank = group_[a].rank;
    attach(a, rank, b);
    group_[a].rank = rank + 1;
    if (rank > 0) {
      const Index x = children(a)[rank - 1];
      if (active_[rank - 1] == x) {
        const Index y = children(b)[rank - 1];
        attach(a, rank - 1, y);
        attach(b, rank - 1, x);
      }
    }
    return a;
  }

  void promote_if_bad(Index g) {
    if (bad(g)) promote(g);
  }

  void promote(Index a) {
    const int r = group_[a].rank;
    if (active_[r] == a) return;
    const Index p = group_[a].above;
    if (r == group_[p].rank - 1) {
      if (active_[r] == none)
        active_[r] = a;
      else
        pair_transform(a);
      return;
    }
    const Index s = children(p)[r + 1];
    if (active_[r + 1] == s)
      active_sibling_transform(a, s);
    else
      good_sibling_transform(a, s);
  }

  // a is out of order, its next sibling s (one rank up) is not active. Exchanges a with the last
  // child of s, or if that one is active itself, links both.
  void good_sibling_transform(Index a, Index s) {
    const int r = group_[a].rank;
    const Index p = group_[a].above;
    const Index c = children(s)[r];
    if (active_[r] == c) {
      active_[r] = none;
      group_[s].rank = r;
      attach(p, r, s);
      const Index top = combine(a, c);
      attach(p, r + 1, top);
      promote_if_bad(top);
    } else {
      attach(s, r, a);
      attach(p, r, c);
      if (bad(a)) promote(a);
    }
  }

  // a is out of order, its next sibling s is active and so the last child of p: removes both from
  // p, which then has the rank of a, and links the three.
  void active_sibling_transform(Index a, Index s) {
    const int r = group_[a].rank;
    const Index p = group_[a].above;
    const Index g = group_[p].above;
    active_[r + 1] = none;
    if (active_[r + 2] == p) active_[r + 2] = none;
    group_[p].rank = r;
    const Index top = combine(s, combine(p, a));
    attach(g, r + 2, top);
    promote_if_bad(top);
  }

  // a is out of order and a last child, and another node of its rank is active: removes both from
  // their parents, links the two, and links the parents, which now have that rank too.
  void pair_transform(Index a) {
    const int r = group_[a].rank;
    const Index other = active_[r];
    active_[r] = none;
    Index p = group_[a].above;
    Index q = group_[other].above;
    if (group_[q].key < group_[p].key) std::swap(p, q);
    const Index above_q = group_[q].above;
    group_[p].rank = r;
    group_[q].rank = r;
    if (active_[r + 1] == q) active_[r + 1] = none;
    combine(p, q);  // p is not larger, so it stays the root
    const Index top = combine(a, other);
    attach(above_q, r + 1, top);
    promote_if_bad(top);
  }

  // Increases the key of group x: x becomes a single tree, linked with its former children from
  // rank 0.
  void raise(Index x, Weight key) {
    const int rank = group_[x].rank;
    const Index above = group_[x].above;
    if (active_[rank] == x) active_[rank] = none;
    group_[x].key = key;
    Index former[kRanks];
    std::copy_n(children(x), rank, former);
    group_[x].rank = 0;
    Index top = x;
    for (int r = 0; r < rank; ++r) {
      if (active_[r] == former[r]) active_[r] = none;
      top = combine(top, former[r]);
    }
    attach(above, rank, top);
    promote_if_bad(top);
  }

  Index n_;
  Index width_;
  Index groups_;
  int ranks_;
  std::unique_ptr<Weight[]> keys_;
  std::unique_ptr<Group[]> group_;
  std::unique_ptr<Index[]> children_;
  Index active_[kRanks];
};

}  // namespace nearfar
