// Direction-optimising breadth-first search on one core and on several.
//
// Beamer, Asanovic and Patterson 2012, with their two thresholds: pull when the frontier's edges
// exceed the unexplored ones / kAlpha (and n / kBeta), and push again when the frontier is smaller
// than n / kBeta, or if pushing it takes less time than reading what the last pull has read: trees
// and road networks are read in vain. Departure: a pull looks for any predecessor that was visited
// before this level. It must be in the frontier, since an earlier one would have led here in an
// earlier level. So one bitmap of visited vertices serves, which fits a near cache, and 64 visited
// vertices are skipped at a time. The vertices that a level finds enter a second bitmap, and the
// two change places.
//
// With several workers a large level is divided into pieces of its frontier (pushing) or of the
// vertices (pulling), which any running worker takes; small levels stay with one. A vertex is
// claimed by exchanging its distance for the level. A pull reads only bits that do not change.
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
#include <cstring>
#include <memory>
#include <vector>

#include "cpu/graph/graph_view.hpp"
#include "cpu/memory/fill.hpp"
#include "cpu/search/eights.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::breadth_first {

constexpr uint64_t kAlpha = 14;
constexpr uint64_t kBeta = 24;
constexpr uint64_t kPulledEdges = 6;  // edges that a pull reads in the time of a pushed one,
constexpr uint64_t kOpenEdges = 3;    // and in that of finding an unvisited vertex's row
constexpr uint64_t kSparse = 5;       // mean degree
constexpr std::size_t kRowAhead = 8;
constexpr std::size_t kTargetAhead = 3;
constexpr std::size_t kLongRow = 16;
constexpr std::size_t kPullAhead = 24;               // vertices
constexpr uint64_t kSpreadFrom = uint64_t{1} << 15;  // edges of a frontier, or vertices
constexpr std::size_t kFrontierPiece = 256;
constexpr std::size_t kWordPiece = std::size_t{1} << 8;       // words of 64 vertices
constexpr std::size_t kManyPerWorker = std::size_t{1} << 14;  // distances worth a wake-up
constexpr std::size_t kHeld = 1024;  // vertices that a worker collects before queueing

template <class C>
class Search {
 public:
  Search(const C& out, const C* in, int32_t* distances, int threads, Interrupt& interrupt)
      : out_(out), in_(in), distances_(distances), threads_(threads), interrupt_(interrupt) {}

  SearchStats run(Index source, StopRule<int32_t> stop) {
    const auto n = static_cast<std::size_t>(out_.n);
    blocks(n, [&](std::size_t first, std::size_t last) {
      fill_numbers(distances_ + first, last - first, unreached<int32_t>());
    });
    queue_.reset(new Index[n + 1]);
    queue_[0] = source;
    distances_[source] = 0;
    std::size_t begin = 0, end = 1;  // the frontier is queue_[begin..end)
    uint64_t unexplored = static_cast<uint64_t>(out_.m);
    uint64_t ahead = degree(source);
    uint64_t read = 0;  // edges of the last level that was pulled; a later one reads no more
    bool pulling = false;
    const bool sparse = static_cast<uint64_t>(out_.m) <= kSparse * n;
    for (int32_t level = 1; begin < end && level <= stop.limit; ++level) {
      if (stop.reached_all(distances_, level)) break;
      const std::size_t size = end - begin;
      // A pull visits all vertices, for which the last levels of a road network are too small.
      const bool dense = ahead > n / kBeta && ahead > unexplored / kAlpha;
      const bool pulled = pulling;
      const bool vain = read != 0 && read + kOpenEdges * (n - end) > kPulledEdges * ahead;
      pulling = in_ != nullptr && (pulling ? size >= n / kBeta : dense) && !vain;
      if (pulling && !pulled) mark_visited();
      unexplored -= std::min(unexplored, ahead);
      const bool together = threads_ > 1 && (pulling ? n : ahead) >= kSpreadFrom;
      const uint64_t before = stats_.edges_relaxed;
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
      if (pulling) read = stats_.edges_relaxed - before;
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

  // Calls take(target) for each edge of queue_[begin..end). If kSkip, most targets that have a
  // distance are left out of long rows (eights.hpp). Returns the number of edges.
  template <bool kSkip, class Take>
  uint64_t each_target(std::size_t begin, std::size_t end, Interrupt& interrupt, Take&& take) {
    uint64_t edges = 0;
    Eights eights;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kRowAhead < end) prefetch(out_.indptr + queue_[i + kRowAhead]);
      if (i + kTargetAhead < end) prefetch(out_.indices + out_.indptr[queue_[i + kTargetAhead]]);
      const Index v = queue_[i];
      const auto row = static_cast<std::size_t>(out_.indptr[v]);
      const auto row_end = static_cast<std::size_t>(out_.indptr[v + 1]);
      edges += row_end - row;
      const auto take_edge = [&](std::size_t e) { take(out_.indices[e]); };
      if (kSkip && row_end - row >= kLongRow) {
        const auto fresh = [&](std::size_t e) {
          return __atomic_load_n(&distances_[out_.indices[e]], __ATOMIC_RELAXED) ==
                 unreached<int32_t>();
        };
        eights.each(row, row_end, fresh, take_edge);
      } else {
        for (std::size_t e = row; e < row_end; ++e) take_edge(e);
      }
      interrupt.poll(row_end - row + 8);
    }
    return edges;
  }

