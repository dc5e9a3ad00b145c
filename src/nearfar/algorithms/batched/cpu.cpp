// lanes@cpu: chooses the type of the lanes, hands out batches to workers, and repeats batches that
// overflow in a wider type.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "algorithms/batched/lanes.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/huge_block.hpp"
#include "cpu/search/search.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::batched {
namespace {

// One worker's memory, allocated by the worker so that it is close to its core, and on huge pages,
// because lanes are accessed in random order.
template <class Lane, int Width>
class Owned {
 public:
  explicit Owned(std::size_t n) : block_(n * (Width * sizeof(Lane) + 3 * sizeof(int32_t))) {
    state.distance = reinterpret_cast<Lane*>(block_.data());
    state.next = reinterpret_cast<int32_t*>(state.distance + n * Width);
    state.previous = state.next + n;
    state.bucket = state.previous + n;
    std::fill_n(state.bucket, n, -1);
    std::fill_n(state.head, LaneState<Lane>::kSlots, -1);
    std::fill_n(state.tail, LaneState<Lane>::kSlots, -1);
  }
  LaneState<Lane> state;

 private:
  HugeBlock block_;
};

struct Request {
  const int32_t* sources = nullptr;
  const int64_t* columns = nullptr;  // null: all vertices
  std::size_t n_columns = 0;
  std::optional<double> limit;
  double delta = 0;
  int64_t heaviest = 0;  // largest integer weight
  int width = 0;         // 0: chosen automatically
  int threads = 1;
};

struct Report {
  uint64_t scans = 0, edges = 0, batches = 0, repeated = 0;
  int width = 0, lane_bits = 0;
  bool saturated = false;
};

template <class Lane>
constexpr Lane highest() {
  if constexpr (std::is_floating_point_v<Lane>)
    return std::numeric_limits<Lane>::infinity();
  else
    return std::numeric_limits<Lane>::max() / 2;
}

// Edges with weights in the type of the lanes; a weight of cap or more can improve nothing. Built
// by all workers for each run, because type and cap depend on the run.
template <class Lane>
struct LaneEdges {
  template <class C>
  LaneEdges(const C& csr, Lane cap, int threads)
      : block(static_cast<std::size_t>(csr.m) * sizeof(LaneEdge<Lane>)) {
    auto* edges = reinterpret_cast<LaneEdge<Lane>*>(block.data());
    constexpr int64_t kShare = 1 << 16;
    const auto m = static_cast<int64_t>(csr.m);
    std::mutex mutex;
    spread_blocks(m, kShare, threads, [&](const auto& each_block, Interrupt& interrupt) {
      Lane most = 0;
      each_block([&](int64_t first, int64_t last) {
        interrupt.poll(kShare);
        for (int64_t i = first; i < last; ++i) {
          const int32_t t = csr.indices[i];
          const bool sink = csr.indptr[t] == csr.indptr[t + 1];
          const auto w = csr.weights[i];
          edges[i] = {sink ? ~t : t, w >= cap ? cap : static_cast<Lane>(w)};
          most = std::max(most, edges[i].weight);
        }
      });
      const std::lock_guard lock(mutex);
      heaviest = std::max(heaviest, most);
    });
  }
  HugeBlock block;
  Lane heaviest = 0;
};

// Solves the rows in `pending` and leaves in it those that overflow this type of lane.
template <class Lane, int Width, class C, class Out>
void phase(const C& csr, const Request& request, std::vector<int32_t>& pending, Out* out,
           Report& report) {
  const std::size_t row = request.columns == nullptr ? csr.n : request.n_columns;
  LaneGraph<Lane> graph;
  graph.n = csr.n;
  graph.indptr = csr.indptr;
  graph.cap = highest<Lane>();
  bool limited = false;
  if (request.limit) {
    const auto limit = limit_as<Out>(request.limit);
    if constexpr (std::is_floating_point_v<Lane>) {
      graph.cap = std::nextafter(static_cast<Lane>(limit), std::numeric_limits<Lane>::infinity());
      limited = true;
    } else if (limit < static_cast<int64_t>(graph.cap)) {
      graph.cap = static_cast<Lane>(std::max<int64_t>(0, static_cast<int64_t>(limit) + 1));
      limited = true;
    }
  }
  const LaneEdges<Lane> edges(csr, graph.cap, request.threads);
  graph.edges = reinterpret_cast<const LaneEdge<Lane>*>(edges.block.data());
  graph.inverse_delta = request.delta > 0 ? static_cast<float>(1 / request.delta) : 0.0f;

  const auto count = static_cast<int64_t>(pending.size());
  const int64_t batches = (count + Width - 1) / Width;
  std::mutex mutex;
  std::vector<char> done(static_cast<std::size_t>(batches), 0);
  spread(batches, request.threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    Owned<Lane, Width> owned(static_cast<std::size_t>(csr.n));
    int32_t sources[Width];
    Out* rows[Width];
    LaneCounts sum;
    uint64_t finished = 0;
    bool overflow = false;
    for (int64_t b; (b = counter.take()) >= 0;) {
      const int64_t first = b * Width;
      const int lanes = static_cast<int>(std::min<int64_t>(Width, count - first));
      for (int i = 0; i < lanes; ++i) {
        const auto position = static_cast<std::size_t>(pending[first + i]);
        sources[i] = request.sources[position];
        rows[i] = out + position * row;
      }
      const LaneCounts counts = NEARFAR_PICK_ISA(lanes_solve<Lane, Width>)(
          graph, owned.state, sources, lanes, request.columns, request.n_columns, interrupt);
      sum.scans += counts.scans;
      sum.edges += counts.edges;
      if constexpr (!std::is_floating_point_v<Lane>) {
        if (!limited) {
          const Lane far = NEARFAR_PICK_ISA(lanes_farthest<Lane, Width>)(graph, owned.state);
          if (graph.cap - far <= edges.heaviest) {  // a longer path may have been cut off at cap
            counter.stop();
            continue;
          }
          if constexpr (sizeof(Lane) > sizeof(Out))
            if (far >= static_cast<Lane>(unreached<Out>())) overflow = true;
        }
      }
      NEARFAR_PICK_ISA(lanes_write<Lane, Width, Out>)
      (graph, owned.state, lanes, rows, request.columns, request.n_columns);
      done[static_cast<std::size_t>(b)] = 1;
      ++finished;
    }
    const std::lock_guard lock(mutex);
    report.scans += sum.scans;
    report.edges += sum.edges;
    report.batches += finished;
    report.saturated |= overflow;
  });
  report.width = Width;
  report.lane_bits = static_cast<int>(8 * sizeof(Lane));
  std::vector<int32_t> left;
  for (int64_t i = 0; i < count; ++i)
    if (!done[static_cast<std::size_t>(i / Width)]) left.push_back(pending[i]);
  pending.swap(left);
}

