// Rows and tables: batches of sources over workers, each with its own memory.
#include "prepared/cpu/sweep.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "cpu/memory/huge_block.hpp"
#include "cpu/threads/spread.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int kRepaid = 8;  // sweeps of a worker that repay a copy of the arcs

// Returns positions in ascending order of their labels.
std::vector<std::size_t> ascending(const std::vector<int32_t>& labels) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return labels[i] < labels[j]; });
  return order;
}

// Inputs of a sweep to some targets: their ancestors in descending order, and possibly a copy of
// the arcs into them.
template <class Value>
struct Restricted {
  std::vector<int32_t> label;
  std::vector<int64_t> first{0};
  std::vector<int32_t> head_depth;
  std::vector<Value> weight;
  std::vector<int32_t> place;  // position of each target among the labels

  Restricted(const Arcs& arcs, const std::vector<int32_t>& targets) : place(targets.size()) {
    const std::vector<std::size_t> order = ascending(targets);
    for (std::size_t i = 0; i < order.size(); ++i) {
      // Labels are a postorder: a path to the root meets that of the next target at its first label
      // that is not less than this target.
      const int32_t next = i + 1 < order.size() ? targets[order[i + 1]] : arcs.n;
      place[order[i]] = static_cast<int32_t>(label.size());
      for (int32_t v = targets[order[i]]; v >= 0 && v < next; v = arcs.parent[v])
        label.push_back(v);
    }
    std::reverse(label.begin(), label.end());
    for (int32_t& p : place) p = static_cast<int32_t>(label.size()) - 1 - p;
  }

  // Copies the arcs; they are read from one end to the other then, which is faster.
  Upward<Value> copy(const Upward<Value>& down) {
    int64_t count = 0;
    for (const int32_t v : label) count += down.first[v + 1] - down.first[v];
    head_depth.reserve(at(count));
    weight.reserve(at(count));
    for (const int32_t v : label) {
      const auto from = at(down.first[v]), to = at(down.first[v + 1]);
      head_depth.insert(head_depth.end(), down.head_depth + from, down.head_depth + to);
      weight.insert(weight.end(), down.weight + from, down.weight + to);
      first.push_back(static_cast<int64_t>(weight.size()));
    }
    return {first.data(), head_depth.data(), weight.data()};
  }
};

// One worker's memory for sweeps of kLanes sources.
template <class Value, int kLanes>
class Worker {
 public:
  Worker(const Arcs& arcs, int32_t count)
      : touched_(at(arcs.height) * kLanes),
        block_(sizeof(Value) * kLanes * (at(arcs.height) * (1 + kLanes) + at(count) + 64)) {
    auto* next = reinterpret_cast<Value*>(block_.data());
    next += (64 - reinterpret_cast<std::uintptr_t>(next) % 64) % 64 / sizeof(Value);
    state.path = next;
    state.started = state.path + at(arcs.height) * kLanes;
    state.rows = state.started + at(arcs.height) * kLanes * kLanes;
    state.rows += (64 - reinterpret_cast<std::uintptr_t>(state.rows) % 64) % 64 / sizeof(Value);
    state.touched = touched_.data();
  }
  SweepState<Value> state;

 private:
  std::vector<int32_t> touched_;
  HugeBlock block_;
};

template <class Value, class Out, int kLanes>
void rows(const Metric<Value>& metric, const SweepPlan<Value>& plan, const int32_t* place,
          std::size_t width, const std::vector<int32_t>& from, Out* out, int threads) {
  // Neighbours in the order of labels share most of their ancestors.
  const std::vector<std::size_t> order = ascending(from);
  std::vector<int32_t> sources;
  for (const std::size_t i : order) sources.push_back(from[i]);
  const auto batches = static_cast<int64_t>((sources.size() + kLanes - 1) / kLanes);
  spread(batches, threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    std::unique_ptr<Worker<Value, kLanes>> worker;
    const auto sweep = NEARFAR_PICK_ISA(sweep_lanes<Value, kLanes>);
    const auto write = NEARFAR_PICK_ISA(write_rows<Value, Out, kLanes>);
    Out* row[kLanes];
    for (int64_t b; (b = counter.take()) >= 0;) {
      if (!worker) worker = std::make_unique<Worker<Value, kLanes>>(metric.arcs, plan.count);
      const std::size_t first = at(b) * kLanes;
      const auto count = static_cast<int>(std::min<std::size_t>(kLanes, sources.size() - first));
      interrupt.poll(at(plan.count) * 4 + 1);
      sweep(metric, plan, sources.data() + first, count, worker->state);
      for (int lane = 0; lane < count; ++lane) row[lane] = out + order[first + at(lane)] * width;
      write(worker->state.rows, place, static_cast<int64_t>(width), count, metric.step, row);
    }
  });
}

// Computes distances from every source to every target, or to all vertices. `lanes` 0 chooses the
// number of lanes; returns the number used.
int distances(const MetricView& view, const Ids& sources, const std::optional<Ids>& targets,
              const Array& out, int lanes, int threads) {
  view.visit([&](const auto& metric) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    const Arcs& arcs = metric.arcs;
    const auto from = labels_of(arcs, sources.data(), sources.size());
    std::vector<int32_t> to;
    if (targets) to = labels_of(arcs, targets->data(), targets->size());
    const std::size_t width = targets ? to.size() : at(arcs.n);
    with_distances<Value>(out.dtype(), [&](auto tag) {
      using Out = decltype(tag);
      Out* found = checked<Out>(out, from.size() * width, "out");
      nb::gil_scoped_release release;
      if (!targets && from.size() == 1) {
        Interrupt interrupt;
        std::vector<Value> path(at(arcs.height) + 64), space(path.size());
        std::vector<int32_t> ancestor(at(arcs.height));
        NEARFAR_PICK_ISA(sweep_one<Value, Out>)
        (metric, from[0], path.data(), space.data(), ancestor.data(), found);
        lanes = 1;
        return;
      }
      std::unique_ptr<Restricted<Value>> some;
      const int32_t* places = nullptr;
      SweepPlan<Value> plan{arcs.n, nullptr, false, metric.down};
      constexpr int kNarrow = sizeof(Value) == 4 ? 16 : 8;
      // With twice the lanes each arc is read half as often. Whole rows gain nothing, because
      // writing them dominates.
      if (lanes == 0)
        lanes = targets && from.size() >= at(2 * kNarrow * threads) ? 2 * kNarrow : kNarrow;
      if (targets) {
        some = std::make_unique<Restricted<Value>>(arcs, to);
        plan.count = static_cast<int32_t>(some->label.size());
        plan.label = some->label.data();
        plan.copied = from.size() >= at(kRepaid * lanes);
        if (plan.copied) plan.down = some->copy(metric.down);
        places = some->place.data();
      }
      if (lanes == 2 * kNarrow)
        rows<Value, Out, 2 * kNarrow>(metric, plan, places, width, from, found, threads);
      else
        rows<Value, Out, kNarrow>(metric, plan, places, width, from, found, threads);
    });
  });
  return lanes;
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_distances", &prepared::distances, arg("metric"), arg("sources"),
        arg("targets").none(), arg("out"), arg("lanes"), arg("threads"));
}
}  // namespace nearfar
