// Direction-optimising breadth-first search on one core and on several.
//
// Beamer, Asanovic and Patterson 2012, with their two thresholds: pull when the frontier's edges
// exceed the unexplored ones / kAlpha (and n / kBeta), and push again when the frontier is smaller
// than n / kBeta. Departure: the distances define the frontier (a vertex is in it when its distance
// is the last level), so no bitmap is filled and emptied.
//
// With several workers a large level is divided into pieces of its frontier (pushing) or of the
// vertices (pulling), which any running worker takes; small levels stay with one. A vertex is
// claimed by exchanging its distance for the level. A pull reads distances while others write this
// level's: both values of a distance mean "not in the frontier".
//
// Memory order. Within a level only distances are shared, by relaxed atomics: all workers see the
// values of one distance in the same order, so one exchange succeeds, and which one does not
// matter. Each place in the queue is assigned by an atomic addition, written by one worker, and
// read in the next level. Between levels the workers leave the pool and return, which orders
// everything else (worker_pool.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "cpu/graph/graph_view.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::breadth_first {

constexpr uint64_t kAlpha = 14;
constexpr uint64_t kBeta = 24;
constexpr uint64_t kSparse = 5;  // mean degree
constexpr std::size_t kRowAhead = 8;
constexpr std::size_t kTargetAhead = 3;
constexpr uint64_t kSpreadFrom = uint64_t{1} << 15;  // edges of a frontier, or vertices
constexpr std::size_t kFrontierPiece = 256;
constexpr std::size_t kVertexPiece = std::size_t{1} << 14;
constexpr std::size_t kHeld = 1024;  // vertices that a worker collects before queueing

template <class C>
class Search {
 public:
  Search(const C& out, const C* in, int32_t* distances, int threads, Interrupt& interrupt)
      : out_(out), in_(in), distances_(distances), threads_(threads), interrupt_(interrupt) {}

  SearchStats run(Index source, StopRule<int32_t> stop) {
    const auto n = static_cast<std::size_t>(out_.n);
    std::fill_n(distances_, n, unreached<int32_t>());
    queue_.reset(new Index[n + 1]);
    queue_[0] = source;
    distances_[source] = 0;
    std::size_t begin = 0, end = 1;  // the frontier is queue_[begin..end)
    uint64_t unexplored = static_cast<uint64_t>(out_.m);
    uint64_t ahead = degree(source);
    bool pulling = false;
    const bool sparse = static_cast<uint64_t>(out_.m) <= kSparse * n;
    for (int32_t level = 1; begin < end && level <= stop.limit; ++level) {
      if (stop.reached_all(distances_, level)) break;
      const std::size_t size = end - begin;
      // A pull visits all vertices, for which the last levels of a road network are too small.
      const bool dense = ahead > n / kBeta && ahead > unexplored / kAlpha;
      pulling = in_ != nullptr && (pulling ? size >= n / kBeta : dense);
      unexplored -= std::min(unexplored, ahead);
      const bool together = threads_ > 1 && (pulling ? n : ahead) >= kSpreadFrom;
      ahead = 0;
      std::size_t fresh = 0;
      if (together) {
        fresh =
            pulling ? pull_together(level, end, ahead) : push_together(level, begin, end, ahead);
      } else {
        fresh = pulling  ? pull(level, end)
                : sparse ? push<true>(level, begin, end)
                         : push<false>(level, begin, end);
        if (in_ != nullptr || threads_ > 1)
          for (std::size_t i = end; i < fresh; ++i) ahead += degree(queue_[i]);
      }
      begin = end;
      end = fresh;
      ++stats_.iterations;
    }
    stats_.pushes = end;
    stats_.workers = std::max<uint64_t>(stats_.workers, 1);
    return stats_;
  }

 private:
  uint64_t degree(Index v) const {
    return static_cast<uint64_t>(out_.indptr[v + 1] - out_.indptr[v]);
  }

