// Rows within a limit: the sweep down the tree skips subtrees that are too far away.
//
// A path into a subtree passes an upper neighbour of its root, over any arc, including those that
// queries leave out. So if the source is outside and all these neighbours are farther than the
// limit, so is the whole subtree, an interval of labels that is skipped. Weights are not negative.
#include <algorithm>
#include <atomic>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/spread.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

template <class Value>
class Within {
 public:
  Within(const Metric<Value>& metric, Value limit)
      : metric_(metric),
        arcs_(metric.arcs),
        limit_(limit),
        climbed_(at(arcs_.height)),
        distance_(at(arcs_.height)) {}

  // Calls put(label, distance) for reached labels; returns the number of labels read, or -1 as soon
  // as it exceeds `most`.
  template <class Put>
  int64_t row(int32_t source, int64_t most, Interrupt& interrupt, Put&& put) {
    climb(source);
    int64_t looked = 0;
    for (int32_t x = arcs_.n - 1; x >= 0;) {
      if (++looked > most) return -1;
      interrupt.poll(8);
      const bool holds_source = arcs_.low[x] <= source && source <= x;
      Value d = holds_source ? climbed_[at(arcs_.depth[x])] : far<Value>();
      for (int64_t j = metric_.down.first[x]; j < metric_.down.first[x + 1]; ++j)
        d = std::min(d, distance_[at(metric_.down.head_depth[j])] + metric_.down.weight[j]);
      distance_[at(arcs_.depth[x])] = std::min(d, far<Value>());
      if (d <= limit_) {
        put(x, d);
        --x;
      } else {
        x = holds_source || entered(x) ? x - 1 : arcs_.low[x] - 1;
      }
    }
    return looked;
  }

 private:
  void climb(int32_t source) {
    std::fill_n(climbed_.begin(), arcs_.depth[source], far<Value>());
    climbed_[at(arcs_.depth[source])] = 0;
    for (int32_t x = source; x >= 0; x = arcs_.parent[x]) {
      const Value d = climbed_[at(arcs_.depth[x])];
      if (d > limit_) continue;
      for (int64_t j = metric_.up.first[x]; j < metric_.up.first[x + 1]; ++j) {
        Value& there = climbed_[at(metric_.up.head_depth[j])];
        there = std::min(there, d + metric_.up.weight[j]);
      }
    }
  }

  // Whether an upper neighbour of x is within the limit.
  bool entered(int32_t x) const {
    for (int64_t j = arcs_.first[x]; j < arcs_.first[x + 1]; ++j)
      if (distance_[at(arcs_.head_depth[j])] <= limit_) return true;
    return false;
  }

  const Metric<Value>& metric_;
  const Arcs& arcs_;
  const Value limit_;
  std::vector<Value> climbed_, distance_;  // by depth: over ascending labels; final
};

// Computes rows of `out`, unreached beyond the limit, which is in steps. Returns false and leaves
// `out` undefined if a row reads more than `most` labels, because full sweeps are then faster.
bool rows_within(const MetricView& view, const Ids& sources, int64_t limit, int64_t most,
                 const Array& out, int threads) {
  std::atomic<bool> few{true};
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    if constexpr (std::is_unsigned_v<Value>) {
      const auto labels = labels_of(metric.arcs, sources.data(), sources.size());
      const std::size_t n = at(metric.arcs.n);
      const auto bound = static_cast<Value>(
          std::min<uint64_t>(static_cast<uint64_t>(std::max<int64_t>(limit, 0)), far<Value>() - 1));
      with_distances<Value>(out.dtype(), [&](auto tag) {
        using Out = decltype(tag);
        Out* rows = checked<Out>(out, labels.size() * n, "out");
        nb::gil_scoped_release release;
        spread(static_cast<int64_t>(labels.size()), threads,
               [&](BatchCounter& counter, Interrupt& interrupt) {
                 Within<Value> within(metric, bound);
                 for (int64_t i; few && (i = counter.take()) >= 0;) {
                   Out* row = rows + at(i) * n;
                   std::fill_n(row, n, unreached<Out>());
                   auto put = [&](int32_t x, Value d) {
                     row[metric.arcs.vertex[x]] = distance_of<Out>(d, metric.step);
                   };
                   if (within.row(labels[at(i)], most, interrupt, put) < 0) few = false;
                 }
               });
      });
    } else {
      throw nb::type_error("within a limit: integers that are not negative");
    }
  });
  return few;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_rows_within", &prepared::rows_within, arg("metric"), arg("sources"), arg("limit"),
        arg("most"), arg("out"), arg("threads"));
}
}  // namespace nearfar
