// Rows with weights of one or two bytes, stored separately from the targets.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "algorithms/delta_stepping/delta_stepping.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/huge_block.hpp"

namespace nearfar {

// Made once per graph with long rows and kept with it. It replaces packed edges, in an eighth or a
// quarter of their memory, and copies only the weights: the rest are pointers into the graph's
// arrays.
class NarrowView {
 public:
  // Returns null if a weight does not fit.
  static std::unique_ptr<NarrowView> make(Ints indptr, Ints indices, Ints weights);

  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), csr_);
  }
  // Interface of GraphView; does nothing.
  void pack(int) {}
  template <class F>
  decltype(auto) visit_packed(F&& f) const {
    return visit(std::forward<F>(f));
  }
  std::size_t bytes() const { return block_.bytes(); }

 private:
  template <class Small>
  bool fill(const Ints& indptr, const Ints& indices, const Ints& weights);

  std::variant<ByteCsr, ShortCsr> csr_;
  HugeBlock block_;
};

}  // namespace nearfar
