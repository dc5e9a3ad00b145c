// Turns approximate float distances into those that every other method returns, bit for bit.
//
// Methods that do not add along the path (Floyd-Warshall adds two halves, Johnson's adds shifted
// weights, prepared graphs add shortcuts) differ by rounding. The distances of Dijkstra's and
// Bellman-Ford's methods are the least sums added from the source onwards, which relaxing until
// nothing changes finds in any order. So sums are recomputed from the source, over edges whose sum
// stays within a bound: the approximate distance plus some slack. These edges are little more than
// a shortest-path tree, and most vertices enter the queue once. An edge left out gives a sum above
// its head's bound, and a reached vertex has a sum within it: once all vertices are reached, no
// edge can improve any, whatever the slack. If rounding exceeded the slack, some vertex is not
// reached, and the queue continues with more slack and finally without bounds. O(n + m) per row
// where few paths are equally long up to rounding; neither an order nor a heap is needed.
// prepared/cuda/sinks/left_to_right.cuh is the version for CUDA devices.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/distances/tree.hpp"
#include "cpu/graph/graph_view.hpp"
#include "cpu/search/arithmetic.hpp"

namespace nearfar {

template <class C>
class Polisher {
 public:
  using Weight = typename C::Weight;

  explicit Polisher(const C& csr)
      : csr_(csr), state_(csr.n), queue_(std::bit_ceil(static_cast<std::size_t>(csr.n))) {}

  // Replaces `row`, the approximate distances from `source`. `shift` is null if no weight is
  // negative; otherwise it has potentials, whose magnitude bounds the rounding error. Returns false
  // if rounding improves sums around a cycle, which requires a negative weight: the row is wrong.
  bool polish(Index source, Weight* row, const Weight* shift) {
    const auto n = static_cast<std::size_t>(csr_.n);
    if (shift != nullptr) from_.assign(n, -1);
    const Weight largest = shift == nullptr ? 0 : magnitude(row, shift);
    // From here on row[v] is the sum found if v was reached, else its bound.
    for (std::size_t v = 0; v < n; ++v) {
      state_[v] = row[v] < unreached<Weight>() ? missed : idle;
      row[v] = widened(row[v], kSlack, largest);
    }
    row[source] = 0;
    head_ = tail_ = 0;
    put(source);
    if (shift == nullptr) {  // no cycle improves
      relax_within<false>(row, largest);
      return true;
    }
    return relax_within<true>(row, largest) &&
           vertex_on_cycle(csr_.n, [this](Index v) { return from_[v]; }) < 0;
  }

 private:
  // missed: the given row has a distance, but no sum within the bound was found yet.
  enum State : char { missed, idle, queued };

  // Usually much larger than the rounding (the error of k sums is at most k units of roundoff).
  static constexpr Weight kSlack =
      std::numeric_limits<Weight>::epsilon() * (sizeof(Weight) == 4 ? 256 : 65536);
  static constexpr int kWidest = 2;  // how often the slack is widened; then there is no bound
  static constexpr std::size_t kRow = 12, kEdges = 8;  // prefetch distances

  // Relaxes with more and more slack until every vertex is reached; false if patience ran out.
  template <bool kSigned>
  bool relax_within(Weight* row, Weight largest) {
    const auto n = static_cast<std::size_t>(csr_.n);
    std::size_t patience = kSigned ? 32 * n + 1024 : ~std::size_t{0};
    Weight slack = kSlack;
    for (int times = 0;; ++times) {
      if (!relax<kSigned>(row, patience)) return false;
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

  // The result exceeds d also where the slack underflows.
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

  // Relaxes until nothing improves; returns false if patience ran out.
  template <bool kSigned>
  bool relax(Weight* row, std::size_t& patience) {
    for (; head_ < tail_; ++head_) {
      if (patience-- == 0) return false;
      // Vertices are scattered in memory.
      if (head_ + kRow < tail_) prefetch(csr_.indptr + waiting(head_ + kRow));
      if (head_ + kEdges < tail_) {
        const int64_t i = csr_.indptr[waiting(head_ + kEdges)];
        prefetch(csr_.indices + i);
        prefetch(csr_.weights + i);
      }
      const Index v = waiting(head_);
      state_[v] = idle;
      const Weight d = row[v];
      for (int64_t i = csr_.indptr[v]; i < csr_.indptr[v + 1]; ++i) {
        const Index t = csr_.indices[i];
        const Weight sum = d + csr_.weights[i];
        if (!(sum < row[t])) continue;
        row[t] = sum;
        if constexpr (kSigned) from_[t] = v;
        if (state_[t] != queued) put(t);
      }
    }
    return true;
  }

  const C& csr_;
  std::vector<char> state_;
  std::vector<Index> queue_;         // a ring: a vertex is queued at most once
  std::size_t head_ = 0, tail_ = 0;  // not reduced modulo the ring's size
  std::vector<Index> from_;          // predecessors, with negative weights
};

}  // namespace nearfar
