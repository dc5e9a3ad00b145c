// The arcs as Python hands them over, and who works on which labels.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cpu/bindings.hpp"
#include "prepared/arcs.hpp"

namespace nearfar::prepared {

// Which labels can be worked on at once. Small subtrees are tasks of their own. What is left on top
// of them is a tree of chains: labels next to each other, each the only child of the next that is
// not in a small subtree. Chains of one level have no path between them.
struct Levels {
  struct Chain {
    int32_t from, to;  // labels, `to` included
  };
  std::vector<Chain> subtrees;             // [low, root] each, the costliest first
  std::vector<std::vector<Chain>> chains;  // of each level; the roots' last
};

class ArcsView {
 public:
  using Ints = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  using Longs = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

  ArcsView(Ints vertex, Ints label, Ints parent, Ints depth, Ints low, Longs first, Ints head_depth,
           Longs lower_first, Ints lower_arc, Ints lower_tail, Longs edge_first, Ints edge,
           Ints edge_place);

  const Arcs& arcs() const { return arcs_; }
  // The arrays themselves, for metrics that share them.
  Longs first() const { return longs_[0]; }
  Ints head_depth() const { return ints_[5]; }
  // For so many workers; made once for each number.
  const Levels& levels(int threads) const;

 private:
  std::vector<Ints> ints_;  // keep the arrays alive
  std::vector<Longs> longs_;
  Arcs arcs_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<int, std::unique_ptr<Levels>>> levels_;
};

// Calls of work for every label with its descendants finished (bottom up) or its ancestors finished
// (top down), on several workers. `work` has:
//   subtree(worker, from, to)           all labels of a subtree, in its own order
//   alone(worker, x, chain)             what of x needs nothing of its chain; any order, at once
//   chain(worker, chain)                the rest, one worker for a chain
// Defined in levels.cpp; a stopped run throws what stopped it.
struct LevelWork {
  virtual ~LevelWork() = default;
  virtual bool any_alone() const { return true; }
  virtual void subtree(int worker, int32_t from, int32_t to) = 0;
  virtual void alone(int worker, int32_t x, const Levels::Chain& chain) = 0;
  virtual void chain(int worker, const Levels::Chain& chain) = 0;
};
void bottom_up(const ArcsView& view, int threads, LevelWork& work);
void top_down(const ArcsView& view, int threads, LevelWork& work);

}  // namespace nearfar::prepared
