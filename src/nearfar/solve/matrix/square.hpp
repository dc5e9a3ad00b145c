// Dijkstra's algorithm over a square of weights, without a heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "cpu/instructions/isa.hpp"

namespace nearfar {

// Weights of the edges from each vertex in a row of `stride` doubles, with infinity for no edge.
struct Square {
  std::size_t n = 0, stride = 0;
  double* weights = nullptr;
  double least = std::numeric_limits<double>::infinity(), greatest = 0;  // of the edges
  std::size_t n_edges = 0;  // of the matrix, before their reverse is added
};

constexpr std::size_t kSquareRow = 8;  // doubles of which a stride is a multiple

#define NEARFAR_DECLARE_SQUARE(level)                                                            \
  namespace level {                                                                              \
  /* Copies a matrix in which 0, NaN and infinities are no edges. Returns false if one is        \
     negative. */                                                                                \
  bool copy_square(const double* matrix, bool unit, Square& to);                                 \
  void add_reverse(Square& square);                                                              \
  /* Writes the distances from the nearest source up to a limit, and the least of the possible   \
     predecessors or `none`. `scratch` holds three rows. Returns the greatest distance. */       \
  double search_square(const Square& square, std::span<const int32_t> sources, double limit,     \
                       double* scratch, double* distances, int32_t* predecessors, int32_t none); \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_SQUARE)
#undef NEARFAR_DECLARE_SQUARE

}  // namespace nearfar
