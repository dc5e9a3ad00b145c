// D-ary heap of packed (distance, vertex) keys, lazy: a vertex that improves is pushed again, and
// the caller drops older entries when they are popped.
//
// A packed key takes one integer comparison per step, a lazy heap needs no position table, and on
// sparse graphs few entries become stale. Pop moves a hole down along least children to a leaf and
// then sifts the last key up from it ("bottom-up", Wegener 1993): the last key nearly always
// belongs near the leaves.
#pragma once

#include "cpu/memory/buffer.hpp"

namespace nearfar {

template <class WeightT, int Arity>
class DaryHeap {
 public:
  using Weight = WeightT;
  static constexpr bool indexed = false;

  explicit DaryHeap(Index) { keys_.reserve(1024); }

  bool empty() const { return keys_.size == 0; }
  void clear() { keys_.size = 0; }

  void insert(Index v, Weight d) {
    const Key key = Packed::make(d, v);
    keys_.push(key);
    sift_up(keys_.size - 1, key);
  }
  void decrease(Index v, Weight d) { insert(v, d); }

  bool pop(Index& v, Weight& d) {
    if (keys_.size == 0) return false;
    const Key top = keys_.data[0];
    v = Packed::vertex(top);
    d = Packed::distance(top);
    const Key last = keys_.data[--keys_.size];
    const std::size_t size = keys_.size;
    if (size == 0) return true;
    std::size_t hole = 0;
    Key* keys = keys_.data;
    for (;;) {
      const std::size_t first = hole * Arity + 1;
      if (first + Arity <= size) {
        std::size_t best = first;
        Key least = keys[first];
        for (int i = 1; i < Arity; ++i) {
          const bool less = keys[first + i] < least;
          best = less ? first + i : best;
          least = less ? keys[first + i] : least;
        }
        keys[hole] = least;
        hole = best;
      } else if (first < size) {
        std::size_t best = first;
        for (std::size_t i = first + 1; i < size; ++i)
          if (keys[i] < keys[best]) best = i;
        keys[hole] = keys[best];
        hole = best;
      } else {
        break;
      }
    }
    sift_up(hole, last);
    return true;
  }

 private:
  using Packed = PackedKey<Weight>;
  using Key = typename Packed::Type;

  void sift_up(std::size_t hole, Key key) {
    Key* keys = keys_.data;
    while (hole > 0) {
      const std::size_t above = (hole - 1) / Arity;
      if (keys[above] <= key) break;
      keys[hole] = keys[above];
      hole = above;
    }
    keys[hole] = key;
  }

  Buffer<Key> keys_;
};

}  // namespace nearfar
