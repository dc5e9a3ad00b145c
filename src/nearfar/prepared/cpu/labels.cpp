// Tree labels on several workers: built from the roots down, and read for pairs.
#include "prepared/cpu/labels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "cpu/threads/spread.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

using Words = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Fills rows in one direction; `rows` has offset[n] values.
void fill_rows(const MetricView& view, bool down, const Longs& offset, const Array& rows,
               int threads) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    if (offset.size() != at(metric.arcs.n) + 1) throw nb::type_error("offset: wrong size");
    Value* out = checked<Value>(rows, at(offset.data()[metric.arcs.n]), "rows");
    nb::gil_scoped_release release;
    const Arcs& arcs = metric.arcs;
    const Upward<Value>& up = down ? metric.down : metric.up;
    const auto step = NEARFAR_PICK_ISA(label_row<Value>);
    const TreeParts& tree = view.arcs().parts(threads);
    std::vector<std::vector<int32_t>> ancestors(at(threads));
    top_down(tree, threads, [&](int worker, int32_t part, Interrupt&) {
      auto& ancestor = ancestors[at(worker)];
      ancestor.resize(at(arcs.height) + 16);
      const auto [from, to, deepest, above, below, beside] = tree.parts[at(part)];
      for (int32_t a = arcs.parent[to]; a >= 0; a = arcs.parent[a]) ancestor[at(arcs.depth[a])] = a;
      for (int32_t v = to; v >= from; --v) {
        ancestor[at(arcs.depth[v])] = v;
        if (offset.data()[v] == offset.data()[v + 1]) continue;
        step(arcs, up, offset.data(), v, ancestor.data(), out);
      }
    });
  });
}

// Lowest common ancestors without a walk (Schieber and Vishkin 1988). Each label is mapped to a
// node of a complete binary tree: of the numbers in its subtree, which are an interval, the one
// divisible by the highest power of two. Labels of one node are a path, ancestors are mapped to
// ancestors, and two words of bits give the common ancestors of two nodes. A root above all roots,
// at depth -1, makes the forest one tree.
nb::tuple ancestry(const ArcsView& view) {
  const Arcs& arcs = view.arcs();
  std::vector<Ancestry> of(at(arcs.n));
  std::vector<int32_t> above(at(arcs.n) + 2, -1);
  auto node = [](uint32_t low, uint32_t label) {  // of the numbers low + 1 .. label
    const int k = std::bit_width(low ^ label) - 1;
    return label >> k << k;
  };
  const uint32_t root = node(0, static_cast<uint32_t>(arcs.n) + 1);
  for (int32_t v = arcs.n - 1; v >= 0; --v) {
    const int32_t up = arcs.parent[v];
    const Ancestry over = up < 0 ? Ancestry{root, root & -root} : of[at(up)];
    const uint32_t mine = node(static_cast<uint32_t>(arcs.low[v]), static_cast<uint32_t>(v) + 1);
    of[at(v)] = {mine, over.levels | (mine & -mine)};
    if (mine != over.node) above[at(mine)] = up < 0 ? -1 : arcs.depth[up];
  }
  std::vector<uint32_t> flat(2 * of.size());
  if (!of.empty()) std::memcpy(flat.data(), of.data(), sizeof(Ancestry) * of.size());
  return arrays(std::move(flat), std::move(above));
}

// Returns the depth of the lowest common ancestor of two labels, -1 if there is none.
template <class Value>
int32_t common_depth(const Arcs& arcs, const TreeLabels<Value>& labels, int32_t a, int32_t b) {
  const Ancestry of_a = labels.ancestry[a], of_b = labels.ancestry[b];
  if (of_a.node == of_b.node) return std::min(arcs.depth[a], arcs.depth[b]);
  const int i = std::bit_width(of_a.node ^ of_b.node) - 1;
  const int level = std::countr_zero(of_a.levels & of_b.levels & (~uint32_t{0} << i));
  auto node_at = [](uint32_t node, int k) { return (node >> k | 1) << k; };
  // The label at which the path up from a label enters the ancestor's path.
  auto enters = [&](int32_t v, Ancestry of) {
    if (of.node == node_at(of.node, level)) return arcs.depth[v];
    const int k = std::bit_width(of.levels & ((uint32_t{1} << level) - 1)) - 1;
    return labels.above[node_at(of.node, k)];
  };
  return std::min(enters(a, of_a), enters(b, of_b));
}

