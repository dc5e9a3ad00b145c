// Cuts an elimination tree into cells that a thread block of a GPU sweeps with all distances it
// reads in shared memory, and lists the arcs of each cell in the order of the sweep.
//
// A cell is a subtree, or several adjacent ones. Its boundary is what its vertices read from
// outside: the labels to which the root of the subtree has arcs. A sweep goes down the labels,
// which is a depth-first traversal, so only the path to the root is live: a slot is free again
// after its last use, and a cell needs as many slots as its boundary and height together, however
// many vertices it has. Labels above all cells are left to pieces.cpp.
//
// The kernel reads a stream, in entries of 16 bytes. Each vertex has a record, or several if it has
// more than kArcs arcs besides the one to the previous vertex. All records have the same size, so
// that the kernel can read the next ones before it knows the contents of this one:
//   32-bit values   {vertex, label, meta, weight of the arc to the previous vertex}, then pairs of
//                   arcs {slot, weight, slot, weight}
//   64-bit values   {vertex, label, weight of the arc to the previous vertex}, then arcs
//                   {slot, meta with the first, weight}
// Slots are given in bytes; slot 0 is always "no path". meta: the flags below, and the slot that
// the distance is written to. Weights are left at 0, and `weight_at` says where each arc's belongs,
// so that the device can fill them in. Where there is no arc the weight is "no path" (`far_at`),
// except for the arc to the previous vertex in the second record of a vertex: 0 keeps the result of
// the first. A cell has complete rounds of kSets records; the last ones may have no vertex.

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cpu/threads/interrupt.hpp"
#include "prepared/order/arcs_view.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int kArcs = 4, kSets = 3;  // arcs of a record, records of a round; of sweep_cells.cuh
// Flags: arcs in the record's first pair, in its second; first record of its vertex, last one; the
// distance is written to a slot. Slots are multiples of more bytes than the flags need.
constexpr int kPair = 1, kFirst = 4, kLast = 8, kKeep = 16, kFlags = 127;
constexpr int kFirstSlot = 1;  // slot 0 means "no path"

// Fields of a cell as the kernel reads them.
enum Field {
  kBoundary,
  kBoundaryCount,
  kFirstRound,
  kRounds,
  kLow,
  kHigh,
  kMembers,
  kSlots,
  kFirstMember,
  kFields
};

struct Shape {
  int members, slots;  // at most
};

class Cutter {
 public:
  Cutter(const Arcs& arcs, const int64_t* first, const int32_t* head_depth, bool wide,
         int slot_bytes)
      : arcs_(arcs),
        first_(first),
        wide_(wide),
        slot_bytes_(slot_bytes),
        size_(at(arcs.n)),
        height_(at(arcs.n)),
        last_(at(arcs.n), -1),
        slot_(at(arcs.n), 0),
        mark_(at(arcs.n), -1),
        boundary_heads_(heads(arcs, arcs.first, arcs.head_depth)),
        head_(heads(arcs, first, head_depth)) {
    weight_at.assign(at(first[arcs.n]), -1);
  }

  // `known`: labels that are not swept, closed under parents; or null.
  void cut(const Shape& shape, const uint8_t* known) {
    std::vector<uint8_t> is_upper(at(arcs_.n), 0);
    const std::vector<int32_t> roots = subtrees(shape, known, is_upper);
    gather(roots, shape);
    for (int32_t v = 0; v < arcs_.n; ++v)
      if (is_upper[at(v)]) upper.push_back(v);
  }

  std::vector<int32_t> cells, boundary, stream, weight_at;
  std::vector<int32_t> outline;  // lowest label below and depth of each vertex that is swept
  std::vector<int32_t> upper;    // labels in no cell

 private:
  // Returns the roots of the highest subtrees that fit a cell, in descending order.
  std::vector<int32_t> subtrees(const Shape& shape, const uint8_t* known,
                                std::vector<uint8_t>& is_upper) {
    const int32_t n = arcs_.n;
    std::fill(size_.begin(), size_.end(), 1);
    std::fill(height_.begin(), height_.end(), 1);
    for (int32_t v = 0; v < n; ++v) {
      const int32_t p = arcs_.parent[v];
      if (p < 0) continue;
      size_[at(p)] += size_[at(v)];
      height_[at(p)] = std::max(height_[at(p)], height_[at(v)] + 1);
    }
    std::vector<int32_t> roots;
    for (int32_t v = n - 1; v >= 0; --v) {
      const int32_t p = arcs_.parent[v];
      if (p >= 0 && !is_upper[at(p)]) continue;  // inside the subtree of a root
      const int64_t slots = arcs_.first[v + 1] - arcs_.first[v] + height_[at(v)] + kFirstSlot;
      if ((known != nullptr && known[v]) || size_[at(v)] > shape.members || slots > shape.slots)
        is_upper[at(v)] = 1;
      else
        roots.push_back(v);
    }
    return roots;
  }

