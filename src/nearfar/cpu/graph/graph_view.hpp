// A Graph in C++: typed pointers into NumPy arrays that Python keeps alive.
//
// A GraphView is made once per Graph and cached on it. Variants receive it and visit the typed Csr
// inside, so an algorithm is a template over index and weight type, instantiated for the eight
// combinations here. Packed edges (target and weight adjacent, read by one load) are built on first
// use and kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <type_traits>
#include <variant>

#include "cpu/memory/huge_block.hpp"

namespace nearfar {

template <class Index, class Weight>
struct Edge {
  Index target;
  Weight weight;
  bool dead_end = false;  // the target's only edge leads back: a search need not continue from it
};

// An edge as it is stored, without alignment padding before a weight of 64 bits. The sign bit of
// the target marks a dead end.
template <class Index, class Weight>
struct __attribute__((packed, aligned(4))) PackedEdge {
  Index marked;
  Weight weight;
};

template <class IndexT, class WeightT>
struct Csr {
  using Index = IndexT;
  using Weight = WeightT;
  using EdgeType = Edge<IndexT, WeightT>;
  using Stored = PackedEdge<IndexT, WeightT>;
  static constexpr bool packed = true;  // the arrays that edge() reads

  Index n = 0;
  Index m = 0;
  const Index* indptr = nullptr;
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
template <class IndexT, class WeightT>
struct SplitCsr : Csr<IndexT, WeightT> {
  using EdgeType = Edge<IndexT, WeightT>;
  static constexpr bool packed = false;
  template <bool kMarked = false>
  __attribute__((always_inline)) EdgeType edge(std::size_t e) const {
    return {this->indices[e], this->weights[e]};
  }
  __attribute__((always_inline)) WeightT weight(std::size_t e) const { return this->weights[e]; }
};

// Rows whose weights are integers of one or two bytes, searched in int32: long rows take a fraction
// of the memory, and one instruction compares the weights of 32 edges.
template <class IndexT, class SmallT>
struct NarrowCsr : Csr<IndexT, int32_t> {
  using EdgeType = Edge<IndexT, int32_t>;
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

using AnyCsr = std::variant<Csr<int32_t, int32_t>, Csr<int32_t, int64_t>, Csr<int32_t, float>,
                            Csr<int32_t, double>, Csr<int64_t, int32_t>, Csr<int64_t, int64_t>,
                            Csr<int64_t, float>, Csr<int64_t, double>>;

// Calls X(Index, Weight) for each pair of types that the algorithms are instantiated for.
#define NEARFAR_FOR_EACH_CSR(X) \
  X(int32_t, int32_t)           \
  X(int32_t, int64_t)           \
  X(int32_t, float)             \
  X(int32_t, double)            \
  X(int64_t, int32_t)           \
  X(int64_t, int64_t)           \
  X(int64_t, float)             \
  X(int64_t, double)

class GraphView {
 public:
  explicit GraphView(AnyCsr csr) : csr_(csr) {}

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

 private:
  AnyCsr csr_;
  std::once_flag packed_once_;
  HugeBlock packed_;
};

}  // namespace nearfar
