// The shortest paths from one source as a directed acyclic graph, in order of distance.
//
// Vertices are addressed by their place in that order, so that the data of a vertex's successors is
// in the narrow window between the frontier's nearest and farthest vertex, and one array tells a
// search whether a vertex is new, on the next level, or behind. An edge belongs to the DAG when it
// is tight: d[u] + w == d[v]. Rows must have neither parallel edges nor self-loops, and must be
// packed to build from distances.
//
// Vertices of equal distance are ordered by number, which is correct as long as no tight edge joins
// them. Edges of weight zero do, and so do weights that are absorbed by a float sum: where such an
// edge runs against the order, the vertices of that distance are sorted topologically along the
// edges between them (Kahn 1962). A cycle of such edges has no topological order and infinitely
// many paths; it is reported.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/memory/buffer.hpp"
#include "cpu/search/arithmetic.hpp"
#include "cpu/threads/interrupt.hpp"
#include "measures/paths/scaled.hpp"

namespace nearfar::measures {

template <class C>
class PathDag {
 public:
  using Weight = typename C::Weight;
  static constexpr Index kUnseen = std::numeric_limits<Index>::max();

  // edges: whether to record the edge that leads to each successor.
  PathDag(const C& csr, bool edges)
      : csr_(csr),
        order_(new Index[size(csr.n) + 1]),
        place_(new Index[size(csr.n)]),
        first_(new std::size_t[size(csr.n) + 1]),
        next_(new Index[size(csr.m) + 1]),
        edge_(edges ? new int64_t[size(csr.m) + 1] : nullptr),
        paths_(new double[size(csr.n) + 1]()) {
    std::fill_n(place_.get(), size(csr.n), kUnseen);
  }

  std::size_t reached() const { return count_; }
  Index vertex(std::size_t place) const { return order_[place]; }
  // Successors of a place: their places, and the edges to them.
  std::size_t begin(std::size_t place) const { return first_[place]; }
  std::size_t end(std::size_t place) const { return first_[place + 1]; }
  std::size_t next(std::size_t i) const { return size(next_[i]); }
  int64_t edge(std::size_t i) const { return edge_[i]; }
  // Number of shortest paths; undefined if too_many().
  const double* paths() const { return paths_.get(); }
  bool too_many() const { return too_many_; }
  // Whether a sum of integer weights overflowed or one of floats became infinite.
  bool saturated() const { return saturated_; }
  // Vertices of a cycle of weight zero that the source reaches. If there is one, nothing else is
  // valid.
  const std::vector<int64_t>& cycle() const { return cycle_; }

  // Searches by number of edges, at most `limit`.
  void search(Index source, int64_t limit, Interrupt& interrupt);

  // Builds from distances. `touched`: the vertices that may be reached, in any order, possibly
  // repeated; null for all. A float sum may exceed a distance by the relative tolerance.
  void build(Index source, const Weight* distance, Weight limit, const Buffer<Index>* touched,
             double tolerance, Interrupt& interrupt);

  // Clears the buffers for the next source.
  void clear() {
    for (std::size_t i = 0; i < count_; ++i) place_[order_[i]] = kUnseen;
    std::fill_n(paths_.get(), count_ + 1, 0.0);
    count_ = 0;
    too_many_ = saturated_ = false;
  }

 private:
  static std::size_t size(int64_t n) { return static_cast<std::size_t>(n); }

