// lanes@cpu: picks the type of the lanes, deals batches to workers, repeats wider what did not fit.
#include <nanobind/stl/optional.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>

#include "algorithms/batched/lanes.hpp"
#include "cpu/bindings.hpp"
#include "cpu/search.hpp"
#include "cpu/spread.hpp"

namespace nearfar::batched {
namespace {

struct FreeBlock {
  void operator()(void* block) const { std::free(block); }
};

// One worker's memory, allocated on the worker so that it lies near its core.
template <class Lane, int Width>
class Owned {
 public:
  explicit Owned(std::size_t n) {
    state.distance = static_cast<Lane*>(block(n * Width * sizeof(Lane)));
    state.next = static_cast<int32_t*>(block(n * sizeof(int32_t)));
    state.previous = static_cast<int32_t*>(block(n * sizeof(int32_t)));
    state.bucket = static_cast<int32_t*>(block(n * sizeof(int32_t)));
    std::fill_n(state.bucket, n, -1);
    std::fill_n(state.head, LaneState<Lane>::kSlots, -1);
    std::fill_n(state.tail, LaneState<Lane>::kSlots, -1);
  }
  LaneState<Lane> state;

 private:
  void* block(std::size_t bytes) {
    void* found = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (found == nullptr) throw std::bad_alloc();
    blocks_.emplace_back(found);
    return found;
  }
  std::vector<std::unique_ptr<void, FreeBlock>> blocks_;
};

struct Request {
  const int32_t* sources = nullptr;
  const int64_t* columns = nullptr;  // null: all vertices
  std::size_t n_columns = 0;
  std::optional<double> limit;
  double delta = 0;
  int width = 0;  // 0: as wide as pays
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

// Edges with the weight in the type of the lanes. A weight of cap or more can improve nothing.
template <class Lane, class C>
std::vector<LaneEdge<Lane>> lane_edges(const C& csr, Lane cap) {
  std::vector<LaneEdge<Lane>> edges(static_cast<std::size_t>(csr.m));
  for (int32_t i = 0; i < csr.m; ++i) {
    const int32_t t = csr.indices[i];
    const bool sink = csr.indptr[t] == csr.indptr[t + 1];
    const auto w = csr.weights[i];
    edges[i] = {sink ? ~t : t, w >= cap ? cap : static_cast<Lane>(w)};
  }
  return edges;
}

// Solves the rows named by `pending` and leaves in it those that did not fit this type of lane.
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
  const auto edges = lane_edges<Lane>(csr, graph.cap);
  graph.edges = edges.data();
  graph.inverse_delta = request.delta > 0 ? static_cast<float>(1 / request.delta) : 0.0f;
  Lane heaviest = 0;
  for (const auto& edge : edges) heaviest = std::max(heaviest, edge.weight);

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
          if (graph.cap - far <= heaviest) {  // a longer path may have been cut off at cap
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
  // Sources without out-edges reach themselves alone: they would waste a lane.
  std::vector<int32_t> pending;
  for (std::size_t i = 0; i < k; ++i) {
    const int32_t s = request.sources[i];
    if (csr.indptr[s] < csr.indptr[s + 1]) {
      pending.push_back(static_cast<int32_t>(i));
      continue;
    }
    std::fill_n(out + i * row, row, unreached<Out>());
    if (request.columns == nullptr) out[i * row + s] = 0;
    for (std::size_t c = 0; c < request.n_columns; ++c)
      if (request.columns[c] == s) out[i * row + c] = 0;
  }
  if constexpr (std::is_floating_point_v<Weight>) {
    if constexpr (sizeof(Weight) == 4)
      choose_width<Weight, 16, 32>(csr, request, pending, out, report);
    else
      choose_width<Weight, 8, 16>(csr, request, pending, out, report);
  } else {
    Weight heaviest = 0;
    for (int32_t i = 0; i < csr.m; ++i) heaviest = std::max(heaviest, csr.weights[i]);
    auto fits = [&](auto cap) { return heaviest < static_cast<int64_t>(cap) / 2; };
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

Fields lanes(GraphView& view,
             const nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& sources,
             const Array& out, const std::optional<Ids>& columns, std::optional<double> limit,
             double delta, int width, int threads) {
  Request request;
  request.sources = sources.data();
  if (columns) {
    request.columns = columns->data();
    request.n_columns = columns->size();
  }
  request.limit = limit;
  request.delta = delta;
  request.width = width;
  request.threads = threads;
  const Report report = view.visit([&](const auto& csr) -> Report {
    using C = std::decay_t<decltype(csr)>;
    using Out = typename C::Weight;
    if constexpr (sizeof(typename C::Index) == 8) {
      throw nb::value_error("lanes need 32-bit vertex indices");
    } else {
      const std::size_t row = columns ? columns->size() : static_cast<std::size_t>(csr.n);
      Out* rows = checked<Out>(out, sources.size() * row, "out");
      for (std::size_t i = 0; i < sources.size(); ++i)
        if (request.sources[i] < 0 || request.sources[i] >= csr.n)
          throw nb::index_error("source is not a vertex");
      for (std::size_t i = 0; i < request.n_columns; ++i)
        if (request.columns[i] < 0 || request.columns[i] >= csr.n)
          throw nb::index_error("column is not a vertex");
      nb::gil_scoped_release release;
      return solve(csr, request, sources.size(), rows);
    }
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
  m.def("lanes", &batched::lanes, arg("view"), arg("sources"), arg("out"),
        arg("columns") = nb::none(), arg("limit") = nb::none(), arg("delta") = 0.0,
        arg("width") = 0, arg("threads") = 1);
}
}  // namespace nearfar
