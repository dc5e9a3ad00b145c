// Tiles of rows that a device writes at once: consecutive vertices, cut into bundles that read the
// same few labels.
//
// The bottom of the tree is cut into the largest subtrees ("leaves") with few vertices and a small
// boundary, the labels to which their roots have arcs. Given the distances from the boundary to
// every vertex of a leaf, a distance from a source is a short minimum over the boundary,
// independent of the other vertices of the leaf. So a tile need not follow the tree: it has
// vertices in the order of their numbers, in which rows are stored. Those in one leaf are a bundle,
// which shares the reads of the boundary. Vertices in no leaf are copied.
//
// Rows rarely begin at a multiple of the units in which memory is written, so a tile omits the part
// of each row before the first unit and adds as much after its end: it has `margin` more vertices
// than it writes, which are in the previous tile, too.
//
// Weights of a bundle are stored vertex by vertex, one per row of the boundary. A boundary is
// padded to a multiple of kRows with rows without a path. The slowest bundles of a tile come first,
// so that warps that take one after the other finish together.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cpu/threads/interrupt.hpp"
#include "prepared/order/arcs_view.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int kRows = 4, kSteps = 4;  // of leaves.cuh
constexpr int kCopies = 15;           // replaces steps: up to kRows vertices in no leaf
constexpr int kWord = 4;              // places in a word
constexpr int kNobody = 255;          // replaces a vertex of the tile

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

  void tile(int width, int most, int margin) {
    where.assign(2 * at(arcs_.n), -1);
    begin_tile();
    std::vector<Vertex> found;
    std::vector<Bundle> cut;
    const int shift = std::max(margin - 1, 0);  // the largest shift of a row
    for (int32_t begin = -margin; begin + margin < arcs_.n + shift; begin += width - margin) {
      interrupt_.poll(at(width) * 16);
      const int count = std::min(width, arcs_.n - begin);
      found.clear();
      cut.clear();
      for (int i = std::max(0, -begin); i < count; ++i)
        found.emplace_back(leaf[at(arcs_.label[begin + i])], i);
      std::sort(found.begin(), found.end());
      for (int i = 0; i < static_cast<int>(found.size());) {
        const int32_t root = found[at(i)].first;
        int some = 1;
        const int limit = root < 0 ? std::min(most, kRows) : most;  // copies wait immediately
        while (some < limit && at(i + some) < found.size() && found[at(i + some)].first == root)
          ++some;
        cut.push_back({root, &found[at(i)], some});
        i += some;
      }
      std::stable_sort(cut.begin(), cut.end(),
                       [&](const Bundle& a, const Bundle& b) { return work(a) > work(b); });
      for (const Bundle& each : cut) put(each, begin);
      begin_tile();
    }
  }

  std::vector<int32_t> leaf;   // of a label: the root of its leaf, or -1
  std::vector<int32_t> upper;  // labels in no leaf, ascending
  std::vector<int32_t> roots, boundary;
  // Steps of kRows rows or kCopies, and 16 times the vertices; then, from the first of the tile:
  // first row in units of kRows, weights in units of kRows rows, first word of places.
  std::vector<int32_t> bundles;
  std::vector<int32_t> rows;    // labels that bundles read
  std::vector<int32_t> places;  // of the vertices in the tile, kWord bytes per word
  // First bundle of a tile, row in units of kRows, unit of weights, and kWord words of places.
  std::vector<int32_t> tile_first;
  // Per label: its weights from the first of its boundary, in values, in up to two tiles, or -1.
  std::vector<int32_t> where;
  int64_t units = 0;  // of kRows rows of weights

 private:
  using Vertex = std::pair<int32_t, int32_t>;  // leaf, or -1, and number in the tile
  struct Bundle {
    int32_t root;  // or -1
    const Vertex* first;
    int some;
  };

  // Steps over the boundary of a leaf.
  int32_t steps_of(int32_t root) const {
    if (root < 0) return kCopies;
    return static_cast<int32_t>((arcs_.first[root + 1] - arcs_.first[root] + kRows - 1) / kRows);
  }

  // Estimates the cost of a bundle; copies wait for memory.
  int32_t work(const Bundle& bundle) const {
    return bundle.some * (1 + std::min(steps_of(bundle.root), kSteps));
  }

  void begin_tile() {
    while (places.size() % kWord) places.push_back(0);
    tile_first.insert(
        tile_first.end(),
        {static_cast<int32_t>(bundles.size() / 4), static_cast<int32_t>(rows.size() / kRows),
         static_cast<int32_t>(units), static_cast<int32_t>(places.size() / kWord)});
  }

  void put(const Bundle& bundle, int32_t begin) {
    const int32_t steps = steps_of(bundle.root), base = static_cast<int32_t>(units);
    const int32_t* const tile = &tile_first[tile_first.size() - 4];
    bundles.insert(bundles.end(),
                   {steps | bundle.some << 4, static_cast<int32_t>(rows.size() / kRows) - tile[1],
                    base - tile[2], static_cast<int32_t>(places.size()) - tile[3] * kWord});
    if (bundle.root < 0) {
      for (int i = 0; i < bundle.some; ++i)
        rows.push_back(arcs_.label[begin + bundle.first[i].second]);
      while (rows.size() % kRows) rows.push_back(rows.back());
    } else {
      const auto first = boundary.begin() + boundary_of_[at(bundle.root)];
      rows.insert(rows.end(), first, first + steps * kRows);
      for (int i = 0; i < bundle.some; ++i) {
        int32_t* const mine = &where[2 * at(arcs_.label[begin + bundle.first[i].second])];
        mine[mine[0] >= 0] = (base + i * steps) * kRows;
      }
      units += static_cast<int64_t>(bundle.some) * steps;
      if (units * kRows > 0x7fffffff) throw std::length_error("too many weights for the device");
    }
    for (int i = 0; i < bundle.some; i += kWord) {
      uint32_t word = 0;
      for (int t = kWord - 1; t >= 0; --t)
        word = word << 8 |
               static_cast<uint32_t>(i + t < bundle.some ? bundle.first[i + t].second : kNobody);
      places.push_back(static_cast<int32_t>(word));
    }
  }

  const Arcs& arcs_;
  std::vector<int32_t> boundary_of_;
  Interrupt interrupt_;
};

