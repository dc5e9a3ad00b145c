// Pairing heap (Fredman, Sedgewick, Sleator and Tarjan 1986), two-pass variant.
//
// A heap-ordered tree in which a vertex stores its first child, its next sibling, and its previous
// sibling (the parent for a first child). Insert and decrease-key link two trees; pop pairs the
// root's children left to right and links the pairs right to left. All links are in one record per
// vertex.
#pragma once

#include <memory>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

template <class WeightT>
class PairingHeap {
 public:
  using Weight = WeightT;
  static constexpr bool indexed = true;

  explicit PairingHeap(Index n) : items_(new Item[static_cast<std::size_t>(n)]) {}

  void insert(Index v, Weight d) {
    items_[v] = Item{d, none, none, none};
    root_ = root_ == none ? v : link(root_, v);
  }

  void decrease(Index v, Weight d) {
    items_[v].key = d;
    if (v == root_) return;
    Item& item = items_[v];
    if (items_[item.before].child == v)
      items_[item.before].child = item.next;
    else
      items_[item.before].next = item.next;
    if (item.next != none) items_[item.next].before = item.before;
    item.next = item.before = none;
    root_ = link(root_, v);
  }

  bool pop(Index& v, Weight& d) {
    if (root_ == none) return false;
    v = root_;
    d = items_[root_].key;
    root_ = merge_pairs(items_[root_].child);
    return true;
  }

 private:
  static constexpr Index none = -1;
  struct Item {
    Weight key;
    Index child, next, before;
  };

  // Links two roots without siblings; the larger becomes the first child of the smaller.
  Index link(Index a, Index b) {
    if (items_[b].key < items_[a].key) std::swap(a, b);
    Item& top = items_[a];
    Item& low = items_[b];
    low.next = top.child;
    if (top.child != none) items_[top.child].before = b;
    low.before = a;
    top.child = b;
    return a;
  }

  Index merge_pairs(Index first) {
    Index pairs = none;  // roots of pairs, last one first, linked by `next`
    while (first != none) {
      const Index a = first;
      const Index b = items_[a].next;
      Index winner = a;
      if (b == none) {
        first = none;
        items_[a].before = none;
      } else {
        first = items_[b].next;
        items_[a].next = items_[a].before = items_[b].next = items_[b].before = none;
        winner = link(a, b);
      }
      items_[winner].next = pairs;
      pairs = winner;
    }
    if (pairs == none) return none;
    Index root = pairs;
    Index rest = items_[root].next;
    items_[root].next = none;
    while (rest != none) {
      const Index following = items_[rest].next;
      items_[rest].next = none;
      root = link(root, rest);
      rest = following;
    }
    return root;
  }

  std::unique_ptr<Item[]> items_;
  Index root_ = none;
};

}  // namespace nearfar
