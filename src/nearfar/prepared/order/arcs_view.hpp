// The arcs given by Python, and their division among workers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/interrupt.hpp"
#include "prepared/order/arcs.hpp"

namespace nearfar::prepared {

// Parts of the tree that one worker processes at a time. Small subtrees are parts. The remainder
// above them is a tree of chains: consecutive labels, each of which is the only child of the next
// that is not in a small subtree.
struct TreeParts {
  struct Part {
    int32_t from, to;                            // labels, `to` included
    int32_t deepest;                             // depth of the deepest of them
    int32_t above = -1;                          // the part of the parent of `to`
    int32_t first_below = -1, next_beside = -1;  // the parts whose `above` is this one
  };
  std::vector<Part> parts;
  std::vector<int32_t> upwards, downwards;  // all parts, each after those that it waits for
};

class ArcsView {
 public:
  ArcsView(Ints vertex, Ints label, Ints parent, Ints depth, Ints low, Longs first, Ints head_depth,
           Longs lower_first, Ints lower_arc, Ints lower_tail, Longs edge_first, Ints edge,
           Ints edge_place);

  // The same arcs, weighed by other edges.
  ArcsView with_edges(Longs edge_first, Ints edge, Ints edge_place) const;

  const Arcs& arcs() const { return arcs_; }
  // The arrays themselves, for metrics that share them.
  Longs first() const { return longs_[0]; }
  Ints head_depth() const { return ints_[5]; }
  // The division for a number of workers, made once for each number.
  const TreeParts& parts(int threads) const;

 private:
  std::vector<Ints> ints_;  // keep the arrays alive
  std::vector<Longs> longs_;
  Arcs arcs_;
  struct Cache {
    std::mutex mutex;
    std::vector<std::pair<int, std::unique_ptr<TreeParts>>> parts;
  };
  std::shared_ptr<Cache> cache_ = std::make_shared<Cache>();  // of all views of these arcs
};

// Calls work(worker, part, interrupt) for every part of the tree, after all parts below it (bottom
// up) or after the one above it (top down), on several workers. Defined in parts.cpp; a stopped run
// throws the exception that stopped it.
using PartWork = std::function<void(int worker, int32_t part, Interrupt& interrupt)>;
void bottom_up(const TreeParts& tree, int threads, const PartWork& work);
void top_down(const TreeParts& tree, int threads, const PartWork& work);

}  // namespace nearfar::prepared
