// Tiles of rows that a device writes in one go: consecutive vertices, cut into quads that look at
// the same few labels.
//
// The bottom of the tree is cut into the largest subtrees ("leaves") with few vertices and a small
// boundary, the labels that their roots have arcs to. With the distances from the boundary to every
// vertex of a leaf at hand, a distance from a source is a short minimum over the boundary, whatever
// other vertices of the leaf are wanted beside it. So a tile is not bound to the tree: it takes its
// vertices in the order of their numbers, which rows are stored in. kEach of them that are in one
// leaf share what is read of the boundary. Vertices that are in no leaf stand for themselves: quads
// of them look at themselves with distance 0.
//
// Rows rarely begin at a multiple of the units that memory is written in, so a tile leaves out of
// each row what lies before the first unit and adds as much behind its end: it has `margin` more
// vertices than it writes, which are in the tile before, too.
//
// Weights of a quad lie row by row of its boundary, kEach beside each other. A boundary is filled
// up to a multiple of kRows rows that nothing leads from.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cpu/interrupt.hpp"
#include "prepared/arcs_view.hpp"
#include "prepared/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int kEach = 4, kRows = 4;  // of tiles.cuh
constexpr int kNobody = 255;         // in place of a vertex of the tile

class Tiler {
 public:
  Tiler(const Arcs& arcs, int members, int bound, const uint8_t* known)
      : arcs_(arcs), boundary_of_(at(arcs.n), -1) {
    leaf.assign(at(arcs.n), -1);
    std::vector<int32_t> path(at(arcs.height + 1));
    for (int32_t v = arcs.n - 1; v >= 0; --v) {
      path[at(arcs.depth[v])] = v;
      const int32_t p = arcs.parent[v];
      const int64_t first = arcs.first[v], end = arcs.first[v + 1];
      if (p >= 0 && leaf[at(p)] >= 0) {
        leaf[at(v)] = leaf[at(p)];
      } else if ((known != nullptr && known[v]) || v - arcs.low[v] + 1 > members ||
                 end - first > bound) {
        upper.push_back(v);
      } else {
        leaf[at(v)] = v;
        roots.push_back(v);
        boundary_of_[at(v)] = static_cast<int32_t>(boundary.size());
        for (int64_t j = first; j < end; ++j) boundary.push_back(path[at(arcs.head_depth[j])]);
        while (boundary.size() % kRows) boundary.push_back(boundary.back());
      }
    }
    std::reverse(upper.begin(), upper.end());
  }

  void tile(int width, int margin) {
    where.assign(2 * at(arcs_.n), -1);
    tile_first.push_back(0);
    std::vector<std::pair<int32_t, int32_t>> found;  // leaf and number in the tile
    const int shift = std::max(margin - 1, 0);       // the farthest that a row is written ahead
    for (int32_t begin = -margin; begin + margin < arcs_.n + shift; begin += width - margin) {
      interrupt_.poll(at(width) * 16);
      const int count = std::min(width, arcs_.n - begin);
      found.clear();
      for (int i = std::max(0, -begin); i < count; ++i)
        found.emplace_back(leaf[at(arcs_.label[begin + i])], i);
      std::sort(found.begin(), found.end());
      for (int i = 0; i < static_cast<int>(found.size());) {
        const int32_t root = found[at(i)].first;
        int some = 1;
        while (some < kEach && at(i + some) < found.size() && found[at(i + some)].first == root)
          ++some;
        quad(root, begin, &found[at(i)], some);
        i += some;
      }
      tile_first.push_back(static_cast<int32_t>(quads.size() / 4));
    }
  }

  std::vector<int32_t> leaf;   // of a label: the root of its leaf, or -1
  std::vector<int32_t> upper;  // labels that are in no leaf, rising
  std::vector<int32_t> roots, boundary;
  std::vector<int32_t>
      quads;  // first of the boundary, its size, weights in units of kRows rows, places
  std::vector<int32_t> tile_first;
  // Of a label: its weights from the first of its boundary, in values, in up to two tiles, or -1.
  std::vector<int32_t> where;
  std::vector<int32_t> zero_at;  // weights that are 0 whatever the metric, in values
  int64_t units = 0;             // of kRows rows of weights

 private:
  // Rows of the boundary of a leaf; of what stands for itself, root is -1.
  int32_t rows_of(int32_t root) const {
    if (root < 0) return kRows;
    return static_cast<int32_t>((arcs_.first[root + 1] - arcs_.first[root] + kRows - 1) / kRows *
                                kRows);
  }

  // The place of the weights of one more quad, in values.
  int32_t weights_for(int32_t root) {
    const auto base = static_cast<int32_t>(units * kRows * kEach);
    units += rows_of(root) / kRows;
    if (units * kRows * kEach > 0x7fffffff)
      throw std::length_error("too many weights for the device");
    return base;
  }

  void quad(int32_t root, int32_t begin, const std::pair<int32_t, int32_t>* found, int some) {
    const int32_t base = weights_for(root);
    uint32_t places = 0;
    for (int i = kEach - 1; i >= 0; --i)
      places = places << 8 | static_cast<uint32_t>(i < some ? found[i].second : kNobody);
    int32_t first;
    if (root < 0) {
      first = static_cast<int32_t>(boundary.size());
      for (int i = 0; i < kRows; ++i)
        boundary.push_back(arcs_.label[begin + found[std::min(i, some - 1)].second]);
      for (int i = 0; i < some; ++i) zero_at.push_back(base + kEach * i + i);
    } else {
      first = boundary_of_[at(root)];
      for (int i = 0; i < some; ++i) {
        int32_t* const mine = &where[2 * at(arcs_.label[begin + found[i].second])];
        mine[mine[0] >= 0] = base + i;
      }
    }
    quads.insert(quads.end(),
                 {first, rows_of(root), base / (kRows * kEach), static_cast<int32_t>(places)});
  }

  const Arcs& arcs_;
  std::vector<int32_t> boundary_of_;
  Interrupt interrupt_;
};

nb::dict tiles(
    const ArcsView& view, int members, int bound, int width, int margin,
    const std::optional<nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>&
        known) {
  const Arcs& arcs = view.arcs();
  if (known && known->size() != at(arcs.n)) throw nb::type_error("known: wrong size");
  if (width < 1 || width > kNobody) throw nb::type_error("width: 1 to 255");
  // A vertex is in no more than two tiles.
  if (margin < 0 || 2 * margin > width) throw nb::type_error("margin: 0 to width / 2");
  std::optional<Tiler> tiler;
  {
    nb::gil_scoped_release release;
    tiler.emplace(arcs, members, bound, known ? known->data() : nullptr);
    tiler->tile(width, margin);
  }
  nb::dict out;
  out["leaf"] = as_numpy(std::move(tiler->leaf));
  out["upper"] = as_numpy(std::move(tiler->upper));
  out["roots"] = as_numpy(std::move(tiler->roots));
  out["boundary"] = as_numpy(std::move(tiler->boundary));
  out["quads"] = as_numpy(std::move(tiler->quads));
  out["tile_first"] = as_numpy(std::move(tiler->tile_first));
  out["where"] = as_numpy(std::move(tiler->where));
  out["zero_at"] = as_numpy(std::move(tiler->zero_at));
  out["units"] = tiler->units;
  return out;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_tiles", &prepared::tiles, arg("arcs"), arg("members"), arg("bound"), arg("width"),
        arg("margin"), arg("known").none());
}
}  // namespace nearfar