  // All stores of the loop are unconditional and counters advance by 0 or 1, because most branches
  // would be mispredicted. A place that is not behind the current level is on the next one.
  template <bool kEdges>
  void levels(Index source, int64_t limit, Interrupt& interrupt) {
    Index* const order = order_.get();
    Index* const place = place_.get();
    Index* const next = next_.get();
    int64_t* const edge = edge_.get();
    double* const paths = paths_.get();
    order[0] = source;
    place[source] = 0;
    paths[0] = 1;
    Index tail = 1;
    std::size_t k = 0;
    Index end = 1;  // of the current level
    int64_t level = 0;
    double most = 1;
    for (Index i = 0; i < tail; ++i) {
      if (i == end) {
        end = tail;
        ++level;
      }
      first_[i] = k;
      const double mine = paths[i];
      most = most < mine ? mine : most;
      if (level >= limit) continue;
      const auto row = size(csr_.indptr[order[i]]), row_end = size(csr_.indptr[order[i] + 1]);
      interrupt.poll(row_end - row + 4);
      for (std::size_t e = row; e < row_end; ++e) {
        const Index t = csr_.indices[e];
        const Index seen = place[t];
        const bool fresh = seen == kUnseen;
        const Index at = fresh ? tail : seen;
        const bool ahead = at >= end;
        place[t] = at;
        order[tail] = t;
        tail += fresh;
        next[k] = at;
        if constexpr (kEdges) edge[k] = static_cast<int64_t>(e);
        k += ahead;
        paths[at] += ahead ? mine : 0.0;
      }
    }
    count_ = size(tail);
    first_[count_] = k;
    too_many_ = !(most < kMostPaths);
  }

  void collect(const Weight* distance, Weight limit, const Buffer<Index>* touched) {
    count_ = 0;
    const auto within = [&](Index v) {
      return distance[v] != unreached<Weight>() && distance[v] <= limit;
    };
    if (touched == nullptr) {
      for (Index v = 0; v < csr_.n; ++v) {
        order_[count_] = v;
        count_ += within(v);
      }
      return;
    }
    for (std::size_t i = 0; i < touched->size; ++i) {
      const Index v = touched->data[i];
      if (!within(v) || place_[v] != kUnseen) continue;
      place_[v] = 0;
      order_[count_++] = v;
    }
    std::sort(order_.get(), order_.get() + count_);
  }

  // Stable sort by distance; equal ones stay in order of the vertex.
  void sort(const Weight* distance) {
    constexpr std::size_t kFew = 512;
    constexpr int kDigit = 11;
    constexpr std::size_t kDigits = std::size_t{1} << kDigit;
    Index* const order = order_.get();
    if (count_ < kFew) {
      std::stable_sort(order, order + count_,
                       [&](Index a, Index b) { return distance[a] < distance[b]; });
      return;
    }
    using Bits = BitsOf<Weight>;
    if (keys_ == nullptr) {
      keys_.reset(new Key[size(csr_.n)]);
      other_.reset(new Key[size(csr_.n)]);
    }
    Key* from = keys_.get();
    Key* to = other_.get();
    Bits any = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Bits bits = ordered_bits(distance[order[i]]);
      from[i] = {bits, order[i]};
      any |= bits;
    }
    for (int shift = 0; shift < static_cast<int>(8 * sizeof(Bits)) && (any >> shift) != 0;
         shift += kDigit) {
      std::size_t starts[kDigits] = {};
      for (std::size_t i = 0; i < count_; ++i) ++starts[(from[i].bits >> shift) & (kDigits - 1)];
      std::size_t sum = 0;
      for (std::size_t& start : starts) sum += std::exchange(start, sum);
      for (std::size_t i = 0; i < count_; ++i)
        to[starts[(from[i].bits >> shift) & (kDigits - 1)]++] = from[i];
      std::swap(from, to);
    }
    for (std::size_t i = 0; i < count_; ++i) order[i] = from[i].vertex;
  }

  void number() {
    for (std::size_t i = 0; i < count_; ++i) place_[order_[i]] = static_cast<Index>(i);
  }

