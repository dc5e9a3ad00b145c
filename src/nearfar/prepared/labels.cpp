// Tree labels on several workers: made from the roots down, and asked for pairs.
#include "prepared/labels.hpp"

#include <algorithm>
#include <vector>

#include "cpu/spread.hpp"
#include "prepared/metric_view.hpp"
#include "prepared/structure.hpp"
#include "prepared/value.hpp"

namespace nearfar::prepared {
namespace {

using Vertices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Value>
class Rows : public LevelWork {
 public:
  Rows(const Arcs& arcs, const Upward<Value>& up, const int64_t* offset, Value* rows, int threads)
      : arcs_(arcs),
        up_(up),
        offset_(offset),
        rows_(rows),
        ancestors_(at(threads) * at(arcs.height + 16)) {}
  bool any_alone() const override { return false; }
  void alone(int, int32_t, const Levels::Chain&) override {}
  void subtree(int worker, int32_t from, int32_t to) override {
    int32_t* ancestor = ancestors_.data() + at(worker) * at(arcs_.height + 16);
    for (int32_t a = arcs_.parent[to]; a >= 0; a = arcs_.parent[a]) ancestor[arcs_.depth[a]] = a;
    for (int32_t v = to; v >= from; --v) {
      ancestor[arcs_.depth[v]] = v;
      step_(arcs_, up_, offset_, v, ancestor, rows_);
    }
  }
  void chain(int worker, const Levels::Chain& chain) override {
    subtree(worker, chain.from, chain.to);
  }

 private:
  const Arcs& arcs_;
  const Upward<Value>& up_;
  const int64_t* offset_;
  Value* rows_;
  std::vector<int32_t> ancestors_;
  void (*step_)(const Arcs&, const Upward<Value>&, const int64_t*, int32_t, const int32_t*,
                Value*) = NEARFAR_PICK_ISA(label_row<Value>);
};

// Fills rows in one direction; `rows` has offset[n] values.
void fill(const MetricView& view, bool down, const ArcsView::Longs& offset, const Array& rows,
          int threads) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    if (offset.size() != at(metric.arcs.n) + 1) throw nb::type_error("offset: wrong size");
    Value* out = checked<Value>(rows, at(offset.data()[metric.arcs.n]), "rows");
    nb::gil_scoped_release release;
    Rows<Value> work(metric.arcs, down ? metric.down : metric.up, offset.data(), out, threads);
    top_down(view.arcs(), threads, work);
  });
}

// The highest label of the heavy path that each label lies on: the child with the largest subtree
// is numbered just below its parent.
nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> heavy_tops(const ArcsView& view) {
  const Arcs& arcs = view.arcs();
  std::vector<int32_t> top(at(arcs.n));
  for (int32_t v = arcs.n - 1; v >= 0; --v)
    top[at(v)] = arcs.parent[v] == v + 1 ? top[at(v) + 1] : v;
  return as_numpy(std::move(top));
}

int32_t lowest_common(const Arcs& arcs, const int32_t* top, int32_t a, int32_t b) {
  while (top[a] != top[b]) {
    int32_t& lower = top[a] < top[b] ? a : b;
    lower = arcs.parent[top[lower]];
    if (lower < 0) return -1;
  }
  return std::max(a, b);
}

void pairs(const MetricView& view, const ArcsView::Longs& offset, const ArcsView::Ints& top,
           const ConstArray& up, const ConstArray& down, const Vertices& sources,
           const Vertices& targets, const Array& out, int threads) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const Arcs& arcs = metric.arcs;
    const std::size_t count = sources.size();
    if (offset.size() != at(arcs.n) + 1 || top.size() != at(arcs.n) ||
        up.size() != at(offset.data()[arcs.n]) || down.size() != up.size() ||
        up.dtype() != nb::dtype<Value>() || down.dtype() != up.dtype() || targets.size() != count)
      throw nb::type_error("labels: wrong size or dtype");
    const TreeLabels<Value> labels{offset.data(), top.data(), static_cast<const Value*>(up.data()),
                                   static_cast<const Value*>(down.data())};
    const auto from = labels_of(arcs, sources.data(), count);
    const auto to = labels_of(arcs, targets.data(), count);
    with_distances<Value>(out.dtype(), [&](auto tag) {
      using Out = decltype(tag);
      Out* found = checked<Out>(out, count, "out");
      nb::gil_scoped_release release;
      constexpr std::size_t block = 1024, ahead = 8;
      Value (*const meet_rows)(const Value*, const Value*, int32_t) = NEARFAR_PICK_ISA(meet<Value>);
      spread(static_cast<int64_t>((count + block - 1) / block), threads,
             [&](BatchCounter& counter, Interrupt& interrupt) {
               for (int64_t b; (b = counter.take()) >= 0;) {
                 interrupt.poll(block * 64);
                 const std::size_t last = std::min(count, at(b + 1) * block);
                 int32_t common[ahead];
                 auto look = [&](std::size_t i) {
                   const int32_t c = lowest_common(arcs, labels.top, from[i], to[i]);
                   common[i % ahead] = c < 0 ? 0 : arcs.depth[c] + 1;
                   // The rows wait in memory: their first lines are fetched while others are read.
                   for (int line = 0; line < 4; ++line) {
                     prefetch(labels.up + labels.offset[from[i]] + line * (64 / sizeof(Value)));
                     prefetch(labels.down + labels.offset[to[i]] + line * (64 / sizeof(Value)));
                   }
                 };
                 const std::size_t first = at(b) * block;
                 for (std::size_t i = first; i < std::min(last, first + ahead); ++i) look(i);
                 for (std::size_t i = first; i < last; ++i) {
                   const int32_t prefix = common[i % ahead];
                   if (i + ahead < last) look(i + ahead);
                   found[i] =
                       distance_of<Out>(meet_rows(labels.up + labels.offset[from[i]],
                                                  labels.down + labels.offset[to[i]], prefix));
                 }
               }
             });
    });
  });
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_label_rows", &prepared::fill, arg("metric"), arg("down"), arg("offset"),
        arg("rows"), arg("threads"));
  m.def("prepared_heavy_tops", &prepared::heavy_tops, arg("arcs"));
  m.def("prepared_label_pairs", &prepared::pairs, arg("metric"), arg("offset"), arg("top"),
        arg("up"), arg("down"), arg("sources"), arg("targets"), arg("out"), arg("threads"));
}
}  // namespace nearfar
