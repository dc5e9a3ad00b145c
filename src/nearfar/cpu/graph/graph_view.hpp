// A Graph in C++: typed pointers into NumPy arrays that Python keeps alive.
//
// A GraphView is made once per Graph and cached on it. Variants receive it and visit the typed Csr
// inside, so an algorithm is a template over the type of the weights, instantiated for the four
// here. Vertices are numbered in 32 bits, positions of edges in 64. Packed edges (target and weight
// adjacent, read by one load) are built on first use and kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cpu/memory/fill.hpp"
#include "cpu/memory/huge_block.hpp"

namespace nearfar {

using Index = int32_t;  // of a vertex

// The position of each vertex's first edge, and after the last one their number. It takes arrays of
// either width, as NumPy and SciPy make them: a branch that is always alike costs less than a
// second instantiation of every search.
class RowStarts {
 public:
  RowStarts() = default;
  RowStarts(const int32_t* starts) : starts_(starts) {}
  RowStarts(const int64_t* starts) : starts_(starts), wide_(true) {}

  template <class V>
  __attribute__((always_inline)) int64_t operator[](V v) const {
    const auto i = static_cast<std::size_t>(v);
    return __builtin_expect(wide_, 0) ? static_cast<const int64_t*>(starts_)[i]
                                      : static_cast<const int32_t*>(starts_)[i];
  }
  // Where a vertex's position is stored.
  template <class V>
  __attribute__((always_inline)) const void* operator+(V v) const {
    return static_cast<const char*>(starts_) + (static_cast<std::size_t>(v) << (wide_ ? 3 : 2));
  }
  // Number of positions of vertices, from 0 to n, up to `edge`, as std::upper_bound counts them.
  Index first_above(Index n, int64_t edge) const {
    if (wide_) {
      const auto* const from = static_cast<const int64_t*>(starts_);
      return static_cast<Index>(std::upper_bound(from, from + n + 1, edge) - from);
    }
    const auto* const from = static_cast<const int32_t*>(starts_);
    return static_cast<Index>(std::upper_bound(from, from + n + 1, edge) - from);
  }

 private:
  const void* starts_ = nullptr;
  bool wide_ = false;
};

template <class Weight>
struct Edge {
  Index target;
  Weight weight;
  bool dead_end = false;  // the target's only edge leads back: a search need not continue from it
};

// An edge as it is stored, without alignment padding before a weight of 64 bits. The sign bit of
// the target marks a dead end.
template <class Weight>
struct __attribute__((packed, aligned(4))) PackedEdge {
  Index marked;
  Weight weight;
};

template <class WeightT>
struct Csr {
  using Index = nearfar::Index;
  using Weight = WeightT;
  using EdgeType = Edge<WeightT>;
  using Stored = PackedEdge<WeightT>;
  static constexpr bool packed = true;  // the arrays that edge() reads

  Index n = 0;
  int64_t m = 0;
  RowStarts indptr;
  const Index* indices = nullptr;
  const Weight* weights = nullptr;  // never null: an unweighted Graph passes int32 ones
  const Stored* edges = nullptr;    // null until GraphView::pack()
  bool has_dead_ends = false;       // whether some targets are marked