  // Puts adjacent subtrees into one cell while they fit.
  void gather(const std::vector<int32_t>& roots, const Shape& shape) {
    for (std::size_t i = 0; i < roots.size();) {
      const auto id = static_cast<int32_t>(cells.size() / kFields);
      std::vector<int32_t> members, around;
      int tallest = 0;
      for (; i < roots.size(); ++i) {
        const int32_t r = roots[i];
        int more = 0;
        for (int64_t j = arcs_.first[r]; j < arcs_.first[r + 1]; ++j)
          more += mark_[at(boundary_heads_[at(j)])] != id;
        const int tall = std::max(tallest, height_[at(r)]);
        const int slots = static_cast<int>(around.size()) + more + tall + kFirstSlot;
        if (!members.empty() && (static_cast<int>(members.size()) + size_[at(r)] > shape.members ||
                                 slots > shape.slots))
          break;
        for (int64_t j = arcs_.first[r]; j < arcs_.first[r + 1]; ++j) {
          const int32_t h = boundary_heads_[at(j)];
          if (mark_[at(h)] != id) around.push_back(h);
          mark_[at(h)] = id;
        }
        tallest = tall;
        for (int32_t v = r; v >= arcs_.low[r]; --v) members.push_back(v);
      }
      write(members, around);
    }
  }

  // Returns the labels that arcs lead to.
  static std::vector<int32_t> heads(const Arcs& arcs, const int64_t* first,
                                    const int32_t* head_depth) {
    std::vector<int32_t> found(at(first[arcs.n])), ancestor(at(arcs.height + 1), -1);
    for (int32_t v = arcs.n - 1; v >= 0; --v) {
      ancestor[at(arcs.depth[v])] = v;
      for (int64_t j = first[v]; j < first[v + 1]; ++j) found[at(j)] = ancestor[at(head_depth[j])];
    }
    return found;
  }