  // Calls take(target) for each edge of queue_[begin..end). Returns their number.
  template <class Take>
  uint64_t each_target(std::size_t begin, std::size_t end, Interrupt& interrupt, Take&& take) {
    uint64_t edges = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kRowAhead < end) prefetch(out_.indptr + queue_[i + kRowAhead]);
      if (i + kTargetAhead < end) prefetch(out_.indices + out_.indptr[queue_[i + kTargetAhead]]);
      const Index v = queue_[i];
      const auto row = static_cast<std::size_t>(out_.indptr[v]);
      const auto row_end = static_cast<std::size_t>(out_.indptr[v + 1]);
      edges += row_end - row;
      for (std::size_t e = row; e < row_end; ++e) take(out_.indices[e]);
      interrupt.poll(row_end - row + 8);
    }
    return edges;
  }

  // Sparse graphs: whether a target is new is unpredictable, so there is no branch. Where most
  // targets are known already, the additional stores cost more.
  template <bool Sparse>
  std::size_t push(int32_t level, std::size_t begin, std::size_t end) {
    std::size_t fresh = end;
    const uint64_t edges = each_target(begin, end, interrupt_, [&](Index t) {
      const int32_t present = distances_[t];
      if (!Sparse && present != unreached<int32_t>()) return;
      queue_[fresh] = t;
      fresh += present == unreached<int32_t>();
      distances_[t] = std::min(present, level);
    });
    stats_.edges_relaxed += edges;
    stats_.vertices_processed += end - begin;
    return fresh;
  }

  std::size_t pull(int32_t level, std::size_t end) {
    std::size_t fresh = end;
    const auto n = static_cast<std::size_t>(in_->n);
    for (std::size_t v = 0; v < n; ++v) {
      if (distances_[v] != unreached<int32_t>()) continue;
      const auto row = static_cast<std::size_t>(in_->indptr[v]);
      const auto row_end = static_cast<std::size_t>(in_->indptr[v + 1]);
      std::size_t e = row;
      while (e < row_end && distances_[in_->indices[e]] != level - 1) ++e;
      stats_.edges_relaxed += std::min(e + 1, row_end) - row;
      interrupt_.poll(e - row + 1);
      if (e == row_end) continue;
      distances_[v] = level;
      queue_[fresh++] = static_cast<Index>(v);
    }
    stats_.vertices_processed += n;
    return fresh;
  }

  // Vertices that a worker found in a level and has not yet queued.
  struct Found {
    std::array<Index, kHeld> held;
    std::size_t count = 0;
    uint64_t ahead = 0, edges = 0, vertices = 0;
  };

  void put(Found& found, Index v) {
    if (found.count == kHeld) flush(found);
    found.held[found.count++] = v;
    found.ahead += degree(v);
  }

  void flush(Found& found) {
    const std::size_t at = tail_.fetch_add(found.count, std::memory_order_relaxed);
    std::copy_n(found.held.data(), found.count, queue_.get() + at);
    found.count = 0;
  }

  // Calls take(piece, found, interrupt) for each piece of a level. Returns the queue's new end.
  template <class Take>
  std::size_t together(std::size_t pieces, std::size_t end, uint64_t& ahead, Take&& take) {
    tail_ = end;
    std::atomic<uint64_t> edges{0}, vertices{0}, beyond{0}, workers{0};
    spread(static_cast<int64_t>(pieces), threads_,
           [&](BatchCounter& counter, Interrupt& interrupt) {
             Found found;
             for (int64_t piece; (piece = counter.take()) >= 0;)
               take(static_cast<std::size_t>(piece), found, interrupt);
             flush(found);
             workers.fetch_add(found.vertices > 0, std::memory_order_relaxed);
             edges.fetch_add(found.edges, std::memory_order_relaxed);
             vertices.fetch_add(found.vertices, std::memory_order_relaxed);
             beyond.fetch_add(found.ahead, std::memory_order_relaxed);
           });
    stats_.edges_relaxed += edges;
    stats_.vertices_processed += vertices;
    stats_.workers = std::max<uint64_t>(stats_.workers, workers);
    ahead = beyond;
    return tail_;
  }

  std::size_t push_together(int32_t level, std::size_t begin, std::size_t end, uint64_t& ahead) {
    const std::size_t pieces = (end - begin + kFrontierPiece - 1) / kFrontierPiece;
    return together(pieces, end, ahead, [&](std::size_t piece, Found& found, Interrupt& interrupt) {
      const std::size_t first = begin + piece * kFrontierPiece;
      const std::size_t last = std::min(end, first + kFrontierPiece);
      found.edges += each_target(first, last, interrupt, [&](Index t) {
        int32_t present = __atomic_load_n(&distances_[t], __ATOMIC_RELAXED);
        if (present == unreached<int32_t>() &&
            __atomic_compare_exchange_n(&distances_[t], &present, level, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
          put(found, t);
      });
      found.vertices += last - first;
    });
  }

  std::size_t pull_together(int32_t level, std::size_t end, uint64_t& ahead) {
    const auto n = static_cast<std::size_t>(in_->n);
    return together((n + kVertexPiece - 1) / kVertexPiece, end, ahead,
                    [&](std::size_t piece, Found& found, Interrupt& interrupt) {
                      const std::size_t first = piece * kVertexPiece;
                      const std::size_t last = std::min(n, first + kVertexPiece);
                      uint64_t edges = 0;
                      for (std::size_t v = first; v < last; ++v) {
                        if (distances_[v] != unreached<int32_t>())
                          continue;  // written only by this worker
                        const auto row_end = static_cast<std::size_t>(in_->indptr[v + 1]);
                        for (auto e = static_cast<std::size_t>(in_->indptr[v]); e < row_end; ++e) {
                          ++edges;
                          const int32_t from =
                              __atomic_load_n(&distances_[in_->indices[e]], __ATOMIC_RELAXED);
                          if (from != level - 1) continue;
                          __atomic_store_n(&distances_[v], level, __ATOMIC_RELAXED);
                          put(found, static_cast<Index>(v));
                          break;
                        }
                      }
                      found.edges += edges;
                      found.vertices += last - first;
                      interrupt.poll(edges + last - first);
                    });
  }

  const C& out_;
  const C* in_;  // the transposed graph, or null if it does not exist
  int32_t* distances_;
  const int threads_;
  Interrupt& interrupt_;
  std::atomic<std::size_t> tail_{0};  // of the queue, in a level shared by workers
  SearchStats stats_;
  std::unique_ptr<Index[]> queue_;
};

}  // namespace nearfar::breadth_first
