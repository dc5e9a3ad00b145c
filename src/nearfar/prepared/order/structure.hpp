// The undirected structure of a graph, without weights, directions, self-loops and parallel edges.
// An elimination order and its shortcuts depend on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nearfar::prepared {

// Compressed rows over arrays owned by other objects.
struct Structure {
  int32_t n = 0;
  const int64_t* first = nullptr;      // shape (n + 1,)
  const int32_t* neighbour = nullptr;  // shape (first[n],); each edge twice

  struct Row {
    const int32_t* from;
    const int32_t* to;
    const int32_t* begin() const { return from; }
    const int32_t* end() const { return to; }
  };
  Row of(int32_t v) const { return {neighbour + first[v], neighbour + first[v + 1]}; }
  int32_t degree(int32_t v) const { return static_cast<int32_t>(first[v + 1] - first[v]); }
};

// Compressed rows that own their memory.
struct OwnedStructure {
  std::vector<int64_t> first;
  std::vector<int32_t> neighbour;
  Structure view() const {
    return {static_cast<int32_t>(first.size()) - 1, first.data(), neighbour.data()};
  }
};

inline std::size_t at(int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace nearfar::prepared