  void write(const std::vector<int32_t>& members, std::vector<int32_t> around) {
    interrupt_.poll(members.size() * 16);
    const auto count = static_cast<int32_t>(members.size());
    std::sort(around.begin(), around.end(), std::greater<>());
    for (const int32_t v : around) last_[at(v)] = -1;
    for (const int32_t v : members) last_[at(v)] = -1;
    auto before = [&](int32_t i) {
      return i > 0 && members[at(i - 1)] == arcs_.parent[members[at(i)]] ? members[at(i - 1)] : -1;
    };
    for (int32_t i = 0; i < count; ++i) {
      const int32_t v = members[at(i)];
      for (int64_t j = first_[v]; j < first_[v + 1]; ++j) {
        const int32_t h = head_[at(j)];
        if (h != before(i)) last_[at(h)] = i;
      }
    }
    std::vector<int32_t> cell(kFields, 0);
    cell[kBoundary] = static_cast<int32_t>(boundary.size());
    int32_t slots = kFirstSlot;
    for (const int32_t v : around)
      if (last_[at(v)] >= 0) {
        slot_[at(v)] = slots++;
        boundary.push_back(v);
      }
    cell[kBoundaryCount] = slots - kFirstSlot;
    cell[kFirstRound] = rounds();
    cell[kLow] = arcs_.n;
    cell[kHigh] = -1;
    cell[kMembers] = count;
    cell[kFirstMember] = static_cast<int32_t>(outline.size() / 2);
    std::vector<int32_t> spare;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t v = members[at(i)];
      cell[kLow] = std::min(cell[kLow], arcs_.low[v]);
      cell[kHigh] = std::max(cell[kHigh], v);
      outline.insert(outline.end(), {arcs_.low[v], arcs_.depth[v]});
      const int32_t from_before = before(i);
      std::vector<int64_t> mine;
      int64_t by_before = -1;
      for (int64_t j = first_[v]; j < first_[v + 1]; ++j) {
        const int32_t h = head_[at(j)];
        if (h == from_before)
          by_before = j;
        else
          mine.push_back(j);
      }
      for (const int64_t j : mine) {
        const int32_t h = head_[at(j)];
        if (last_[at(h)] == i) spare.push_back(slot_[at(h)]);
      }
      int32_t own = 0;
      if (last_[at(v)] >= 0) {
        if (spare.empty()) {
          own = slots++;
        } else {
          own = spare.back();
          spare.pop_back();
        }
      }
      records(v, mine, by_before, own, last_[at(v)] >= 0);
      slot_[at(v)] = own;
    }
    cell[kSlots] = slots;
    if (slots > 0x7fffffff / slot_bytes_) throw std::length_error("too many slots in a cell");
    while (stream.size() % round_words()) stream.push_back(0);
    cell[kRounds] = rounds() - cell[kFirstRound];
    cells.insert(cells.end(), cell.begin(), cell.end());
  }

  void records(int32_t v, const std::vector<int64_t>& mine, int64_t by_before, int32_t own,
               bool keep) {
    std::size_t done = 0;
    do {
      const std::size_t some = std::min<std::size_t>(mine.size() - done, kArcs);
      const bool begins = done == 0, ends = done + some == mine.size();
      int32_t meta = (some > 0 ? kPair : 0) | (some > 2 ? 2 * kPair : 0) | (begins ? kFirst : 0);
      if (ends) meta |= kLast | (keep ? kKeep | own * slot_bytes_ : 0);
      stream.insert(stream.end(), {arcs_.vertex[v], v});
      if (!wide_) stream.push_back(meta);
      if (begins) place(by_before);
      stream.insert(stream.end(), wide_ ? 2 : 1, 0);
      for (std::size_t k = 0; k < kArcs; ++k) {
        stream.push_back(k < some ? slot_[at(head_[at(mine[done + k])])] * slot_bytes_ : 0);
        if (wide_) stream.push_back(k == 0 ? meta : 0);
        place(k < some ? mine[done + k] : -1);
        stream.insert(stream.end(), wide_ ? 2 : 1, 0);
      }
      done += some;
    } while (done < mine.size());
  }

  // The next entry of the stream is the weight of an arc, or "no path". Positions are counted in
  // values.
  void place(int64_t arc) {
    const std::size_t position = stream.size() / (wide_ ? 2 : 1);
    if (position > 0x7fffffff) throw std::length_error("too many arcs for the device");
    if (arc < 0)
      far_at.push_back(static_cast<int32_t>(position));
    else
      weight_at[at(arc)] = static_cast<int32_t>(position);
  }
  std::size_t round_words() const { return kSets * (4 + kArcs * (wide_ ? 4 : 2)); }
  int32_t rounds() const { return static_cast<int32_t>(stream.size() / round_words()); }

  const Arcs& arcs_;
  const int64_t* first_;
  const bool wide_;
  const int slot_bytes_;
  std::vector<int32_t> size_, height_, last_, slot_, mark_;
  std::vector<int32_t> boundary_heads_, head_;  // heads of all arcs and of followed ones
  Interrupt interrupt_;

 public:
  std::vector<int32_t> far_at;  // values that are "no path" for any weights
};

nb::dict cells(
    const ArcsView& view, const Longs& first, const Ints& head_depth, bool wide, int members,
    int slots, int slot_bytes,
    const std::optional<nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>&
        known) {
  const Arcs& arcs = view.arcs();
  if (first.size() != at(arcs.n) + 1) throw nb::type_error("first: wrong size");
  if (head_depth.size() != at(first.data()[arcs.n])) throw nb::type_error("head_depth: wrong size");
  if (known && known->size() != at(arcs.n)) throw nb::type_error("known: wrong size");
  if (slot_bytes <= kFlags || slot_bytes & kFlags)
    throw nb::type_error("slot_bytes: not a multiple");
  Cutter cutter(arcs, first.data(), head_depth.data(), wide, slot_bytes);
  {
    nb::gil_scoped_release release;
    cutter.cut({members, slots}, known ? known->data() : nullptr);
  }
  nb::dict out;
  out["cells"] = as_numpy(std::move(cutter.cells));
  out["boundary"] = as_numpy(std::move(cutter.boundary));
  out["stream"] = as_numpy(std::move(cutter.stream));
  out["weight_at"] = as_numpy(std::move(cutter.weight_at));
  out["far_at"] = as_numpy(std::move(cutter.far_at));
  out["outline"] = as_numpy(std::move(cutter.outline));
  out["upper"] = as_numpy(std::move(cutter.upper));
  return out;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_cells", &prepared::cells, arg("arcs"), arg("first"), arg("head_depth"),
        arg("wide"), arg("members"), arg("slots"), arg("slot_bytes"), arg("known").none());
}
}  // namespace nearfar
