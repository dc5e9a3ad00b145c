// Plays a list of operations on one heap, for tests that compare every heap with a model.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/heaps/binary_heap.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/heaps/fibonacci_heap.hpp"
#include "cpu/heaps/pairing_heap.hpp"
#include "cpu/heaps/radix_heap.hpp"
#include "cpu/heaps/relaxed_heap.hpp"

namespace nearfar {
namespace {

using Operations = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Popped = std::vector<std::pair<int64_t, int64_t>>;

// Rows are (vertex, key) to insert or decrease, and (-1, 0) to pop. A vertex is inserted at most
// once.
template <class Heap>
Popped play(int32_t n, const Operations& operations) {
  Heap heap(n);
  std::vector<int32_t> key(static_cast<std::size_t>(n), unreached<int32_t>());
  Popped popped;
  auto pop = [&] {
    int32_t v, d;
    while (heap.pop(v, d)) {
      if (key.at(static_cast<std::size_t>(v)) != d) continue;  // stale, as in the driver
      key[static_cast<std::size_t>(v)] = -1;
      popped.emplace_back(v, d);
      return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < operations.shape(0); ++i) {
    const auto v = static_cast<int32_t>(operations(i, 0));
    const auto d = static_cast<int32_t>(operations(i, 1));
    if (v < 0) {
      pop();
      continue;
    }
    int32_t& old = key.at(static_cast<std::size_t>(v));
    if (d < 0 || d >= old) throw std::invalid_argument("a key must fall and not be negative");
    const bool fresh = old == unreached<int32_t>();
    old = d;
    if (fresh)
      heap.insert(v, d);
    else
      heap.decrease(v, d);
  }
  while (pop()) {
  }
  return popped;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def(
      "heap_trace",
      [](const std::string& heap, int32_t n, const Operations& operations) {
        if (operations.shape(1) != 2) throw std::invalid_argument("operations: two columns");
        using I = int32_t;
        if (heap == "binary_heap") return play<BinaryHeap<I, I>>(n, operations);
        if (heap == "dary_heap_2") return play<DaryHeap<I, I, 2>>(n, operations);
        if (heap == "dary_heap_4") return play<DaryHeap<I, I, 4>>(n, operations);
        if (heap == "dary_heap_8") return play<DaryHeap<I, I, 8>>(n, operations);
        if (heap == "fibonacci_heap") return play<FibonacciHeap<I, I>>(n, operations);
        if (heap == "pairing_heap") return play<PairingHeap<I, I>>(n, operations);
        if (heap == "radix_heap") return play<RadixHeap<I, I>>(n, operations);
        if (heap == "relaxed_heap") return play<RelaxedHeap<I, I>>(n, operations);
        throw std::invalid_argument("no heap " + heap);
      },
      nb::arg("heap"), nb::arg("n"), nb::arg("operations"));
}

}  // namespace nearfar
