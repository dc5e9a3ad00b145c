// From nearly right float distances to the ones that every other method returns, bit for bit.
//
// Methods that add in another order than along the path (Floyd-Warshall adds two path halves,
// Johnson adds shifted weights, prepared graphs add shortcuts) are off by rounding. The distances
// that Dijkstra's and Bellman-Ford's methods agree on are the least sums taken from the source on,
// which relaxing to the end finds from any order. So the sums are made again from the source on,
// over the edges that lead to a sum within a bound, which is the nearly right distance and some
// slack: little more than a tree of shortest paths, in which a queue enters most vertices once. An
// edge left out leads to a sum above its head's bound, and a vertex that was reached has a sum
// within it: once all are reached no edge can improve any, whatever the slack was. Where rounding
// took more than the slack some vertex is not reached, and the queue goes on with more slack, at
// last without bounds. O(n + m) per row where few paths are equally long up to rounding; no order
// and no heap. prepared/cuda/sinks/left_to_right.cuh is the form for CUDA devices.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/graph/graph_view.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar {

template <class C>
class Polisher {
 public:
  using Index = typename C::Index;
  using Weight = typename C::Weight;

  explicit Polisher(const C& csr)
      : csr_(csr), state_(csr.n), queue_(std::bit_ceil(static_cast<std::size_t>(csr.n))) {}

  // Replaces `row`, the nearly right distances from `source`. `shift` is null if no weight is
  // negative; else it has potentials, whose size tells how much rounding may have taken. False if
  // rounding keeps a cycle improving, for which some weight must be negative; the row is then left
  // as it was.
  bool polish(Index source, Weight* row, const Weight* shift) {
    const auto n = static_cast<std::size_t>(csr_.n);
    if (shift != nullptr) before_.assign(row, row + n);
    const Weight largest = shift == nullptr ? 0 : magnitude(row, shift);
    // From here on row[v] is the sum found where v was reached, else the bound for one.
    for (std::size_t v = 0; v < n; ++v) {
      state_[v] = row[v] < unreached<Weight>() ? missed : idle;
      row[v] = widened(row[v], kSlack, largest);
    }
    row[source] = 0;
    head_ = tail_ = 0;
    put(source);
    // Without negative weights nothing improves for ever.
    std::size_t patience = shift == nullptr ? ~std::size_t{0} : 32 * n + 1024;
    Weight slack = kSlack;
    for (int times = 0;; ++times) {
      if (!relax(row, patience)) {
        std::copy(before_.begin(), before_.end(), row);
        return false;
      }
      if (times > kWidest || std::count(state_.begin(), state_.end(), missed) == 0) return true;
      slack = times < kWidest ? slack * 64 : unreached<Weight>();
      for (std::size_t v = 0; v < n; ++v) {
        if (state_[v] != missed)
          put(static_cast<Index>(v));
        else
          row[v] = times < kWidest ? widened(row[v], slack, largest) : unreached<Weight>();
      }
    }
  }

 private:
  // missed: the row that came in has a distance, and no sum within the bound was found yet.
  enum State : char { missed, idle, queued };

  // Rounding takes less nearly always (the error of k sums is at most k units of roundoff).
  static constexpr Weight kSlack =
      std::numeric_limits<Weight>::epsilon() * (sizeof(Weight) == 4 ? 256 : 65536);
  static constexpr int kWidest = 2;  // how often the slack is widened; then there is no bound
  static constexpr std::size_t kRow = 12, kEdges = 8;  // how far ahead is fetched

  // Above d also where the slack underflows.
  static Weight widened(Weight d, Weight slack, Weight largest) {
    return d + slack * std::max(std::abs(d), largest) + std::numeric_limits<Weight>::denorm_min();
  }

  Weight magnitude(const Weight* row, const Weight* shift) const {
    Weight most = 0;
    for (Index v = 0; v < csr_.n; ++v) {
      most = std::max(most, std::abs(shift[v]));
      if (row[v] < unreached<Weight>()) most = std::max(most, std::abs(row[v]));
    }
    return most;
  }

  void put(Index v) {
    state_[v] = queued;
    queue_[tail_++ & (queue_.size() - 1)] = v;
  }

  Index waiting(std::size_t place) const { return queue_[place & (queue_.size() - 1)]; }

  // Until nothing improves; false when patience ran out.
  bool relax(Weight* row, std::size_t& patience) {
    for (; head_ < tail_; ++head_) {
      if (patience-- == 0) return false;
      // Vertices lie anywhere in memory.
      if (head_ + kRow < tail_) prefetch(csr_.indptr + waiting(head_ + kRow));
      if (head_ + kEdges < tail_) {
        const Index i = csr_.indptr[waiting(head_ + kEdges)];
        prefetch(csr_.indices + i);
        prefetch(csr_.weights + i);
      }
      const Index v = waiting(head_);
      state_[v] = idle;
      const Weight d = row[v];
      for (Index i = csr_.indptr[v]; i < csr_.indptr[v + 1]; ++i) {
        const Index t = csr_.indices[i];
        const Weight sum = d + csr_.weights[i];
        if (!(sum < row[t])) continue;
        row[t] = sum;
        if (state_[t] != queued) put(t);
      }
    }
    return true;
  }

  const C& csr_;
  std::vector<char> state_;
  std::vector<Index> queue_;         // a ring: a vertex waits once at most
  std::size_t head_ = 0, tail_ = 0;  // they run on
  std::vector<Weight> before_;       // the row that came in, where it may be wanted back
};

}  // namespace nearfar