template <class Lane, int Narrow, int Wide, class C, class Out>
void choose_width(const C& csr, const Request& request, std::vector<int32_t>& pending, Out* out,
                  Report& report) {
  const int wanted = request.width > 0 ? request.width : static_cast<int>(Wide);
  if (wanted <= Narrow || static_cast<int>(pending.size()) <= Narrow)
    phase<Lane, Narrow>(csr, request, pending, out, report);
  else
    phase<Lane, Wide>(csr, request, pending, out, report);
}

template <class C, class Out>
Report solve(const C& csr, const Request& request, std::size_t k, Out* out) {
  using Weight = typename C::Weight;
  Report report;
  const std::size_t row = request.columns == nullptr ? csr.n : request.n_columns;
  // Sources without out-edges reach only themselves and would waste a lane. In some networks half
  // of all vertices are such, so their rows are written by all workers, too.
  std::vector<int32_t> pending, alone;
  for (std::size_t i = 0; i < k; ++i) {
    const int32_t s = request.sources[i];
    const bool leads_on = csr.indptr[s] < csr.indptr[s + 1];
    (leads_on ? pending : alone).push_back(static_cast<int32_t>(i));
  }
  spread_blocks(static_cast<int64_t>(alone.size()), 8, request.threads,
                [&](const auto& each_block, Interrupt& interrupt) {
                  each_block([&](int64_t first, int64_t last) {
                    for (int64_t a = first; a < last; ++a) {
                      interrupt.poll(row);
                      const int32_t i = alone[static_cast<std::size_t>(a)], s = request.sources[i];
                      Out* mine = out + static_cast<std::size_t>(i) * row;
                      std::fill_n(mine, row, unreached<Out>());
                      if (request.columns == nullptr) mine[s] = 0;
                      for (std::size_t c = 0; c < request.n_columns; ++c)
                        if (request.columns[c] == s) mine[c] = 0;
                    }
                  });
                });
  if constexpr (std::is_floating_point_v<Weight>) {
    if constexpr (sizeof(Weight) == 4)
      choose_width<Weight, 16, 32>(csr, request, pending, out, report);
    else
      choose_width<Weight, 8, 16>(csr, request, pending, out, report);
  } else {
    auto fits = [&](auto cap) { return request.heaviest < static_cast<int64_t>(cap) / 2; };
    const std::size_t all = pending.size();
    std::size_t tried = 0;
    auto attempt = [&](auto&& run) {
      if (pending.empty()) return;
      if (tried++ > 0) report.repeated += pending.size();
      run();
    };
    if (fits(highest<uint16_t>()) && all > 0)
      attempt([&] { choose_width<uint16_t, 16, 64>(csr, request, pending, out, report); });
    if (fits(highest<int32_t>()))
      attempt([&] { choose_width<int32_t, 16, 32>(csr, request, pending, out, report); });
    attempt([&] { choose_width<int64_t, 8, 16>(csr, request, pending, out, report); });
    report.saturated |= !pending.empty();
  }
  return report;
}