  // Sparse graphs: whether a target is new is unpredictable, so there is no branch. Where most
  // targets are known already, the additional stores cost more.
  template <bool Sparse>
  std::size_t push(int32_t level, std::size_t begin, std::size_t end) {
    std::size_t fresh = end;
    const uint64_t edges = each_target<!Sparse>(begin, end, interrupt_, [&](Index t) {
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

  std::size_t words() const { return (static_cast<std::size_t>(out_.n) + 63) / 64; }

  // Calls f(first, last) for blocks of [0, size), on all workers if there are many.
  template <class F>
  void blocks(std::size_t size, F&& f) {
    const int threads = size < kManyPerWorker * static_cast<std::size_t>(threads_) ? 1 : threads_;
    spread_blocks(static_cast<int64_t>(size), int64_t{1} << 14, threads,
                  [&](const auto& each_block, Interrupt&) {
                    each_block([&](int64_t first, int64_t last) {
                      f(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
                    });
                  });
  }

  // Sets the bits of the visited vertices, and of those beyond the last vertex.
  void mark_visited() {
    const auto n = static_cast<std::size_t>(out_.n);
    visited_.resize(words());
    next_.resize(words());
    blocks(n, [&](std::size_t first, std::size_t last) {
      for (std::size_t from = first; from < last; from += 64) {
        const std::size_t count = std::min<std::size_t>(64, last - from);
        uint8_t reached[64];  // compilers compare many at a time
        std::fill_n(reached, 64, uint8_t{1});
        for (std::size_t i = 0; i < count; ++i)
          reached[i] = distances_[from + i] != unreached<int32_t>();
        uint64_t bits = 0;
        for (std::size_t i = 0; i < 64; i += 8) {
          uint64_t eight;
          std::memcpy(&eight, reached + i, 8);
          bits |= (eight * 0x0102040810204080u >> 56) << i;  // the lowest bit of each byte
        }
        visited_[from / 64] = bits;
      }
    });
  }

  // Calls found(v) for each vertex of 64 that was not visited and has a visited predecessor.
  // Returns the number of edges read.
  template <class Take>
  uint64_t pull_word(int32_t level, std::size_t word, Take&& found) {
    const auto n = static_cast<std::size_t>(in_->n);
    const uint64_t before = visited_[word];
    uint64_t edges = 0, fresh = 0;
    for (uint64_t open = ~before; open != 0; open &= open - 1) {
      const std::size_t v = word * 64 + static_cast<std::size_t>(__builtin_ctzll(open));
      if (v + kPullAhead < n) prefetch(in_->indices + in_->indptr[v + kPullAhead]);
      const auto row_end = static_cast<std::size_t>(in_->indptr[v + 1]);
      for (auto e = static_cast<std::size_t>(in_->indptr[v]); e < row_end; ++e) {
        ++edges;
        const auto from = static_cast<std::size_t>(in_->indices[e]);
        if ((visited_[from / 64] >> (from % 64) & 1) == 0) continue;
        distances_[v] = level;
        fresh |= open & (0 - open);
        found(static_cast<Index>(v));
        break;
      }
    }
    next_[word] = before | fresh;
    return edges;
  }

  std::size_t pull(int32_t level, std::size_t end) {
    std::size_t fresh = end;
    for (std::size_t word = 0; word < words(); ++word) {
      const uint64_t edges = pull_word(level, word, [&](Index v) { queue_[fresh++] = v; });
      stats_.edges_relaxed += edges;
      interrupt_.poll(edges + 8);
    }
    visited_.swap(next_);
    stats_.vertices_processed += static_cast<std::size_t>(in_->n);
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
      found.edges += each_target<true>(first, last, interrupt, [&](Index t) {
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
    const std::size_t all = words();
    const auto take = [&](std::size_t piece, Found& found, Interrupt& interrupt) {
      const std::size_t first = piece * kWordPiece, last = std::min(all, first + kWordPiece);
      uint64_t edges = 0;
      for (std::size_t word = first; word < last; ++word)
        edges += pull_word(level, word, [&](Index v) { put(found, v); });
      found.edges += edges;
      found.vertices +=
          std::min<std::size_t>(last * 64, static_cast<std::size_t>(in_->n)) - first * 64;
      interrupt.poll(edges + last - first);
    };
    const std::size_t fresh = together((all + kWordPiece - 1) / kWordPiece, end, ahead, take);
    visited_.swap(next_);
    return fresh;
  }

  const C& out_;
  const C* in_;  // the transposed graph, or null if it does not exist
  int32_t* distances_;
  const int threads_;
  Interrupt& interrupt_;
  std::atomic<std::size_t> tail_{0};  // of the queue, in a level shared by workers
  SearchStats stats_;
  std::unique_ptr<Index[]> queue_;
  // One bit per vertex: visited before a pulled level, and after it.
  std::vector<uint64_t> visited_, next_;
};

}  // namespace nearfar::breadth_first
