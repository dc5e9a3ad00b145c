// Cuts an elimination tree into cells that a thread block of a GPU sweeps with all distances it
// looks at in shared memory, and writes the arcs of each cell down in the order of the sweep.
//
// A cell is a subtree, or several that lie next to each other; what its vertices look at outside of
// it is its boundary, which is what the root of the subtree has arcs to. A sweep goes down labels,
// so it is a depth-first walk and only the path to the root is alive: a slot is free again after
// its last use, and a cell of many vertices needs as many slots as its boundary and height
// together, not as it has vertices. What no slots suffice for is left to pieces.cpp.
//
// A stream is what the kernel reads, in entries of 16 bytes. Each vertex has a record, or several
// if it has many arcs:
//   32-bit values   {vertex, label, meta, weight of the arc to the vertex before}, then arcs in
//   pairs
//                   {slot, weight, slot, weight}; slot 0 is always "no path" and pads the last pair
//   64-bit values   {vertex, label, meta, 0}, {weight of the arc to the vertex before, 0}, then
//   arcs
//                   {slot, 0, weight}
// meta: entries with arcs in bits 0 to 7, then whether the record is its vertex's first, its last,
// and whether the distance goes to a slot, and the slot from bit 16. Weights are left at 0 ("no
// path" for the arc to the vertex before) and `weight_at` says where each arc's belongs, so that
// the device can fill them in. Chunks are at most kChunk entries long and end with a record.

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "cpu/interrupt.hpp"
#include "prepared/arcs_view.hpp"
#include "prepared/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int kChunk = 64;  // entries; kChunk of sweep.cuh
constexpr int kMost = 60;   // entries with arcs in a record
constexpr int kFirst = 1 << 8, kLast = 1 << 9, kKeep = 1 << 10;
constexpr int kFirstSlot = 1;  // slot 0 means "no path"

// Fields of a cell as the kernel reads them.
enum Field {
  kBoundary,
  kBoundaryCount,
  kChunks,
  kChunkCount,
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
  Cutter(const Arcs& arcs, const int64_t* first, const int32_t* head_depth, bool wide)
      : arcs_(arcs),
        first_(first),
        wide_(wide),
        size_(at(arcs.n)),
        height_(at(arcs.n)),
        last_(at(arcs.n), -1),
        slot_(at(arcs.n), 0),
        mark_(at(arcs.n), -1),
        boundary_heads_(heads(arcs, arcs.first, arcs.head_depth)),
        head_(heads(arcs, first, head_depth)) {
    weight_at.assign(at(first[arcs.n]), -1);
  }

  // `known`: labels that are not swept, closed under parents; or nullptr.
  void cut(const Shape& shape, const uint8_t* known) {
    std::vector<uint8_t> is_upper(at(arcs_.n), 0);
    const std::vector<int32_t> roots = subtrees(shape, known, is_upper);
    gather(roots, shape);
    for (int32_t v = 0; v < arcs_.n; ++v)
      if (is_upper[at(v)]) upper.push_back(v);
  }

  std::vector<int32_t> cells, boundary, stream, chunk, weight_at;
  std::vector<int32_t> outline;  // lowest label below and depth of each vertex that is swept
  std::vector<int32_t> upper;    // labels that are in no cell

 private:
  // The roots of the highest subtrees that fit a cell, in falling order.
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

  // Neighbouring subtrees share a cell while they fit.
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

  // The labels that arcs lead to.
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
    cell[kChunks] = static_cast<int32_t>(chunk.size());
    cell[kLow] = arcs_.n;
    cell[kHigh] = -1;
    cell[kMembers] = count;
    cell[kFirstMember] = static_cast<int32_t>(outline.size() / 2);
    chunk.push_back(entries());
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
    if (slots >= 1 << 15) throw std::length_error("too many slots in a cell");
    cell[kChunkCount] = static_cast<int32_t>(chunk.size()) - cell[kChunks];
    chunk.push_back(entries());
    cells.insert(cells.end(), cell.begin(), cell.end());
  }

  void records(int32_t v, const std::vector<int64_t>& mine, int64_t by_before, int32_t own,
               bool keep) {
    const std::size_t each = wide_ ? 1 : 2, head = wide_ ? 2 : 1;
    std::size_t done = 0;
    do {
      const std::size_t some = std::min(mine.size() - done, kMost * each);
      const std::size_t length = (some + each - 1) / each;
      if (entries() + static_cast<int32_t>(head + length) > chunk.back() + kChunk)
        chunk.push_back(entries());
      const bool begins = done == 0, ends = done + some == mine.size();
      int32_t meta = static_cast<int32_t>(length) | (begins ? kFirst : 0);
      if (ends) meta |= kLast | (keep ? kKeep : 0) | own << 16;
      const std::size_t base = stream.size();
      stream.insert(stream.end(), {arcs_.vertex[v], v, meta, 0});
      if (wide_) stream.insert(stream.end(), 4, 0);
      if (!begins || by_before < 0)
        no_way(base + 4 * head - (wide_ ? 4 : 1));
      else
        place(by_before, base + 4 * head - (wide_ ? 4 : 1));
      for (std::size_t k = 0; k < length * each; ++k) {
        const bool real = k < some;
        const int32_t from = real ? slot_[at(head_[at(mine[done + k])])] : 0;
        const std::size_t here = stream.size();
        stream.insert(stream.end(), {from, 0});
        if (wide_) stream.insert(stream.end(), {0, 0});
        const std::size_t value = here + (wide_ ? 2 : 1);
        if (real) place(mine[done + k], value);
      }
      done += some;
    } while (done < mine.size());
  }

  // Positions are counted in values of the stream.
  std::size_t position(std::size_t word) const { return wide_ ? word / 2 : word; }
  void place(int64_t arc, std::size_t word) {
    if (position(word) > 0x7fffffff) throw std::length_error("too many arcs for the device");
    weight_at[at(arc)] = static_cast<int32_t>(position(word));
  }
  void no_way(std::size_t word) { far_at.push_back(static_cast<int32_t>(position(word))); }
  int32_t entries() const { return static_cast<int32_t>(stream.size() / 4); }

  const Arcs& arcs_;
  const int64_t* first_;
  const bool wide_;
  std::vector<int32_t> size_, height_, last_, slot_, mark_;
  std::vector<int32_t> boundary_heads_, head_;  // of all arcs, of those that a sweep follows
  Interrupt interrupt_;

 public:
  std::vector<int32_t> far_at;  // values that are "no path" whatever the weights
};

nb::dict cells(
    const ArcsView& view, const ArcsView::Longs& first, const ArcsView::Ints& head_depth, bool wide,
    int members, int slots,
    const std::optional<nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>&
        known) {
  const Arcs& arcs = view.arcs();
  if (first.size() != at(arcs.n) + 1) throw nb::type_error("first: wrong size");
  if (head_depth.size() != at(first.data()[arcs.n])) throw nb::type_error("head_depth: wrong size");
  if (known && known->size() != at(arcs.n)) throw nb::type_error("known: wrong size");
  Cutter cutter(arcs, first.data(), head_depth.data(), wide);
  {
    nb::gil_scoped_release release;
    cutter.cut({members, slots}, known ? known->data() : nullptr);
  }
  nb::dict out;
  out["cells"] = as_numpy(std::move(cutter.cells));
  out["boundary"] = as_numpy(std::move(cutter.boundary));
  out["stream"] = as_numpy(std::move(cutter.stream));
  out["chunk"] = as_numpy(std::move(cutter.chunk));
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
        arg("wide"), arg("members"), arg("slots"), arg("known").none());
}
}  // namespace nearfar
