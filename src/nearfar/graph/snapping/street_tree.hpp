// The segment nearest to a point: a packed tree of bounding boxes over the segments of streets.
//
// Segments are sorted by their midpoints along a Z-order curve and grouped by eight into leaves and
// boxes, so the tree is a few arrays without pointers, and a step tests eight boxes or eight
// segments at once. Packed R-trees are from Kamel and Faloutsos 1993; the search is depth first,
// nearest box first. Points are searched in Z-order too, and a point's first bound is its distance
// to the segment that the previous point found, so most boxes are never opened.
//
// Coordinates on the Earth are searched on a plane that touches it at the latitude of the point: a
// degree of longitude counts cos(latitude) of a degree of latitude. At a distance d, an eastward
// distance has the relative error (d / R) tan(latitude), so the segment found is at most that much
// farther than the nearest.
#pragma once

#include <cstdint>

#include "cpu/instructions/isa.hpp"

namespace nearfar::snapping {

constexpr int kWidth = 8;

// Segments of a leaf; unused places are infinitely far away.
struct Leaf {
  double x[kWidth], y[kWidth], dx[kWidth], dy[kWidth];
  int32_t piece[kWidth];  // their numbers among all segments, in order of the streets
};

struct Boxes {
  double low_x[kWidth], low_y[kWidth], high_x[kWidth], high_y[kWidth];
};

// Boxes of all levels, the leaves' first; level l begins at level[l].
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
  double t = 0;       // position on the segment, 0 to 1
  double square = 0;  // squared distance on the plane; only nearer segments are found
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
