// Breadth-first search from up to 64 sources at once, one per bit: an edge is read once for all.
//
// Then et al., "The more the merrier: efficient multi-source graph traversal", PVLDB 8(4), 2014.
// Bit i of three words of a vertex says whether source i has reached it, reached it in the last
// level, and reaches it in this one. A level is pushed, by adding the last level's bits of a vertex
// to each of its targets, or pulled: a vertex collects the bits of its predecessors until no source
// is missing that still advances. Sources that have much in common reach a vertex in few different
// levels, so each edge is read a few times for all of them.
//
// Departures: the direction is the one that reads fewer edges, and one word of bits per vertex
// serves, since four or eight were hardly faster for counting and slower for rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/graph/graph_view.hpp"
#include "cpu/search/arithmetic.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar::breadth_first {

constexpr int kLanes = 64;

// Edges from each vertex and, if it may pull, into each.
struct LaneEdges {
  Index n = 0;
  int64_t m = 0;
  RowStarts indptr;
  const Index* indices = nullptr;
  RowStarts in_indptr;
  const Index* in_indices = nullptr;  // null: every level is pushed
};

// One batch of sources.
struct LaneBatch {
  const int32_t* sources = nullptr;
  int count = 0;
  int32_t limit = 0;                 // greatest number of edges
  const int64_t* columns = nullptr;  // vertices of the answer; null: all
  std::size_t n_columns = 0;
};

struct LaneCounts {
  uint64_t levels = 0;
  uint64_t vertices = 0;  // taken, all lanes at once
  uint64_t edges = 0;     // looked at, all lanes at once
  void operator+=(const LaneCounts& more) {
    levels += more.levels;
    vertices += more.vertices;
    edges += more.edges;
  }
};

// Calls take(lane) for each bit.
template <class Take>
NEARFAR_INLINE void each_lane(uint64_t bits, const Take& take) {
  for (; bits != 0; bits &= bits - 1) take(__builtin_ctzll(bits));
}

class LaneSearch {
 public:
  static constexpr std::size_t kWords = 3;  // per vertex

  LaneSearch(const LaneEdges& edges, uint64_t* words, const LaneBatch& batch, Interrupt& interrupt)
      : e_(edges),
        seen_(words),
        now_(words + edges.n),
        next_(words + 2 * static_cast<std::size_t>(edges.n)),
        batch_(batch),
        interrupt_(interrupt) {}

  // Calls reached(v, lanes, level) for each vertex and the lanes that reach it in a level, and
  // ended(level, lanes by vertex) after the level.
  template <class Reached, class Ended>
  LaneCounts run(const Reached& reached, const Ended& ended) {
    const auto n = static_cast<std::size_t>(e_.n);
    std::memset(seen_, 0, kWords * n * sizeof(uint64_t));
    for (int i = 0; i < batch_.count; ++i) {
      const int32_t source = batch_.sources[i];
      seen_[source] |= uint64_t{1} << i;
      now_[source] |= uint64_t{1} << i;
      advancing_ |= uint64_t{1} << i;
      ahead_ += degree(e_.indptr, source);
    }
    open_ = static_cast<uint64_t>(e_.m);
    bool clear = true;  // whether next_ has no bits
    for (int32_t level = 1; level <= batch_.limit && advancing_ != 0 && !settled(); ++level) {
      // Adding bits to a target takes longer than collecting them, which often ends early.
      const bool pulls = e_.in_indices != nullptr && 2 * ahead_ > open_;
      if (!pulls) {
        if (!clear) std::memset(next_, 0, n * sizeof(uint64_t));
        push();
      }
      ahead_ = open_ = found_ = 0;
      if (pulls)
        visit<true>(level, reached);
      else
        visit<false>(level, reached);
      ++counts_.levels;
      ended(level, next_);
      std::swap(now_, next_);
      clear = !pulls;  // visiting after a push clears the bits of the last level
      advancing_ = found_;
    }
    return counts_;
  }

 private:
  static constexpr std::size_t kAhead = 24;  // edges

  static NEARFAR_INLINE uint64_t degree(const RowStarts& starts, Index v) {
    return static_cast<uint64_t>(starts[static_cast<std::size_t>(v) + 1] - starts[v]);
  }

  // Whether every source that advances has reached all columns.
  bool settled() const {
    if (batch_.columns == nullptr) return false;
    for (std::size_t c = 0; c < batch_.n_columns; ++c)
      if ((advancing_ & ~seen_[batch_.columns[c]]) != 0) return false;
    return true;
  }

  // Adds the bits of the last level to the targets.
  void push() {
    for (Index v = 0; v < e_.n; ++v) {
      const uint64_t from = now_[v];
      if (from == 0) continue;
      const auto begin = static_cast<std::size_t>(e_.indptr[v]);
      const auto end = begin + degree(e_.indptr, v);
      for (std::size_t e = begin; e < end; ++e) {
        if (e + kAhead < static_cast<std::size_t>(e_.m)) prefetch(next_ + e_.indices[e + kAhead]);
        next_[e_.indices[e]] |= from;
      }
      note(end - begin);
    }
  }