Fields lanes(GraphView& view, const Ints& sources, const Array& out, int64_t heaviest,
             const std::optional<Ids>& columns, std::optional<double> limit, double delta,
             int width, int threads) {
  Request request;
  request.sources = sources.data();
  if (columns) {
    request.columns = columns->data();
    request.n_columns = columns->size();
  }
  request.limit = limit;
  request.delta = delta;
  request.heaviest = heaviest;
  request.width = width;
  request.threads = threads;
  const Report report = view.visit([&](const auto& csr) -> Report {
    using C = std::decay_t<decltype(csr)>;
    using Out = typename C::Weight;
    const std::size_t row = columns ? columns->size() : static_cast<std::size_t>(csr.n);
    Out* rows = checked<Out>(out, sources.size() * row, "out");
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (request.sources[i] < 0 || request.sources[i] >= csr.n)
        throw nb::index_error("source is not a vertex");
    if (columns)
      check_vertices(*columns, static_cast<std::size_t>(csr.n), "column is not a vertex");
    nb::gil_scoped_release release;
    return solve(csr, request, sources.size(), rows);
  });
  nb::dict stats;
  stats["iterations"] = report.batches;
  stats["edges_relaxed"] = report.edges;
  stats["vertices_processed"] = report.scans;
  stats["repeated_rows"] = report.repeated;
  stats["lanes"] = report.width;
  stats["lane_bits"] = report.lane_bits;
  stats["saturated"] = report.saturated;
  stats["delta"] = delta;
  return stats;
}

}  // namespace
}  // namespace nearfar::batched

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("lanes", &batched::lanes, arg("view"), arg("sources"), arg("out"), arg("heaviest"),
        arg("columns") = nb::none(), arg("limit") = nb::none(), arg("delta") = 0.0,
        arg("width") = 0, arg("threads") = 1);
}
}  // namespace nearfar