  // Vertices of one distance are scattered in memory. Prefetching the data of the next ones makes
  // New York's roads and a Delaunay mesh a tenth faster.
  NEARFAR_INLINE void fetch_ahead(std::size_t i, const Weight* distance) const {
    constexpr std::size_t kRow = 16, kEdges = 10, kTargets = 4;
    if (i + kRow < count_) prefetch(csr_.indptr + order_[i + kRow]);
    if (i + kEdges < count_) prefetch(csr_.edges + csr_.indptr[order_[i + kEdges]]);
    if (i + kTargets >= count_) return;
    const Index v = order_[i + kTargets];
    for (auto e = size(csr_.indptr[v]); e < size(csr_.indptr[v + 1]); ++e) {
      const Index t = csr_.edge(e).target;
      prefetch(distance + t);
      prefetch(place_.get() + t);
    }
  }

  bool is_tight(SumOf<Weight> sum, Weight there) const {
    return sum == static_cast<SumOf<Weight>>(there);
  }

  // Finds successors and path counts. Returns false if a tight edge runs against the order.
  bool tight(const Weight* distance, Weight limit, double tolerance, Interrupt& interrupt) {
    std::fill_n(paths_.get(), count_ + 1, 0.0);
    if (edge_ != nullptr) return successors<true>(distance, limit, tolerance, interrupt);
    return successors<false>(distance, limit, tolerance, interrupt);
  }

  template <bool kEdges>
  bool successors(const Weight* distance, Weight limit, double tolerance, Interrupt& interrupt) {
    double* const paths = paths_.get();
    paths[0] = 1;
    std::size_t k = 0;
    double most = 0;
    bool against = false;
    const bool endless = limit == unreached<Weight>();
    const bool exact = tolerance == 0;
    for (std::size_t i = 0; i < count_; ++i) {
      fetch_ahead(i, distance);
      first_[i] = k;
      const Index v = order_[i];
      const Weight d = distance[v];
      const double mine = paths[i];
      most = most < mine ? mine : most;
      const auto row = size(csr_.indptr[v]), row_end = size(csr_.indptr[v + 1]);
      interrupt.poll(row_end - row + 4);
      for (std::size_t e = row; e < row_end; ++e) {
        const auto [t, weight, dead_end] = csr_.edge(e);
        const auto sum = candidate(d, weight);
        const Weight there = distance[t];
        saturated_ |= endless && !(sum < static_cast<SumOf<Weight>>(unreached<Weight>()));
        if (!is_tight(sum, there)) {
          if (exact || !nearly(sum, there, limit, tolerance)) continue;
          if (size(place_[t]) <= i) continue;  // not farther
        } else if (there > limit || there == unreached<Weight>()) {
          continue;
        }
        const std::size_t at = size(place_[t]);
        against |= at <= i;
        next_[k] = static_cast<Index>(at);
        if constexpr (kEdges) edge_[k] = static_cast<int64_t>(e);
        ++k;
        paths[at] += mine;
      }
    }
    first_[count_] = k;
    too_many_ = !(most < kMostPaths);
    return !against;
  }

  static bool nearly(SumOf<Weight> sum, Weight there, Weight limit, double tolerance) {
    if (there > limit || there == unreached<Weight>()) return false;
    const auto d = static_cast<double>(there);
    return static_cast<double>(sum) <= d + tolerance * d;
  }

