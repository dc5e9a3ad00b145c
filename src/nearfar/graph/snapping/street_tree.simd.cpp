// The search of the tree of streets, eight boxes or segments at a time.
#include "graph/snapping/street_tree.hpp"

#include "cpu/search/arithmetic.hpp"

namespace nearfar::snapping::NEARFAR_ISA {
namespace {

NEARFAR_INLINE double larger(double a, double b) {
  return a > b ? a : b;
}

NEARFAR_INLINE double smaller(double a, double b) {
  return a < b ? a : b;
}

}  // namespace

void look(const Leaf& leaf, int64_t number, double x, double y, double scale, Nearest& best) {
  double t[kWidth], square[kWidth];
  for (int k = 0; k < kWidth; ++k) {
    const double dx = leaf.dx[k] * scale, dy = leaf.dy[k];
    const double px = (x - leaf.x[k]) * scale, py = y - leaf.y[k];
    const double length = dx * dx + dy * dy;
    const double along = (px * dx + py * dy) / (length > 0 ? length : 1);
    t[k] = smaller(larger(along, 0), 1);
    const double ex = px - t[k] * dx, ey = py - t[k] * dy;
    square[k] = ex * ex + ey * ey;
  }
  double least = square[0];
  for (int k = 1; k < kWidth; ++k) least = smaller(least, square[k]);
  if (least > best.square) return;
  for (int k = 0; k < kWidth; ++k)
    if (square[k] < best.square ||
        (square[k] == best.square && best.leaf >= 0 && leaf.piece[k] < best.piece))
      best = {number, k, leaf.piece[k], t[k], square[k]};
}

void search(const TreeView& tree, double x, double y, double scale, Nearest& best) {
  struct Entry {
    double square;
    int64_t node;
    int level;
  };
  Entry stack[16 * kWidth];  // 2^31 segments make ten levels
  int top = 0;
  stack[top++] = {0, 0, tree.n_levels - 1};
  while (top > 0) {
    const Entry entry = stack[--top];
    if (entry.square > best.square) continue;
    if (entry.level < 0) {
      look(tree.leaves[entry.node], entry.node, x, y, scale, best);
      continue;
    }
    const Boxes& boxes = tree.boxes[tree.level[entry.level] + entry.node];
    double square[kWidth];
    for (int k = 0; k < kWidth; ++k) {
      const double a = larger(larger(boxes.low_x[k] - x, x - boxes.high_x[k]), 0) * scale;
      const double b = larger(larger(boxes.low_y[k] - y, y - boxes.high_y[k]), 0);
      square[k] = a * a + b * b;
    }
    const int first = top;
    for (int k = 0; k < kWidth; ++k) {
      if (!(square[k] <= best.square) || square[k] > 1e300) continue;  // too far, or no box
      int i = top++;  // the nearest last, so that it is opened first
      for (; i > first && stack[i - 1].square < square[k]; --i) stack[i] = stack[i - 1];
      stack[i] = {square[k], entry.node * kWidth + k, entry.level - 1};
    }
  }
}

}  // namespace nearfar::snapping::NEARFAR_ISA
