// The four relax steps of the compound-frontier loop, as functors over a SettleState.
//
// Martin et al. (2009), Fig. 3: relax_F visits the successors of every frontier vertex, relax_U the
// predecessors of every unsettled vertex; section 5 gives both for adjacency matrices, where every
// entry of a row or column is visited. A matrix is n x n, row-major, entry [u][v] the weight of the
// edge u -> v and unreached() where there is none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/search/arithmetic.hpp"
#include "cpu/search/settle_loop.hpp"

namespace nearfar {

template <class C>
struct ListSuccessors {
  const C* csr;

  template <class W>
  RelaxCount operator()(SettleState<W>& s, Interrupt& interrupt) const {
    using I = typename C::Index;
    const I* const indptr = csr->indptr;
    const I* const indices = csr->indices;
    const W* const weights = csr->weights;
    const uint8_t* const frontier = s.frontier;
    const uint8_t* const unsettled = s.unsettled;
    W* const distance = s.distance;
    RelaxCount count;
    for (std::size_t i = 0; i < s.n; ++i) {
      if (!frontier[i]) continue;
      const W d = distance[i];
      const I end = indptr[i + 1];
      for (I e = indptr[i]; e < end; ++e) {
        const I j = indices[e];
        if (!unsettled[j]) continue;
        const auto sum = candidate(d, weights[e]);
        if (improves(sum, distance[j])) distance[j] = static_cast<W>(sum);
      }
      ++count.working;
      count.edges += static_cast<uint64_t>(end - indptr[i]);
      interrupt.poll(static_cast<uint64_t>(end - indptr[i]) + 1);
    }
    return count;
  }
};

// csr is the transposed graph: row i lists the predecessors of i.
template <class C>
struct ListPredecessors {
  const C* csr;

  template <class W>
  RelaxCount operator()(SettleState<W>& s, Interrupt& interrupt) const {
    using I = typename C::Index;
    const I* const indptr = csr->indptr;
    const I* const indices = csr->indices;
    const W* const weights = csr->weights;
    const uint8_t* const frontier = s.frontier;
    const uint8_t* const unsettled = s.unsettled;
    W* const distance = s.distance;
    RelaxCount count;
    for (std::size_t i = 0; i < s.n; ++i) {
      if (!unsettled[i]) continue;
      W best = distance[i];
      const I end = indptr[i + 1];
      for (I e = indptr[i]; e < end; ++e) {
        const I j = indices[e];
        if (!frontier[j]) continue;
        const auto sum = candidate(distance[j], weights[e]);
        if (improves(sum, best)) best = static_cast<W>(sum);
      }
      distance[i] = best;
      ++count.working;
      count.edges += static_cast<uint64_t>(end - indptr[i]);
      interrupt.poll(static_cast<uint64_t>(end - indptr[i]) + 1);
    }
    return count;
  }
};

template <class W>
struct MatrixSuccessors {
  const W* matrix;

  RelaxCount operator()(SettleState<W>& s, Interrupt& interrupt) const {
    const uint8_t* const unsettled = s.unsettled;
    W* const distance = s.distance;
    RelaxCount count;
    for (std::size_t i = 0; i < s.n; ++i) {
      if (!s.frontier[i]) continue;
      const W d = distance[i];
      const W* const row = matrix + i * s.n;
      for (std::size_t j = 0; j < s.n; ++j) {
        if (!unsettled[j]) continue;
        const auto sum = candidate(d, row[j]);
        if (improves(sum, distance[j])) distance[j] = static_cast<W>(sum);
      }
      ++count.working;
      count.edges += s.n;
      interrupt.poll(s.n);
    }
    return count;
  }
};

template <class W>
struct MatrixPredecessors {
  const W* matrix;

  RelaxCount operator()(SettleState<W>& s, Interrupt& interrupt) const {
    const uint8_t* const frontier = s.frontier;
    W* const distance = s.distance;
    RelaxCount count;
    for (std::size_t i = 0; i < s.n; ++i) {
      if (!s.unsettled[i]) continue;
      W best = distance[i];
      for (std::size_t j = 0; j < s.n; ++j) {
        if (!frontier[j]) continue;
        const auto sum = candidate(distance[j], matrix[j * s.n + i]);
        if (improves(sum, best)) best = static_cast<W>(sum);
      }
      distance[i] = best;
      ++count.working;
      count.edges += s.n;
      interrupt.poll(s.n);
    }
    return count;
  }
};

}  // namespace nearfar
