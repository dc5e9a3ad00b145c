// The segment nearest to a point: a packed tree of boxes over the pieces of streets.
//
// Segments are sorted along a Z-order curve of their middles, eight to a leaf, and eight children
// to a box, so the tree is a few arrays without pointers, and a step looks at eight boxes or eight
// segments at once. Packed R-trees are Kamel and Faloutsos 1993; the search is depth first, nearest
// box first. Points are searched in Z-order too, and a point's first bound is the way to the
// segment that the one before it found: most boxes are then never opened.
//
// Coordinates of the Earth are searched on a plane that touches it at the latitude of the point:
// a degree of longitude counts cos(latitude) of a degree of latitude. At a distance d a way east
// is wrong by the share (d / R) tan(latitude) of itself, so what is found is at most that share
// farther than the nearest.
#pragma once

#include <cstdint>

#include "cpu/instructions/isa.hpp"

namespace nearfar::snapping {

constexpr int kWidth = 8;

// Segments of a leaf; those that are not there are infinitely far away.
struct Leaf {
  double x[kWidth], y[kWidth], dx[kWidth], dy[kWidth];
  int32_t piece[kWidth];  // their numbers among all: streets in order, their pieces in order
};

struct Boxes {
  double low_x[kWidth], low_y[kWidth], high_x[kWidth], high_y[kWidth];
};

// Boxes of all levels, those of leaves first; level l begins at level[l].
struct TreeView {
  const Leaf* leaves = nullptr;
  const Boxes* boxes = nullptr;
  const int64_t* level = nullptr;
  int n_levels = 0;
};

struct Nearest {
  int64_t leaf = -1;  // -1: none
  int slot = 0;
  int32_t piece = 0;
  double t = 0;       // where on the segment, 0 to 1
  double square = 0;  // distance, squared, on the plane; what is not nearer is not found
};

#define NEARFAR_DECLARE_STREETS(level)                                                          \
  namespace level {                                                                             \
  /* Improves `best` for the point (x, y), where a step along x counts `scale`: by the segments \
     of one leaf, or of all. Of equally near segments the first piece wins. */                  \
  void look(const Leaf& leaf, int64_t number, double x, double y, double scale, Nearest& best); \
  void search(const TreeView& tree, double x, double y, double scale, Nearest& best);           \
  }
NEARFAR_FOR_EACH_ISA(NEARFAR_DECLARE_STREETS)
#undef NEARFAR_DECLARE_STREETS

}  // namespace nearfar::snapping
