// Plays a list of operations on one heap, for tests that compare every heap with a model.
// Built and called by test_dijkstra.py.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "cpu/heaps/binary_heap.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/heaps/fibonacci_heap.hpp"
#include "cpu/heaps/pairing_heap.hpp"
#include "cpu/heaps/radix_heap.hpp"
#include "cpu/heaps/relaxed_heap.hpp"

namespace nearfar {
namespace {

// Rows are (vertex, key) to insert or decrease, and (-1, 0) to pop. A vertex is inserted at most
// once. Writes the popped pairs of vertex and key, and returns their number.
template <class Heap>
int64_t play(int32_t n, const int64_t* operations, std::size_t count, int64_t* popped) {
  Heap heap(n);
  std::vector<int32_t> key(static_cast<std::size_t>(n), unreached<int32_t>());
  int64_t out = 0;
  auto pop = [&] {
    int32_t v, d;
    while (heap.pop(v, d)) {
      if (key.at(static_cast<std::size_t>(v)) != d) continue;  // stale, as in the driver
      key[static_cast<std::size_t>(v)] = -1;
      popped[2 * out] = v;
      popped[2 * out++ + 1] = d;
      return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto v = static_cast<int32_t>(operations[2 * i]);
    const auto d = static_cast<int32_t>(operations[2 * i + 1]);
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
  return out;
}

}  // namespace

int64_t play(const std::string& heap, int32_t n, const int64_t* operations, std::size_t count,
             int64_t* popped) {
  using I = int32_t;
  if (heap == "binary_heap") return play<BinaryHeap<I>>(n, operations, count, popped);
  if (heap == "dary_heap_2") return play<DaryHeap<I, 2>>(n, operations, count, popped);
  if (heap == "dary_heap_4") return play<DaryHeap<I, 4>>(n, operations, count, popped);
  if (heap == "dary_heap_8") return play<DaryHeap<I, 8>>(n, operations, count, popped);
  if (heap == "fibonacci_heap") return play<FibonacciHeap<I>>(n, operations, count, popped);
  if (heap == "pairing_heap") return play<PairingHeap<I>>(n, operations, count, popped);
  if (heap == "radix_heap") return play<RadixHeap<I>>(n, operations, count, popped);
  if (heap == "relaxed_heap") return play<RelaxedHeap<I>>(n, operations, count, popped);
  throw std::invalid_argument("no heap " + heap);
}

}  // namespace nearfar

// Returns -1 if the operations are invalid.
extern "C" int64_t heap_trace(const char* heap, int32_t n, const int64_t* operations,
                              std::size_t count, int64_t* popped) {
  try {
    return nearfar::play(heap, n, operations, count, popped);
  } catch (const std::exception&) {
    return -1;
  }
}
