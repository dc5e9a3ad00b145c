// The customization steps of one label; compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/instructions/isa.hpp"

namespace nearfar::prepared {

struct Arcs;

// Results of perfect customization for an arc: its weight is the distance between its ends (bits 0
// and 1: upwards, downwards), and queries need it (bits 2 and 3). With one side per arc only bits 0
// and 2 are used.
constexpr uint8_t kTight = 1;
constexpr uint8_t kNeeded = 4;

// Arc values by the depths of their two ends, for all labels on the current label's path to the
// root. The row of a label at depth d has `sides` values for each depth up to d, padded to whole
// registers. Only values of arcs are ever used; other places are far(), or belong to no arc and are
// not followed.
template <class Value>
struct PathRows {
  Value* value = nullptr;
  const int64_t* start = nullptr;  // shape (height,): start of the row at each depth, in values
  int32_t* block = nullptr;        // scratch: the registers of a row that contain arcs
};
// The widest register of any instruction set, in values.
template <class Value>
constexpr int64_t path_row_size(int32_t depth, int sides) {
  constexpr int64_t kWhole = 64 / sizeof(Value);
  return ((int64_t{depth} + 1) * sides + kWhole - 1) / kWhole * kWhole;
}

#define NEARFAR_DECLARE_CUSTOMIZE(level)                                                           \
  namespace level {                                                                                \
  /* The weights of the arcs of x from its edges and all triangles below them. scratch: sides *    \
     height values. Returns whether a weight changed. */                                           \
  template <class Value, class Weight, int kSides>                                                 \
  bool lower_triangles(const Arcs& arcs, const Weight* edge_weights, Value* weights, int32_t x,    \
                       Value* scratch);                                                            \
  /* The weights of the arcs of all labels of [from, to], a subtree or a chain, from their edges,  \
     the triangles below which are their own, and what is in `rows`, where triangles that concern  \
     arcs above `to` stay. Rows are far() but for arcs, and so is the rest of them afterwards. */  \
  template <class Value, class Weight, int kSides>                                                 \
  void lower_pass(const Arcs& arcs, const Weight* edge_weights, Value* weights, int32_t from,      \
                  int32_t to, const PathRows<Value>& rows);                                        \
  /* Moves what is in the rows about arcs between ancestors of x that x has arcs to, and adds it   \
     to other rows. Returns how many values that are; `out` null only counts them. */              \
  template <class Value, int kSides>                                                               \
  int64_t take_rows(const Arcs& arcs, int32_t x, const PathRows<Value>& rows, Value* out);         \
  template <class Value, int kSides>                                                               \
  void add_rows(const Arcs& arcs, int32_t x, const PathRows<Value>& rows, const Value* in);        \
  /* The distances between the ends of the arcs of all labels of [from, to], from the roots' side  \
     down, what is known of each arc then, and in first[side * (n + 1) + x + 1] how many arcs of x \
     queries need. `ties`: an arc that only equals a detour is not needed. scratch: 3 * (sides *   \
     height + 64) values. */                                                                       \
  template <class Value, int kSides>                                                               \
  void upper_pass(const Arcs& arcs, const Value* weights, Value* distances, uint8_t* flags,        \
                  int64_t* first, int32_t from, int32_t to, bool ties,                             \
                  const PathRows<Value>& rows, Value* scratch);                                    \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_CUSTOMIZE)
#undef NEARFAR_DECLARE_CUSTOMIZE

}  // namespace nearfar::prepared