  // kMarked: false if has_dead_ends is, which saves some instructions per edge.
  template <bool kMarked = true>
  __attribute__((always_inline)) EdgeType edge(std::size_t e) const {
    const Stored stored = edges[e];
    if constexpr (!kMarked) return {stored.marked, stored.weight, false};
    return {stored.marked & std::numeric_limits<Index>::max(), stored.weight, stored.marked < 0};
  }
  __attribute__((always_inline)) Weight weight(std::size_t e) const { return edges[e].weight; }
};

// The same rows without packed edges: targets and weights are read from the caller's arrays.
template <class WeightT>
struct SplitCsr : Csr<WeightT> {
  using EdgeType = Edge<WeightT>;
  static constexpr bool packed = false;
  template <bool kMarked = false>
  __attribute__((always_inline)) EdgeType edge(std::size_t e) const {
    return {this->indices[e], this->weights[e]};
  }
  __attribute__((always_inline)) WeightT weight(std::size_t e) const { return this->weights[e]; }
};

// Rows whose weights are integers of one or two bytes, searched in int32: long rows take a fraction
// of the memory, and one instruction compares the weights of 32 edges.
template <class SmallT>
struct NarrowCsr : Csr<int32_t> {
  using EdgeType = Edge<int32_t>;
  using Small = SmallT;
  static constexpr bool packed = false;
  static constexpr std::size_t kSpare = 32;  // readable elements after the last
  const Small* small = nullptr;
  template <bool kMarked = false>
  __attribute__((always_inline)) EdgeType edge(std::size_t e) const {
    return {this->indices[e], small[e]};
  }
  __attribute__((always_inline)) int32_t weight(std::size_t e) const { return small[e]; }
};

template <class C>
concept Narrow = requires(const C& csr) { csr.small; };

// Distances have the weights' type; this value means "unreached", and sums saturate at it.
template <class Weight>
constexpr Weight unreached() {
  if constexpr (std::is_floating_point_v<Weight>)
    return std::numeric_limits<Weight>::infinity();
  else
    return std::numeric_limits<Weight>::max();
}

// d + w for a reached d and any w, saturating at unreached() (and, for negative sums, just above
// the lowest value), so that an overflow never looks like an improvement.
template <class Weight>
inline Weight saturating_add(Weight d, Weight w) {
  if constexpr (std::is_floating_point_v<Weight>) {
    return d + w;
  } else {
    Weight sum;
    if (__builtin_add_overflow(d, w, &sum))
      return w > 0 ? unreached<Weight>() : std::numeric_limits<Weight>::lowest() + 1;
    return sum;
  }
}

using AnyCsr = std::variant<Csr<int32_t>, Csr<int64_t>, Csr<float>, Csr<double>>;

// Calls X(Weight) for each type of weights that the algorithms are instantiated for.
#define NEARFAR_FOR_EACH_WEIGHT(X) X(int32_t) X(int64_t) X(float) X(double)

// Distances that are all unreached, kept by searches that cleared those they set: to fill new ones
// takes longer than a later search of few vertices.
class ClearedDistances {
 public:
  // Returns an array that was kept, or a new one.
  template <class Weight>
  HugeBlock take(std::size_t n) {
    {
      const std::lock_guard lock(mutex_);
      if (!blocks_.empty()) {
        HugeBlock last = std::move(blocks_.back());
        blocks_.pop_back();
        return last;
      }
    }
    HugeBlock made(n * sizeof(Weight));
    fill_numbers(reinterpret_cast<Weight*>(made.data()), n, unreached<Weight>());
    return made;
  }

  // Keeps an array for later searches: the first one, and further ones up to `most` bytes in all.
  void keep(HugeBlock cleared, std::size_t most) {
    const std::lock_guard lock(mutex_);
    if (blocks_.empty() || (blocks_.size() + 1) * cleared.bytes() <= most)
      blocks_.push_back(std::move(cleared));
  }

  std::size_t bytes() {
    const std::lock_guard lock(mutex_);
    return blocks_.empty() ? 0 : blocks_.size() * blocks_.front().bytes();
  }

 private:
  std::mutex mutex_;
  std::vector<HugeBlock> blocks_;  // of equal size
};

class GraphView {
 public:
  // `targets` holds the indices of `csr` if they were copied.
  GraphView(AnyCsr csr, HugeBlock targets) : csr_(csr), targets_(std::move(targets)) {}

  // Calls f with the typed Csr; its edges may be null.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), csr_);
  }

  // The same, with packed edges.
  template <class F>
  decltype(auto) visit_packed(F&& f, int threads = 1) {
    pack(threads);
    return std::visit(std::forward<F>(f), csr_);
  }

  // Several threads may call all of these at once: the first one packs, and every reader of packed
  // edges has called this and waited for it. Others may copy the pointer meanwhile but do not use
  // it.
  void pack(int threads);
  std::size_t packed_bytes() const { return packed_.bytes(); }
  std::size_t copied_bytes() const { return targets_.bytes(); }

  ClearedDistances cleared;

 private:
  AnyCsr csr_;
  std::once_flag packed_once_;
  HugeBlock targets_, packed_;
};

}  // namespace nearfar
