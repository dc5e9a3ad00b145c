// From nearly right float distances to the ones that every other method returns, bit for bit.
//
// Methods that add in another order than along the path (Floyd-Warshall adds two path halves,
// Johnson adds shifted weights) are off by rounding. The distances that Dijkstra's and
// Bellman-Ford's methods agree on are the least sums taken from the source on, which relaxing to
// the end finds from any order. The nearly right distances give an almost perfect order: one scan
// of each vertex in that order, then a queue for the few that improve after their scan. O(m + n log
// n) per row and no heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/graph_view.hpp"

namespace nearfar {

template <class C>
class Polisher {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;

  explicit Polisher(const C& csr) : csr_(csr), exact_(csr.n), state_(csr.n) {}

  // Replaces `row`, the nearly right distances from `source`. Scans in order of row[v] - shift[v]
  // (no shift, if no weight is negative: row[v]), which is ascending along shortest paths if all
  // weights so shifted are non-negative. False if rounding keeps a cycle improving, for which some
  // weight must be negative; the row is then left as it was.
  bool polish(Index source, Weight* row, const Weight* shift) {
    const auto n = static_cast<std::size_t>(csr_.n);
    constexpr Weight none = unreached<Weight>();
    order_.clear();
    for (std::size_t v = 0; v < n; ++v) {
      exact_[v] = none;
      state_[v] = ahead;
      if (row[v] == none) continue;
      order_.push_back({shift == nullptr ? row[v] : row[v] - shift[v], static_cast<Index>(v)});
    }
    std::sort(order_.begin(), order_.end(), [](const Key& a, const Key& b) { return a.at < b.at; });
    exact_[source] = 0;
    queue_.clear();
    for (const Key& key : order_) {
      state_[key.vertex] = passed;
      scan(key.vertex);
    }
    // Without negative weights nothing improves for ever, however bad the order was: where sums
    // round small weights away, many vertices are equally far.
    const std::size_t patience = shift == nullptr ? ~std::size_t{0} : 32 * n + 1024;
    for (std::size_t scanned = 0; !queue_.empty(); scanned += now_.size()) {
      if (scanned > patience) return false;
      now_.swap(queue_);
      queue_.clear();
      for (const Index v : now_) {
        state_[v] = passed;
        scan(v);
      }
    }
    std::copy(exact_.begin(), exact_.end(), row);
    return true;
  }

 private:
  enum State : char { ahead, passed, queued };
  struct Key {
    Weight at;
    Index vertex;
  };

  void scan(Index v) {
    const Weight d = exact_[v];
    if (d == unreached<Weight>()) return;
    for (Index i = csr_.indptr[v]; i < csr_.indptr[v + 1]; ++i) {
      const Index t = csr_.indices[i];
      const Weight sum = d + csr_.weights[i];
      if (!(sum < exact_[t])) continue;
      exact_[t] = sum;
      if (state_[t] != passed) continue;
      state_[t] = queued;
      queue_.push_back(t);
    }
  }

  const C& csr_;
  std::vector<Weight> exact_;
  std::vector<char> state_;
  std::vector<Key> order_;
  std::vector<Index> queue_, now_;
};

}  // namespace nearfar
