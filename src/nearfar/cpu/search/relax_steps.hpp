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

// Rows of a graph in lists.
template <class C>
struct ListRows {
  const C* csr;

  struct Row {
    const Index* heads;
    const typename C::Weight* weights;
    std::size_t size;
    auto head(std::size_t k) const { return heads[k]; }
    auto weight(std::size_t k) const { return weights[k]; }
  };
  Row of(std::size_t i, std::size_t) const {
    const auto begin = csr->indptr[i];
    return {csr->indices + begin, csr->weights + begin,
            static_cast<std::size_t>(csr->indptr[i + 1] - begin)};
  }
};

// Rows of a matrix, or its columns.
template <class W, bool kColumns>
struct MatrixRows {
  const W* matrix;

  struct Row {
    const W* first;
    std::size_t size;
    std::size_t head(std::size_t k) const { return k; }
    W weight(std::size_t k) const { return first[kColumns ? k * size : k]; }
  };
  Row of(std::size_t i, std::size_t n) const { return {matrix + (kColumns ? i : i * n), n}; }
};

template <class Rows>
struct RelaxSuccessors {
  Rows rows;

  template <class W>
  RelaxCount operator()(SettleState<W>& s, Interrupt& interrupt) const {
    const uint8_t* const frontier = s.frontier;
    const uint8_t* const unsettled = s.unsettled;
    W* const distance = s.distance;
    RelaxCount count;
    for (std::size_t i = 0; i < s.n; ++i) {
      if (!frontier[i]) continue;
      const W d = distance[i];
      const auto row = rows.of(i, s.n);
      for (std::size_t k = 0; k < row.size; ++k) {
        const auto j = row.head(k);
        if (!unsettled[j]) continue;
        const auto sum = candidate(d, row.weight(k));
        if (improves(sum, distance[j])) distance[j] = static_cast<W>(sum);
      }
      ++count.working;
      count.edges += row.size;
      interrupt.poll(row.size + 1);
    }
    return count;
  }
};

template <class Rows>
struct RelaxPredecessors {
  Rows rows;

  template <class W>
  RelaxCount operator()(SettleState<W>& s, Interrupt& interrupt) const {
    const uint8_t* const frontier = s.frontier;
    const uint8_t* const unsettled = s.unsettled;
    W* const distance = s.distance;
    RelaxCount count;
    for (std::size_t i = 0; i < s.n; ++i) {
      if (!unsettled[i]) continue;
      W best = distance[i];
      const auto row = rows.of(i, s.n);
      for (std::size_t k = 0; k < row.size; ++k) {
        const auto j = row.head(k);
        if (!frontier[j]) continue;
        const auto sum = candidate(distance[j], row.weight(k));
        if (improves(sum, best)) best = static_cast<W>(sum);
      }
      distance[i] = best;
      ++count.working;
      count.edges += row.size;
      interrupt.poll(row.size + 1);
    }
    return count;
  }
};

template <class C>
using ListSuccessors = RelaxSuccessors<ListRows<C>>;
template <class C>  // over the transposed graph: row i lists the predecessors of i
using ListPredecessors = RelaxPredecessors<ListRows<C>>;
template <class W>
using MatrixSuccessors = RelaxSuccessors<MatrixRows<W, false>>;
template <class W>
using MatrixPredecessors = RelaxPredecessors<MatrixRows<W, true>>;

}  // namespace nearfar