  // Returns the bits of the last level of the vertices before v, or all that are missing.
  NEARFAR_INLINE uint64_t pulled(Index v, uint64_t missing) {
    const auto begin = static_cast<std::size_t>(e_.in_indptr[v]);
    const auto end = begin + degree(e_.in_indptr, v);
    uint64_t sum = 0;
    std::size_t e = begin;
    while (e < end && (missing & ~sum) != 0) {
      if (e + kAhead < static_cast<std::size_t>(e_.m)) prefetch(now_ + e_.in_indices[e + kAhead]);
      sum |= now_[e_.in_indices[e++]];
    }
    note(e - begin);
    return sum;
  }

  // Keeps the bits of sources that reach a vertex for the first time.
  template <bool kPulls, class Reached>
  void visit(int32_t level, const Reached& reached) {
    const RowStarts& in = kPulls ? e_.in_indptr : e_.indptr;
    for (Index v = 0; v < e_.n; ++v) {
      const uint64_t missing = advancing_ & ~seen_[v];
      uint64_t fresh = 0;
      if (missing != 0) {
        fresh = (kPulls ? pulled(v, missing) : next_[v]) & missing;
        if (fresh != missing) open_ += degree(in, v);
      }
      next_[v] = fresh;
      if (!kPulls) now_[v] = 0;
      if (fresh == 0) continue;
      seen_[v] |= fresh;
      found_ |= fresh;
      ahead_ += degree(e_.indptr, v);
      reached(v, fresh, level);
    }
    interrupt_.poll(static_cast<uint64_t>(e_.n) / 4);
  }

  NEARFAR_INLINE void note(std::size_t edges) {
    ++counts_.vertices;
    counts_.edges += edges;
    interrupt_.poll(edges + 8);
  }

  const LaneEdges& e_;
  uint64_t* seen_;
  uint64_t* now_;
  uint64_t* next_;
  const LaneBatch& batch_;
  Interrupt& interrupt_;
  LaneCounts counts_;
  uint64_t advancing_ = 0,
           found_ = 0;  // lanes that reached a vertex in the last level, in this one
  uint64_t ahead_ = 0;  // edges that a push of the next level reads
  uint64_t open_ = 0;   // and a pull at most
};

// A counter per lane: bit i of planes_[b] is bit b of the counter of lane i.
class LaneCounters {
 public:
  NEARFAR_INLINE void add(uint64_t lanes) {
    for (uint64_t* plane = planes_; lanes != 0; ++plane) {
      const uint64_t both = *plane & lanes;
      *plane ^= lanes;
      lanes = both;
    }
  }
  int64_t of(int lane) const {
    int64_t count = 0;
    for (int b = 0; b < kPlanes; ++b) count |= static_cast<int64_t>(planes_[b] >> lane & 1) << b;
    return count;
  }
  void clear() { std::fill_n(planes_, kPlanes, 0); }

 private:
  static constexpr int kPlanes = 32;  // numbers of vertices have 31 bits
  uint64_t planes_[kPlanes] = {};
};

// Levels by lane and vertex in a byte each, turned into rows of lengths at the end. Written to the
// rows level by level, all rows would pass through the cache in each of them.
template <class W>
class LaneLevels {
 public:
  static constexpr int32_t kMost = 255;

  LaneLevels(uint8_t* levels, Index n, int count)
      : levels_(levels), n_(static_cast<std::size_t>(n)), count_(count) {
    std::memset(levels_, 0, n_ * static_cast<std::size_t>(count));
  }
  NEARFAR_INLINE void set(Index v, uint64_t lanes, int32_t level) {
    each_lane(lanes, [&](int lane) {
      levels_[n_ * static_cast<std::size_t>(lane) + static_cast<std::size_t>(v)] =
          static_cast<uint8_t>(level);
    });
  }
  // Writes whole rows.
  void write(const W* lengths, W* const* rows, Interrupt& interrupt) const {
    W by_level[kMost + 1];
    std::fill_n(by_level, kMost + 1, unreached<W>());
    for (std::size_t level = 1; level <= kMost && level < n_; ++level)
      by_level[level] = lengths[level];
    const uint8_t* from = levels_;
    for (int lane = 0; lane < count_; ++lane, from += n_) {
      W* const row = rows[lane];
      for (std::size_t v = 0; v < n_; ++v) row[v] = by_level[from[v]];
      interrupt.poll(n_);
    }
  }

 private:
  uint8_t* const levels_;
  const std::size_t n_;
  const int count_;
};

}  // namespace nearfar::breadth_first
