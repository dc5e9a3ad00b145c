// Binary heap with a position table and decrease-key: the textbook queue for Dijkstra's method
// (Cormen et al., chapter 6). Each reached, unsettled vertex has exactly one entry.
//
// It never holds more than n entries and no stale ones, which is an advantage on dense and skewed
// graphs, where a lazy heap fills with stale entries; on sparse graphs maintaining the position
// table costs more than it saves.
#pragma once

#include <memory>

#include "cpu/memory/buffer.hpp"

namespace nearfar {

template <class WeightT>
class BinaryHeap {
 public:
  using Weight = WeightT;
  static constexpr bool indexed = true;

  // Positions need no initial value: they are written by insert before decrease reads them.
  explicit BinaryHeap(Index n) : position_(new Index[static_cast<std::size_t>(n)]) {}

  void insert(Index v, Weight d) {
    const Key key = Packed::make(d, v);
    keys_.push(key);
    sift_up(keys_.size - 1, key);
  }
  void decrease(Index v, Weight d) {
    sift_up(static_cast<std::size_t>(position_[v]), Packed::make(d, v));
  }

  bool pop(Index& v, Weight& d) {
    if (keys_.size == 0) return false;
    const Key top = keys_.data[0];
    v = Packed::vertex(top);
    d = Packed::distance(top);
    const Key last = keys_.data[--keys_.size];
    if (keys_.size > 0) sift_down(last);
    return true;
  }

 private:
  using Packed = PackedKey<Weight>;
  using Key = typename Packed::Type;

  void place(std::size_t slot, Key key) {
    keys_.data[slot] = key;
    position_[Packed::vertex(key)] = static_cast<Index>(slot);
  }
  void sift_up(std::size_t hole, Key key) {
    while (hole > 0) {
      const std::size_t above = (hole - 1) / 2;
      if (keys_.data[above] <= key) break;
      place(hole, keys_.data[above]);
      hole = above;
    }
    place(hole, key);
  }
  void sift_down(Key key) {
    const std::size_t size = keys_.size;
    std::size_t hole = 0;
    for (;;) {
      std::size_t child = 2 * hole + 1;
      if (child >= size) break;
      if (child + 1 < size) child += keys_.data[child + 1] < keys_.data[child];
      if (key <= keys_.data[child]) break;
      place(hole, keys_.data[child]);
      hole = child;
    }
    place(hole, key);
  }

  Buffer<Key> keys_;
  std::unique_ptr<Index[]> position_;
};

}  // namespace nearfar
