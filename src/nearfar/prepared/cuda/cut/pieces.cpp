// Cuts the part of an elimination tree above the bottom cells into pieces for matrix products.
//
// A piece is a connected part of the tree. Its boundary is what its vertices can read from outside:
// the labels to which its highest vertex has arcs. Given the distances from the boundary to every
// member over paths within the piece, the members' distances are one (min, +) product, without a
// chain of dependent steps, however long the piece's own paths are. Pieces of one level of the tree
// of pieces depend only on higher levels.
//
// A separator is a chain in the tree whose vertices share one boundary, so a product over the whole
// chain costs no more than its arcs. A piece therefore begins with a chain, and is extended by the
// largest subtrees below until its size is a multiple of kUnit, as long as they have no much
// smaller boundary. With few sources, waiting for one level after another takes longer than the
// sums: for them a piece is extended further, so that there are fewer levels.
//
// Piece 0, level 0, is the top of the tree: labels closed under parents, without a boundary. Its
// distances are those within the top, so that climbs may end at its border.
#include <algorithm>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "cpu/threads/interrupt.hpp"
#include "prepared/order/arcs_view.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int kUnit = 16;  // members are padded to a multiple of this; kHigh of upper.cuh
constexpr int kDeep = 8;   // and boundaries to a multiple of this; kDeep of upper.cuh
constexpr int kLoose = 2, kSlack = 32;  // a boundary may be this much larger than its own

// Fields of a piece as the kernels read them.
enum Field {
  kMembers,
  kCount,
  kBoundary,
  kBoundaryCount,
  kLow,
  kHigh,
  kMatrix,  // in units of kUnit * kDeep values
  kIsTop,
  kFields
};

struct Ways {
  const int64_t* first;
  const int32_t* head_depth;
  std::vector<int32_t> begin, entry;  // entry: pairs of the label read and the arc
};

int padded(int count, int unit) {
  return (count + unit - 1) / unit * unit;
}

class Cutter {
 public:
  // least: number of members to which a piece is extended; most: their maximum, a multiple of
  // kUnit. Larger sets become several pieces, each below the previous one.
  Cutter(const Arcs& arcs, int least, int most, Ways up, Ways down)
      : arcs_(arcs),
        least_(least),
        most_(most),
        local_(at(arcs.n), -1),
        path_(at(arcs.height + 1), -1),
        first_kid_(at(arcs.n), -1),
        next_kid_(at(arcs.n), -1),
        up_(std::move(up)),
        down_(std::move(down)) {}

  // `upper` has all labels, including those of the top; `top` is in descending order.
  void cut(const std::vector<int32_t>& upper, const std::vector<int32_t>& top) {
    std::vector<uint8_t> in_top(at(arcs_.n), 0);
    for (const int32_t v : top) in_top[at(v)] = 1;
    std::vector<int32_t> roots;
    for (const int32_t v : upper) {
      if (in_top[at(v)]) continue;
      const int32_t p = arcs_.parent[v];
      if (p < 0 || in_top[at(p)]) {
        roots.push_back(v);
      } else {
        next_kid_[at(v)] = first_kid_[at(p)];
        first_kid_[at(p)] = v;
      }
    }
    level_first.push_back(0);
    if (!top.empty()) {
      write(top, true);
      level_first.push_back(tile_count());
    }
    while (!roots.empty()) {
      // The longest products come first, so that short ones fill the gaps at the end.
      std::sort(roots.begin(), roots.end(), [&](int32_t a, int32_t b) {
        return std::pair(-degree(a), a) < std::pair(-degree(b), b);
      });
      std::vector<int32_t> below;
      for (const int32_t r : roots) write(grown(r, below), false);
      level_first.push_back(tile_count());
      roots = std::move(below);
    }
    for (Ways* ways : {&up_, &down_}) ways->begin.push_back(entries(*ways));
  }

  std::vector<int32_t> pieces, members, boundary, tiles, level_first;
  const Ways& up() const { return up_; }
  const Ways& down() const { return down_; }
  int64_t units() const { return units_; }

 private:
  int degree(int32_t v) const { return static_cast<int>(arcs_.first[v + 1] - arcs_.first[v]); }
  int subtree(int32_t v) const { return v - arcs_.low[v] + 1; }
  int32_t tile_count() const { return static_cast<int32_t>(tiles.size() / 2); }
  static int32_t entries(const Ways& ways) { return static_cast<int32_t>(ways.entry.size() / 2); }

  // Returns the members of the piece that begins at `root`, in descending order; the roots of the
  // subtrees below it are appended to `below`.
  std::vector<int32_t> grown(int32_t root, std::vector<int32_t>& below) {
    const int bound = degree(root);
    std::priority_queue<std::pair<int, int32_t>> open;
    std::vector<int32_t> found;
    int wanted = most_;  // until the end of the first chain
    open.emplace(subtree(root), root);
    while (!open.empty()) {
      const int32_t v = open.top().second;
      open.pop();
      const auto count = static_cast<int>(found.size());
      if (count > 0 && (count >= wanted || bound > kLoose * degree(v) + kSlack)) {
        below.push_back(v);
        continue;
      }
      found.push_back(v);
      const int32_t kid = first_kid_[at(v)];
      if (wanted == most_ && (kid < 0 || next_kid_[at(kid)] >= 0))
        wanted = std::min(std::max(padded(count + 1, kUnit), least_), most_ - 1);
      for (int32_t c = kid; c >= 0; c = next_kid_[at(c)]) open.emplace(subtree(c), c);
    }
    std::sort(found.begin(), found.end(), std::greater<>());
    return found;
  }