// The data of a pair is not in the caches, and the position and length of its rows must be read
// first. So pairs go through stages, each some pairs ahead of the next, which prefetch what the
// next one reads.
template <class Value>
class PairsAhead {
 public:
  PairsAhead(const Arcs& arcs, const TreeLabels<Value>& labels, const int32_t* from,
             const int32_t* to, std::size_t first, std::size_t last)
      : arcs_(arcs), labels_(labels), from_(from), to_(to), last_(last) {
    for (std::size_t i = first; i < first + kVertices; ++i) vertices(i);
    for (std::size_t i = first; i < first + kRows; ++i) rows(i);
  }

  // Returns the number of leading values in the rows of pair i that belong to common ancestors.
  int32_t next(std::size_t i) {
    const int32_t prefix = prefix_[i % kRows];
    vertices(i + kVertices);
    rows(i + kRows);
    return prefix;
  }

 private:
  static constexpr std::size_t kRows = 8, kVertices = 16;

  void vertices(std::size_t i) const {
    if (i >= last_) return;
    for (const int32_t v : {from_[i], to_[i]}) {
      prefetch(labels_.ancestry + v);
      prefetch(labels_.offset + v);
    }
  }
  void rows(std::size_t i) {
    if (i >= last_) return;
    const int32_t prefix = common_depth(arcs_, labels_, from_[i], to_[i]) + 1;
    prefix_[i % kRows] = prefix;
    const Value* up = labels_.up + labels_.offset[from_[i]];  // another vertex's in compact labels
    const Value* down = labels_.down + labels_.offset[to_[i]];
    constexpr int32_t kLine = 64 / sizeof(Value), kMost = 16 * kLine;
    for (int32_t d = 0; d < std::min(prefix, kMost); d += kLine) {
      prefetch(up + d);
      prefetch(down + d);
    }
  }

  const Arcs& arcs_;
  const TreeLabels<Value>& labels_;
  const int32_t* const from_;
  const int32_t* const to_;
  const std::size_t last_;
  int32_t prefix_[kRows];
};

// Rows of one direction, also for vertices without a stored one.
template <class Value>
class AnyRow {
 public:
  AnyRow(const Arcs& arcs, const Upward<Value>& up, const int64_t* offset, const Value* rows)
      : arcs_(arcs),
        up_(up),
        offset_(offset),
        rows_(rows),
        way_(at(arcs.height), far<Value>()),
        made_(at(arcs.height) + 16) {}

  // Returns the first `count` values of the row of v.
  const Value* operator()(int32_t v, int32_t count) {
    return stored(v) ? rows_ + offset_[v] : make(v, count);
  }

 private:
  bool stored(int32_t v) const { return offset_[v] != offset_[v + 1]; }