  // Sorts the vertices of one distance topologically along the tight edges between them.
  void untie(const Weight* distance) {
    std::vector<Index> entering(count_, 0), before(count_, -1);
    const auto level_edges = [&](std::size_t i, auto&& each) {
      const Index v = order_[i];
      for (auto e = size(csr_.indptr[v]); e < size(csr_.indptr[v + 1]); ++e) {
        const Index t = csr_.indices[e];
        if (distance[t] == distance[v] &&
            is_tight(candidate(distance[v], csr_.weights[e]), distance[t]))
          each(size(place_[t]));
      }
    };
    for (std::size_t i = 0; i < count_; ++i)
      level_edges(i, [&](std::size_t at) { ++entering[at]; });
    std::vector<std::size_t> queue;
    std::vector<Index> sorted;
    for (std::size_t low = 0, high; low < count_; low = high) {
      const Weight d = distance[order_[low]];
      for (high = low + 1; high < count_ && distance[order_[high]] == d;) ++high;
      queue.clear();
      for (std::size_t i = low; i < high; ++i)
        if (entering[i] == 0) queue.push_back(i);
      for (std::size_t q = 0; q < queue.size(); ++q)
        level_edges(queue[q], [&](std::size_t at) {
          if (--entering[at] == 0) queue.push_back(at);
        });
      if (queue.size() < high - low) {
        for (std::size_t i = low; i < high; ++i)
          if (entering[i] > 0)
            level_edges(i, [&](std::size_t at) { before[at] = static_cast<Index>(i); });
        report(low, high, entering, before);
        return;
      }
      for (const std::size_t i : queue) sorted.push_back(order_[i]);
    }
    std::copy(sorted.begin(), sorted.end(), order_.get());
    number();
  }

  // Finds a cycle among the remaining places of one distance: each has a predecessor among them.
  void report(std::size_t low, std::size_t high, const std::vector<Index>& entering,
              const std::vector<Index>& before) {
    std::size_t at = low;
    while (at < high && entering[at] == 0) ++at;
    std::vector<bool> seen(count_, false);
    while (!seen[at]) {
      seen[at] = true;
      at = size(before[at]);
    }
    const std::size_t start = at;
    do {
      cycle_.push_back(static_cast<int64_t>(order_[at]));
      at = size(before[at]);
    } while (at != start);
    std::reverse(cycle_.begin(), cycle_.end());
  }

  struct Key {
    BitsOf<Weight> bits;
    Index vertex;
  };

  const C& csr_;
  std::size_t count_ = 0;
  std::unique_ptr<Index[]> order_;        // vertex at each place
  std::unique_ptr<Index[]> place_;        // of each vertex
  std::unique_ptr<std::size_t[]> first_;  // the successors of a place begin here in next_
  std::unique_ptr<Index[]> next_;
  std::unique_ptr<int64_t[]> edge_;
  std::unique_ptr<double[]> paths_;  // zeros between searches
  std::unique_ptr<Key[]> keys_, other_;
  bool too_many_ = false;
  bool saturated_ = false;
  std::vector<int64_t> cycle_;
};

// Defined out of the class so that only path_dag.cpp compiles them and what they call.
template <class C>
void PathDag<C>::search(Index source, int64_t limit, Interrupt& interrupt) {
  if (edge_ != nullptr)
    levels<true>(source, limit, interrupt);
  else
    levels<false>(source, limit, interrupt);
}

template <class C>
void PathDag<C>::build(Index source, const Weight* distance, Weight limit,
                       const Buffer<Index>* touched, double tolerance, Interrupt& interrupt) {
  collect(distance, limit, touched);
  sort(distance);
  Index* const first = std::find(order_.get(), order_.get() + count_, source);
  std::rotate(order_.get(), first, first + 1);  // other vertices may have distance 0
  number();
  const bool ordered = tight(distance, limit, tolerance, interrupt);
  if (ordered) return;
  untie(distance);
  if (cycle_.empty()) tight(distance, limit, tolerance, interrupt);
}

#define NEARFAR_PATH_DAG(W) extern template class PathDag<Csr<W>>;
NEARFAR_FOR_EACH_WEIGHT(NEARFAR_PATH_DAG)
#undef NEARFAR_PATH_DAG

// Path counts that may exceed a double.
template <class C>
std::vector<Scaled> scaled_paths(const PathDag<C>& dag) {
  std::vector<Scaled> paths(dag.reached());
  paths[0] = Scaled(1);
  for (std::size_t i = 0; i < dag.reached(); ++i)
    for (std::size_t j = dag.begin(i); j < dag.end(i); ++j) paths[dag.next(j)] += paths[i];
  return paths;
}

}  // namespace nearfar::measures
