// The paper's Lemma 3.3: a queue that returns its M least elements at a time, unsorted.
//
// Elements are keys that end in their vertex. They are in blocks of at most M, unsorted within a
// block. There are two sequences of blocks, both ordered: `prepended_` has batches, each below
// everything inserted before it; `inserted_` has single insertions: their block is found by binary
// search of upper bounds and split at the median when full. The paper stores the bounds in a
// balanced tree; a sorted array of some hundred bounds is searched as fast and changes only on a
// split. For M = 1 blocks are single keys, and a binary heap meets the lemma's bound of O(log N)
// per insertion.
//
// A superseded key stays in its block and is dropped when the block is next read, instead of the
// paper's deletions. Sets::current(key) tells whether a key is current; Sets::begin() and
// Sets::add(key) find duplicates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "cpu/search/arithmetic.hpp"

namespace nearfar::bmssp {

using Key = Wide;  // (distance, hops, vertex), compared as one number

template <class Sets>
class PartialOrder {
 public:
  // most: M, the elements per pull. beyond: a bound above every key.
  PartialOrder(std::size_t most, Key beyond, Sets& sets)
      : most_(most), beyond_(beyond), sets_(sets) {
    inserted_.push_back({beyond, {}});
  }

  void insert(Key key) {
    if (most_ == 1) {
      push(key);
      return;
    }
    const auto at = std::lower_bound(inserted_.begin(), inserted_.end(), key,
                                     [](const Bounded& block, Key k) { return block.bound < k; });
    at->keys.push_back(key);
    if (at->keys.size() > most_) split(at);
  }

  // Inserts distinct keys below all others; reorders `batch`.
  void prepend(std::vector<Key>& batch) {
    if (most_ == 1)
      for (const Key key : batch) push(key);
    else if (!batch.empty())
      prepend(batch.begin(), batch.end());
  }

  // Moves up to M least keys to `out`. Returns a bound above them and not above the others.
  Key pull(std::vector<Key>& out) {
    out.clear();
    if (most_ == 1) {
      if (!empty()) out.push_back(pop());
      return empty() ? beyond_ : heap_.front();
    }
    sets_.begin();
    std::size_t fronts = 0, backs = 0;
    for (; fronts < prepended_.size() && out.size() <= most_; ++fronts)
      gather(prepended_[fronts], out);
    const std::size_t middle = out.size();
    for (; backs < inserted_.size() && out.size() - middle <= most_; ++backs)
      gather(inserted_[backs].keys, out);
    Key bound = beyond_;
    std::vector<Key> front, back;
    if (out.size() > most_) {
      order_.assign(out.begin(), out.end());
      const auto next = order_.begin() + static_cast<std::ptrdiff_t>(most_);
      std::nth_element(order_.begin(), next, order_.end());
      bound = *next;
      for (std::size_t i = 0; i < out.size(); ++i)
        if (out[i] >= bound) (i < middle ? front : back).push_back(out[i]);
      std::erase_if(out, [bound](Key key) { return key >= bound; });
    }
    prepended_.erase(prepended_.begin(), prepended_.begin() + static_cast<std::ptrdiff_t>(fronts));
    inserted_.erase(inserted_.begin(), inserted_.begin() + static_cast<std::ptrdiff_t>(backs));
    if (inserted_.empty()) inserted_.push_back({beyond_, {}});
    if (!front.empty()) prepended_.push_front(std::move(front));
    if (!back.empty()) put_back(std::move(back));
    return bound;
  }

  // Whether only superseded keys are left; drops them.
  bool empty() {
    if (most_ == 1) {
      while (!heap_.empty() && !sets_.current(heap_.front())) pop();
      return heap_.empty();
    }
    while (!prepended_.empty() && !any(prepended_.front())) prepended_.pop_front();
    if (!prepended_.empty()) return false;
    std::size_t none = 0;
    while (none < inserted_.size() && !any(inserted_[none].keys)) ++none;
    if (none < inserted_.size()) return false;
    inserted_.resize(1);
    inserted_.front().bound = beyond_;
    return true;
  }

 private:
  struct Bounded {
    Key bound;  // at least its keys, below those of the next block
    std::vector<Key> keys;
  };

  void push(Key key) {
    heap_.push_back(key);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  Key pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Key key = heap_.back();
    heap_.pop_back();
    if (!heap_.empty() && heap_.front() == key) return pop();  // it was inserted twice
    return key;
  }

  bool any(std::vector<Key>& keys) {
    while (!keys.empty() && !sets_.current(keys.back())) keys.pop_back();
    return !keys.empty();
  }

  void gather(const std::vector<Key>& keys, std::vector<Key>& out) {
    for (const Key key : keys)
      if (sets_.current(key) && sets_.add(key)) out.push_back(key);
  }

  void split(typename std::vector<Bounded>::iterator at) {
    std::vector<Key>& keys = at->keys;
    sets_.begin();
    std::erase_if(keys, [this](Key key) { return !sets_.current(key) || !sets_.add(key); });
    if (keys.size() <= most_) return;
    const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(keys.size() / 2);
    std::nth_element(keys.begin(), middle, keys.end());
    Bounded low{*std::max_element(keys.begin(), middle), {keys.begin(), middle}};
    keys.erase(keys.begin(), middle);
    inserted_.insert(at, std::move(low));
  }

  void prepend(std::vector<Key>::iterator begin, std::vector<Key>::iterator end) {
    if (static_cast<std::size_t>(end - begin) <= most_) {
      prepended_.emplace_front(begin, end);
      return;
    }
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    prepend(middle, end);
    prepend(begin, middle);
  }

  // Keys below those of all blocks of `inserted_`.
  void put_back(std::vector<Key>&& keys) {
    if (inserted_.size() == 1 && inserted_.front().keys.empty()) {
      inserted_.front().keys = std::move(keys);
      return;
    }
    const Key bound = *std::max_element(keys.begin(), keys.end());
    inserted_.insert(inserted_.begin(), {bound, std::move(keys)});
  }

  const std::size_t most_;
  const Key beyond_;
  Sets& sets_;
  std::deque<std::vector<Key>> prepended_;
  std::vector<Bounded> inserted_;
  std::vector<Key> heap_;   // for M = 1, instead of both
  std::vector<Key> order_;  // of a pull
};

}  // namespace nearfar::bmssp
