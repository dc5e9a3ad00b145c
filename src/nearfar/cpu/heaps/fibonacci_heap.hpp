// Fibonacci heap (Fredman and Tarjan 1987): the papers' "FH" baseline.
//
// A circular list of heap-ordered trees. Insert adds a root in O(1); decrease-key cuts the vertex
// off, and then its marked ancestors, in O(1) amortised; pop adds the children of the least root to
// the list and links roots of equal rank until all ranks differ, in O(log n) amortised. The only
// departure is that links are vertex ids in one record per vertex, not pointers to separate
// allocations.
#pragma once

#include <memory>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

template <class WeightT>
class FibonacciHeap {
 public:
  using Weight = WeightT;
  static constexpr bool indexed = true;

  explicit FibonacciHeap(Index n) : items_(new Item[static_cast<std::size_t>(n)]) {}

  void insert(Index v, Weight d) {
    items_[v] = Item{d, none, none, v, v, 0, false};
    add_root(v);
  }

  void decrease(Index v, Weight d) {
    items_[v].key = d;
    const Index above = items_[v].above;
    if (above != none && d < items_[above].key) {
      cut(v, above);
      cascade(above);
    }
    if (d < items_[least_].key) least_ = v;
  }

  bool pop(Index& v, Weight& d) {
    if (least_ == none) return false;
    v = least_;
    d = items_[v].key;
    for (Index child = items_[v].child; child != none;) {
      const Index next = items_[child].right == items_[v].child ? none : items_[child].right;
      items_[child].above = none;
      items_[child].marked = false;
      join(child, v);
      child = next;
    }
    const Index after = items_[v].right;
    unlink(v);
    if (after == v)
      least_ = none;
    else
      consolidate(after);
    return true;
  }

 private:
  static constexpr Index none = -1;
  static constexpr int kRanks = 96;  // log of n to the golden ratio, for 64-bit n
  struct Item {
    Weight key;
    Index above, child, left, right;
    int16_t rank;
    bool marked;
  };

  // Puts v, whose links are free, to the left of `at` in that circular list.
  void join(Index v, Index at) {
    const Index left = items_[at].left;
    items_[v].left = left;
    items_[v].right = at;
    items_[left].right = v;
    items_[at].left = v;
  }
  void unlink(Index v) {
    items_[items_[v].left].right = items_[v].right;
    items_[items_[v].right].left = items_[v].left;
  }
  void add_root(Index v) {
    items_[v].above = none;
    if (least_ == none) {
      items_[v].left = items_[v].right = v;
      least_ = v;
      return;
    }
    join(v, least_);
    if (items_[v].key < items_[least_].key) least_ = v;
  }

  void cut(Index v, Index above) {
    Item& top = items_[above];
    if (items_[v].right == v) {
      top.child = none;
    } else {
      if (top.child == v) top.child = items_[v].right;
      unlink(v);
    }
    --top.rank;
    items_[v].marked = false;
    add_root(v);
  }
  void cascade(Index v) {
    for (Index above = items_[v].above; above != none; above = items_[v].above) {
      if (!items_[v].marked) {
        items_[v].marked = true;
        return;
      }
      cut(v, above);
      v = above;
    }
  }

  // Links roots of equal rank; `start` is any root.
  void consolidate(Index start) {
    Index of_rank[kRanks];
    int highest = -1;
    items_[items_[start].left].right = none;  // open the circle so that the walk ends
    for (Index walk = start; walk != none;) {
      Index root = walk;
      walk = items_[walk].right;
      int rank = items_[root].rank;
      for (;;) {
        while (highest < rank) of_rank[++highest] = none;
        const Index other = of_rank[rank];
        if (other == none) break;
        of_rank[rank] = none;
        root = link(root, other);
        ++rank;
      }
      of_rank[rank] = root;
    }
    least_ = none;
    for (int rank = 0; rank <= highest; ++rank)
      if (of_rank[rank] != none) add_root(of_rank[rank]);
  }

  Index link(Index a, Index b) {
    if (items_[b].key < items_[a].key) std::swap(a, b);
    Item& top = items_[a];
    items_[b].above = a;
    items_[b].marked = false;
    if (top.child == none) {
      items_[b].left = items_[b].right = b;
      top.child = b;
    } else {
      join(b, top.child);
    }
    ++top.rank;
    return a;
  }

  std::unique_ptr<Item[]> items_;
  Index least_ = none;
};

}  // namespace nearfar
