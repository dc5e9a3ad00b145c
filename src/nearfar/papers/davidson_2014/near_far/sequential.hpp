// The family on one core: one loop over a frontier, and a policy that selects the next frontier.
//
// These forms do the work of the CUDA variants one vertex after another, so that it can be read and
// counted: Davidson, Baxter, Garland, Owens (2014), section IV.C. They neither prefetch nor pack;
// the fast CPU solvers are elsewhere. A vertex that improves while it is queued is read with its
// newest distance, as on the GPU.
//
// A policy has: start(n, W delta); updated(t, d), called when t's distance falls to d;
// organise(distance, frontier), which fills the next frontier and returns whether it is nonempty;
// and the sizes of its near set and far pile.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/graph/graph_view.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {

// One entry per iteration, if requested.
struct SweepRecords {
  std::vector<int64_t> frontier, near, far, edges, labelled, final;
  std::vector<double> seconds;
};

struct SweepCounts {
  uint64_t iterations = 0, vertices_processed = 0, edges_relaxed = 0, splits = 0;
  SweepRecords records;
};

// A set of vertices in order of arrival, each at most once until it is taken.
class VertexQueue {
 public:
  explicit VertexQueue(std::size_t n) : inside_(n, 0) {}
  void add(Index v) {
    if (inside_[static_cast<std::size_t>(v)]) return;
    inside_[static_cast<std::size_t>(v)] = 1;
    queue_.push_back(v);
  }
  // Moves everything to `out`, which is emptied first.
  void take(std::vector<Index>& out) {
    out.swap(queue_);
    queue_.clear();
    for (const Index v : out) inside_[static_cast<std::size_t>(v)] = 0;
  }
  // Keeps the entries for which `keep` returns true, in their order.
  template <class Keep>
  void filter(Keep&& keep) {
    std::erase_if(queue_, [&](Index v) {
      if (keep(v)) return false;
      inside_[static_cast<std::size_t>(v)] = 0;
      return true;
    });
  }
  std::size_t size() const { return queue_.size(); }

 private:
  std::vector<Index> queue_;
  std::vector<uint8_t> inside_;
};

// Returns a threshold at least one delta greater than `from`, and strictly greater despite
// rounding.
template <class W>
W step_past(W from, W delta) {
  const W next = saturating_add(from, delta);
  if (next > from) return next;
  if constexpr (std::is_floating_point_v<W>)
    return std::nextafter(from, std::numeric_limits<W>::infinity());
  else
    return unreached<W>();
}

// Workfront Sweep: every updated vertex is in the next frontier.
template <class W>
class SweepPolicy {
 public:
  explicit SweepPolicy(std::size_t n) : next_(n) {}
  void updated(Index t, W) { next_.add(t); }
  bool organise(const W*, std::vector<Index>& frontier) {
    next_.take(frontier);
    return !frontier.empty();
  }
  std::size_t near() const { return next_.size(); }
  std::size_t far() const { return 0; }
  uint64_t splits() const { return 0; }

 private:
  VertexQueue next_;
};

// Near-Far: updated vertices below the threshold are next; the others wait in the far pile.
template <class W>
class NearFarPolicy {
 public:
  NearFarPolicy(std::size_t n, W delta) : near_(n), far_(n), delta_(delta), threshold_(delta) {}
  void updated(Index t, W d) { (d < threshold_ ? near_ : far_).add(t); }
  bool organise(const W* distance, std::vector<Index>& frontier) {
    while (near_.size() == 0 && far_.size() != 0) split(distance);
    near_.take(frontier);
    return !frontier.empty();
  }
  std::size_t near() const { return near_.size(); }
  std::size_t far() const { return far_.size(); }
  uint64_t splits() const { return splits_; }

 private:
  // An entry below the old threshold was settled meanwhile. Empty ranges are skipped.
  void split(const W* distance) {
    const W floor = threshold_;
    W least = unreached<W>();
    far_.filter([&](Index v) {
      if (distance[v] < floor) return false;
      least = std::min(least, distance[v]);
      return true;
    });
    if (far_.size() == 0) return;
    threshold_ = step_past(floor, delta_);
    if (!(least < threshold_)) threshold_ = step_past(least, delta_);
    far_.filter([&](Index v) {
      if (!(distance[v] < threshold_)) return true;
      near_.add(v);
      return false;
    });
    ++splits_;
  }

  VertexQueue near_, far_;
  W delta_, threshold_;
  uint64_t splits_ = 0;
};