  void write(const std::vector<int32_t>& found, bool is_top) {
    interrupt_.poll(found.size() * 16);
    const int count = padded(static_cast<int>(found.size()), kUnit);
    const auto id = static_cast<int32_t>(pieces.size() / kFields);
    const auto first_member = static_cast<int32_t>(members.size());
    const auto first_boundary = static_cast<int32_t>(boundary.size());
    int bound = 0;
    if (!is_top) {
      const int32_t root = found.front();
      for (int32_t a = arcs_.parent[root]; a >= 0; a = arcs_.parent[a])
        path_[at(arcs_.depth[a])] = a;
      for (int64_t j = arcs_.first[root]; j < arcs_.first[root + 1]; ++j) {
        const int32_t head = path_[at(arcs_.head_depth[j])];
        local_[at(head)] = bound++;
        boundary.push_back(head);
      }
      while (bound % kDeep) {  // any label: no path from it
        boundary.push_back(boundary.back());
        ++bound;
      }
    }
    int32_t low = arcs_.n, high = -1;
    for (int i = 0; i < count; ++i) {
      for (Ways* ways : {&up_, &down_}) ways->begin.push_back(entries(*ways));
      if (i >= static_cast<int>(found.size())) {
        members.push_back(-1);
        continue;
      }
      const int32_t v = found[at(i)];
      members.push_back(v);
      low = std::min(low, arcs_.low[v]);
      high = std::max(high, v);
      path_[at(arcs_.depth[v])] = v;
      local_[at(v)] = bound + i;
      list(down_, v);
      if (is_top) list(up_, v);
    }
    for (int t = 0; t < count; t += kUnit) tiles.insert(tiles.end(), {id, t});
    pieces.insert(pieces.end(), {first_member, count, first_boundary, bound, low, high,
                                 static_cast<int32_t>(units_), is_top});
    units_ += static_cast<int64_t>(bound + count) / kDeep * (count / kUnit);
    if (units_ > 0x7fffffff) throw std::length_error("too many pieces for the device");
  }

  void list(Ways& ways, int32_t v) const {
    for (int64_t j = ways.first[v]; j < ways.first[v + 1]; ++j)
      ways.entry.insert(ways.entry.end(),
                        {local_[at(path_[at(ways.head_depth[j])])], static_cast<int32_t>(j)});
  }

  const Arcs& arcs_;
  const int least_, most_;
  std::vector<int32_t> local_;  // the matrix row of each label of the current piece
  std::vector<int32_t> path_;   // labels by depth
  std::vector<int32_t> first_kid_, next_kid_;
  Ways up_, down_;
  int64_t units_ = 0;
  Interrupt interrupt_;
};

nb::dict pieces(const ArcsView& view, const Longs& up_first, const Ints& up_depth,
                const Longs& down_first, const Ints& down_depth, const Ints& upper, const Ints& top,
                int least, int most) {
  const Arcs& arcs = view.arcs();
  for (const auto& [first, depth] :
       {std::pair(&up_first, &up_depth), std::pair(&down_first, &down_depth)})
    if (first->size() != at(arcs.n) + 1 || depth->size() != at(first->data()[arcs.n]))
      throw nb::type_error("arcs: wrong size");
  if (most < kUnit || most % kUnit) throw nb::type_error("most: a multiple of 16");
  Cutter cutter(arcs, least, most, {up_first.data(), up_depth.data(), {}, {}},
                {down_first.data(), down_depth.data(), {}, {}});
  {
    nb::gil_scoped_release release;
    cutter.cut({upper.data(), upper.data() + upper.size()}, {top.data(), top.data() + top.size()});
  }
  nb::dict out;
  out["pieces"] = as_numpy(std::move(cutter.pieces));
  out["members"] = as_numpy(std::move(cutter.members));
  out["boundary"] = as_numpy(std::move(cutter.boundary));
  out["tiles"] = as_numpy(std::move(cutter.tiles));
  out["level_first"] = as_numpy(std::move(cutter.level_first));
  out["up_first"] = as_numpy(std::vector<int32_t>(cutter.up().begin));
  out["up"] = as_numpy(std::vector<int32_t>(cutter.up().entry));
  out["down_first"] = as_numpy(std::vector<int32_t>(cutter.down().begin));
  out["down"] = as_numpy(std::vector<int32_t>(cutter.down().entry));
  out["units"] = cutter.units();
  return out;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_pieces", &prepared::pieces, arg("arcs"), arg("up_first"), arg("up_depth"),
        arg("down_first"), arg("down_depth"), arg("upper"), arg("top"), arg("least"), arg("most"));
}
}  // namespace nearfar
