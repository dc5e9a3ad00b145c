// Rows that one loop reads whether their edges are packed or not. Two loops would take twice as
// long to compile, and looking up an edge's target in a table takes longer than the strided reads.
#pragma once

#include <cstddef>
#include <limits>

#include "cpu/graph/graph_view.hpp"

namespace nearfar::bounded {

template <class WeightT>
struct EitherCsr : Csr<WeightT> {
  using EdgeType = Edge<WeightT>;
  static constexpr bool packed = false;

  // from_packed: whether to read the packed edges, which must exist.
  EitherCsr(const Csr<WeightT>& csr, bool from_packed) : Csr<WeightT>(csr) {
    using Stored = PackedEdge<WeightT>;
    targets_ = reinterpret_cast<const char*>(csr.indices);
    weights_ = reinterpret_cast<const char*>(csr.weights);
    if (!from_packed) return;
    targets_ = reinterpret_cast<const char*>(csr.edges);
    weights_ = targets_ + sizeof(Index);
    target_step_ = weight_step_ = sizeof(Stored);
  }

  template <bool kMarked = false>
  __attribute__((always_inline)) EdgeType edge(std::size_t e) const {
    Index marked;
    __builtin_memcpy(&marked, targets_ + e * target_step_, sizeof(marked));
    return {marked & std::numeric_limits<Index>::max(), weight(e)};
  }
  __attribute__((always_inline)) WeightT weight(std::size_t e) const {
    WeightT weight;
    __builtin_memcpy(&weight, weights_ + e * weight_step_, sizeof(weight));
    return weight;
  }

 private:
  const char *targets_, *weights_;
  std::size_t target_step_ = sizeof(Index), weight_step_ = sizeof(WeightT);
};

}  // namespace nearfar::bounded