// Bucketing: the lowest of a few buckets is next; the far pile follows the last one.
template <class W>
class BucketPolicy {
 public:
  BucketPolicy(std::size_t n, W delta, int buckets)
      : buckets_(static_cast<std::size_t>(buckets)), far_(n), next_(n), delta_(delta) {}
  void updated(Index t, W d) {
    const std::size_t bucket = bucket_of(d);
    if (bucket == buckets_.size())
      far_.add(t);
    else
      buckets_[bucket].push_back(t);
  }
  bool organise(const W* distance, std::vector<Index>& frontier) {
    while (true) {
      for (std::size_t b = 0; b < buckets_.size(); ++b) {
        for (const Index v : buckets_[b])
          if (bucket_of(distance[v]) == b) next_.add(v);  // else it is no longer in the bucket
        buckets_[b].clear();
        if (next_.size()) {
          next_.take(frontier);
          return true;
        }
      }
      if (!refill(distance)) return false;
    }
  }
  std::size_t near() const {
    std::size_t held = 0;
    for (const auto& bucket : buckets_) held += bucket.size();
    return held;
  }
  std::size_t far() const { return far_.size(); }
  uint64_t splits() const { return splits_; }

 private:
  std::size_t bucket_of(W d) const {
    if (d < base_) return 0;
    const W whole = (d - base_) / delta_;
    return whole < static_cast<W>(buckets_.size()) ? static_cast<std::size_t>(whole)
                                                   : buckets_.size();
  }
  // Distributes the far pile over the buckets, which start at its least distance.
  bool refill(const W* distance) {
    W least = unreached<W>();
    far_.filter([&](Index v) {
      if (bucket_of(distance[v]) < buckets_.size()) return false;  // settled meanwhile
      least = std::min(least, distance[v]);
      return true;
    });
    if (far_.size() == 0) return false;
    base_ = least;
    far_.filter([&](Index v) {
      const std::size_t bucket = bucket_of(distance[v]);
      if (bucket == buckets_.size()) return true;
      buckets_[bucket].push_back(v);
      return false;
    });
    ++splits_;
    return true;
  }

  std::vector<std::vector<Index>> buckets_;
  VertexQueue far_, next_;
  W delta_, base_ = 0;
  uint64_t splits_ = 0;
};

// Writes all n distances. `limit` is inclusive: greater distances are not kept.
template <class C, class Policy>
SweepCounts sweep_sequentially(const C& csr, Index source, typename C::Weight* distance,
                               typename C::Weight limit, bool full, Policy policy,
                               Interrupt& interrupt) {
  using W = typename C::Weight;
  const auto n = static_cast<std::size_t>(csr.n);
  SweepCounts counts;
  SweepRecords& records = counts.records;
  std::vector<uint64_t> last_label(full ? n : 0, ~uint64_t{0});
  std::fill_n(distance, n, unreached<W>());
  distance[source] = 0;
  if (full) last_label[static_cast<std::size_t>(source)] = 0;
  std::vector<Index> frontier{source};
  auto before = std::chrono::steady_clock::now();
  do {
    uint64_t edges = 0;
    int64_t labelled = 0;
    for (const Index v : frontier) {
      const W d = distance[v];
      const int64_t end = csr.indptr[v + 1];
      for (int64_t e = csr.indptr[v]; e < end; ++e) {
        const Index t = csr.indices[e];
        const W candidate = saturating_add(d, csr.weights[e]);
        if (!(candidate < distance[t]) || candidate > limit) continue;
        if (full) {
          labelled += distance[t] == unreached<W>();
          last_label[static_cast<std::size_t>(t)] = counts.iterations;
        }
        distance[t] = candidate;
        policy.updated(t, candidate);
      }
      edges += static_cast<uint64_t>(end - csr.indptr[v]);
      interrupt.poll(static_cast<uint64_t>(end - csr.indptr[v]) + 1);
    }
    ++counts.iterations;
    counts.vertices_processed += frontier.size();
    counts.edges_relaxed += edges;
    if (full) {
      const auto now = std::chrono::steady_clock::now();
      records.frontier.push_back(static_cast<int64_t>(frontier.size()));
      records.near.push_back(static_cast<int64_t>(policy.near()));
      records.far.push_back(static_cast<int64_t>(policy.far()));
      records.edges.push_back(static_cast<int64_t>(edges));
      records.labelled.push_back(labelled);
      records.seconds.push_back(std::chrono::duration<double>(now - before).count());
      before = now;
    }
  } while (policy.organise(distance, frontier));
  counts.splits = policy.splits();
  if (full) {
    records.final.assign(counts.iterations, 0);
    for (const uint64_t iteration : last_label)
      if (iteration < counts.iterations) ++records.final[iteration];
  }
  return counts;
}

}  // namespace nearfar