nb::dict tiles(
    const ArcsView& view, int members, int bound, int width, int most, int margin,
    const std::optional<nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>&
        known) {
  const Arcs& arcs = view.arcs();
  if (known && known->size() != at(arcs.n)) throw nb::type_error("known: wrong size");
  if (bound > kRows * kSteps) throw nb::type_error("bound: too large for the device");
  if (width < 1 || width > kNobody) throw nb::type_error("width: 1 to 255");
  if (most < 1) throw nb::type_error("most: at least 1");
  // A vertex is in at most two tiles.
  if (margin < 0 || 2 * margin > width) throw nb::type_error("margin: 0 to width / 2");
  std::optional<Tiler> tiler;
  {
    nb::gil_scoped_release release;
    tiler.emplace(arcs, members, bound, known ? known->data() : nullptr);
    tiler->tile(width, most, margin);
  }
  nb::dict out;
  out["leaf"] = as_numpy(std::move(tiler->leaf));
  out["upper"] = as_numpy(std::move(tiler->upper));
  out["roots"] = as_numpy(std::move(tiler->roots));
  out["boundary"] = as_numpy(std::move(tiler->boundary));
  out["bundles"] = as_numpy(std::move(tiler->bundles));
  out["rows"] = as_numpy(std::move(tiler->rows));
  out["places"] = as_numpy(std::move(tiler->places));
  out["tile_first"] = as_numpy(std::move(tiler->tile_first));
  out["where"] = as_numpy(std::move(tiler->where));
  out["units"] = tiler->units;
  return out;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_tiles", &prepared::tiles, arg("arcs"), arg("members"), arg("bound"), arg("width"),
        arg("most"), arg("margin"), arg("known").none());
}
}  // namespace nearfar