  // Walks up to the first ancestor that has a row, then merges the rows to which the arcs lead.
  const Value* make(int32_t v, int32_t count) {
    int32_t top = v;
    while (top >= 0 && !stored(top)) top = arcs_.parent[top];
    const int32_t below = top < 0 ? 0 : arcs_.depth[top] + 1;  // depth of the walk's last vertex
    const int32_t depth = arcs_.depth[v];
    way_[at(depth)] = 0;
    heads_.clear();
    for (int32_t x = v; x != top; x = arcs_.parent[x]) {
      const Value to_x = way_[at(arcs_.depth[x])];
      if (to_x == far<Value>()) continue;
      for (int64_t j = up_.first[x]; j < up_.first[x + 1]; ++j) {
        const int32_t head = up_.head_depth[j];
        Value& way = way_[at(head)];
        const Value sum = to_x + up_.weight[j];
        if (sum >= way) continue;
        if (head < below && way == far<Value>()) heads_.push_back(head);
        way = sum;
      }
    }
    std::fill_n(made_.begin(), at(count), far<Value>());
    for (int32_t d = below; d <= depth; ++d) {
      if (d < count) made_[at(d)] = way_[at(d)];
      way_[at(d)] = far<Value>();
    }
    std::sort(heads_.begin(), heads_.end(), std::greater<>());
    const auto lower = NEARFAR_PICK_ISA(lower_row<Value>);
    int32_t a = top;
    for (const int32_t head : heads_) {
      while (arcs_.depth[a] > head) a = arcs_.parent[a];
      lower(made_.data(), rows_ + offset_[a], way_[at(head)], std::min(head + 1, count));
      way_[at(head)] = far<Value>();
    }
    return made_.data();
  }

  const Arcs& arcs_;
  const Upward<Value>& up_;
  const int64_t* const offset_;
  const Value* const rows_;
  std::vector<Value> way_;  // by depth, along the walk and at the ends of its arcs; far() elsewhere
  std::vector<Value> made_;
  std::vector<int32_t> heads_;
};

void pairs(const MetricView& view, const Longs& offset, const Words& ancestors, const Ints& above,
           const ConstArray& up, const ConstArray& down, const Ids& sources, const Ids& targets,
           const Array& out, int threads) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const Arcs& arcs = metric.arcs;
    const std::size_t count = sources.size();
    if (offset.size() != at(arcs.n) + 1 || ancestors.size() != 2 * at(arcs.n) ||
        above.size() != at(arcs.n) + 2 || up.size() != at(offset.data()[arcs.n]) ||
        down.size() != up.size() || up.dtype() != nb::dtype<Value>() ||
        down.dtype() != up.dtype() || targets.size() != count)
      throw nb::type_error("labels: wrong size or dtype");
    const TreeLabels<Value> labels{
        offset.data(), reinterpret_cast<const Ancestry*>(ancestors.data()), above.data(),
        static_cast<const Value*>(up.data()), static_cast<const Value*>(down.data())};
    const auto from = labels_of(arcs, sources.data(), count);
    const auto to = labels_of(arcs, targets.data(), count);
    with_distances<Value>(out.dtype(), [&](auto tag) {
      using Out = decltype(tag);
      Out* found = checked<Out>(out, count, "out");
      nb::gil_scoped_release release;
      constexpr int64_t block = 1024;
      Value (*const meet_rows)(const Value*, const Value*, int32_t) = NEARFAR_PICK_ISA(meet<Value>);
      spread_blocks(static_cast<int64_t>(count), block, threads,
                    [&](const auto& each_block, Interrupt& interrupt) {
                      AnyRow<Value> up_row(arcs, metric.up, labels.offset, labels.up);
                      AnyRow<Value> down_row(arcs, metric.down, labels.offset, labels.down);
                      each_block([&](int64_t first, int64_t last) {
                        interrupt.poll(block * 64);
                        PairsAhead<Value> pairs{arcs,      labels,    from.data(),
                                                to.data(), at(first), at(last)};
                        for (std::size_t i = at(first); i < at(last); ++i) {
                          const int32_t prefix = pairs.next(i);
                          const Value least =
                              meet_rows(up_row(from[i], prefix), down_row(to[i], prefix), prefix);
                          found[i] = distance_of<Out>(least, metric.step);
                        }
                      });
                    });
    });
  });
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_label_rows", &prepared::fill_rows, arg("metric"), arg("down"), arg("offset"),
        arg("rows"), arg("threads"));
  m.def("prepared_ancestry", &prepared::ancestry, arg("arcs"));
  m.def("prepared_label_pairs", &prepared::pairs, arg("metric"), arg("offset"), arg("ancestry"),
        arg("above"), arg("up"), arg("down"), arg("sources"), arg("targets"), arg("out"),
        arg("threads"));
}
}  // namespace nearfar
