// 8 to 64 sources per sweep, one per lane: an edge is read once for all of them.
//
// distance[v][lane] of one vertex is one or two cache lines. Scanning v adds each edge's weight to
// all lanes of v and takes the minimum with the lanes of the target: a few instructions instead of
// hundreds with a heap, but a vertex is scanned again whenever any lane improves. The order limits
// these repetitions: a vertex is in the bucket of its least improved lane, and buckets are emptied
// from the nearest (Dial 1969; a quarter of the mean weight wide), which takes about half the scans
// of a single queue. Within a bucket the order is first in, first out; last in, first out follows
// long paths of distances that are not final and scans many times as often on social graphs.
// Buckets are intrusive lists, so a vertex moves to a nearer bucket without leaving a stale entry;
// numbers beyond the ring go to its last slot, which only processes them early.
//
// 32 unsigned 16-bit lanes fit a 512-bit register. They hold distances below 32,767 and are checked
// after the batch (lanes_farthest); rows that overflow are repeated in wider lanes.
#include "algorithms/batched/lanes.hpp"

#include "algorithms/batched/lane_vector.hpp"

namespace nearfar::batched::NEARFAR_ISA {
namespace {

constexpr int32_t kMask = LaneState<int32_t>::kSlots - 1;

template <class Lane>
class Buckets {
 public:
  explicit Buckets(LaneState<Lane>& state) : s_(state) {}
  bool empty() const { return waiting_ == 0; }
  int32_t current() const { return current_; }

  NEARFAR_INLINE void put(int32_t v, int32_t number) {
    if (number < current_) number = current_;
    if (number > current_ + kMask) number = current_ + kMask;
    const int32_t old = s_.bucket[v];
    if (old >= 0) {
      if (old <= number) return;
      unlink(v, old);
    } else {
      ++waiting_;
    }
    s_.bucket[v] = number;
    const int32_t slot = number & kMask;
    const int32_t last = s_.tail[slot];
    s_.next[v] = -1;
    s_.previous[v] = last;
    if (last >= 0)
      s_.next[last] = v;
    else
      s_.head[slot] = v;
    s_.tail[slot] = v;
  }

  // Removes the next vertex; the queue must not be empty. `advanced`: a nearer bucket ran empty.
  NEARFAR_INLINE int32_t take(bool& advanced) {
    advanced = false;
    while (s_.head[current_ & kMask] < 0) {
      ++current_;
      advanced = true;
    }
    const int32_t v = s_.head[current_ & kMask];
    unlink(v, current_);
    s_.bucket[v] = -1;
    --waiting_;
    return v;
  }

  // Empties the queue, so that the state is clean for the next batch.
  void clear() {
    bool advanced;
    while (!empty()) take(advanced);
  }

 private:
  NEARFAR_INLINE void unlink(int32_t v, int32_t number) {
    const int32_t before = s_.previous[v], after = s_.next[v];
    if (before >= 0)
      s_.next[before] = after;
    else
      s_.head[number & kMask] = after;
    if (after >= 0)
      s_.previous[after] = before;
    else
      s_.tail[number & kMask] = before;
  }

  LaneState<Lane>& s_;
  int32_t current_ = 0;
  int32_t waiting_ = 0;
};

template <class Lane>
NEARFAR_INLINE int32_t number_of(Lane d, float inverse_delta) {
  const float x = static_cast<float>(d) * inverse_delta;
  return x < 1e9f ? static_cast<int32_t>(x) : 1000000000;
}

// Whether every target is nearer in every lane than all queued vertices. Bucket numbers are
// rounded, so one bucket of slack is kept.
template <class Lane, int Width>
bool all_settled(const LaneGraph<Lane>& graph, const LaneState<Lane>& state, int count,
                 const int64_t* targets, std::size_t n_targets, int32_t current) {
  for (std::size_t i = 0; i < n_targets; ++i) {
    const Lane* row = state.distance + static_cast<std::size_t>(targets[i]) * Width;
    for (int lane = 0; lane < count; ++lane)
      if (row[lane] >= graph.cap || number_of(row[lane], graph.inverse_delta) + 1 >= current)
        return false;
  }
  return true;
}

}  // namespace

template <class Lane, int Width>
LaneCounts lanes_solve(const LaneGraph<Lane>& graph, LaneState<Lane>& state, const int32_t* sources,
                       int count, const int64_t* targets, std::size_t n_targets,
                       Interrupt& interrupt) {
  using Row = LaneRow<Lane, Width>;
  using Vector = typename Row::Vector;
  constexpr int kParts = Row::kParts;
  auto* rows = reinterpret_cast<Vector*>(state.distance);
  const Vector nothing = Vector{} + graph.cap;
  for (std::size_t i = 0, all = static_cast<std::size_t>(graph.n) * kParts; i < all; ++i)
    rows[i] = nothing;
  Buckets<Lane> queue(state);
  for (int lane = 0; lane < count; ++lane) {
    state.distance[static_cast<std::size_t>(sources[lane]) * Width + lane] = 0;
    queue.put(sources[lane], 0);
  }
  LaneCounts counts;
  uint64_t next_check = 0;
  while (!queue.empty()) {
    bool advanced;
    const int32_t v = queue.take(advanced);
    if (advanced && n_targets != 0 && counts.edges >= next_check) {
      if (all_settled<Lane, Width>(graph, state, count, targets, n_targets, queue.current())) {
        queue.put(v, queue.current());
        queue.clear();
        break;
      }
      next_check = counts.edges + n_targets;
    }
    const int64_t begin = graph.indptr[v], end = graph.indptr[v + 1];
    ++counts.scans;
    counts.edges += static_cast<uint64_t>(end - begin);
    interrupt.poll(static_cast<uint64_t>(end - begin) + 1);
    Vector from[kParts];
    for (int k = 0; k < kParts; ++k) from[k] = rows[static_cast<std::size_t>(v) * kParts + k];
    for (int64_t e = begin; e < end; ++e) {
      const LaneEdge<Lane> edge = graph.edges[e];
      const bool sink = edge.target < 0;
      const int32_t t = edge.target ^ (edge.target >> 31);
      Vector* to = rows + static_cast<std::size_t>(t) * kParts;
      Vector shorter[kParts], best = nothing;
      typename Row::Mask any{};
      for (int k = 0; k < kParts; ++k) {
        const Vector sum = from[k] + edge.weight;
        const Vector old = to[k];
        const typename Row::Mask less = sum < old;
        shorter[k] = less ? sum : old;
        any |= less;
        const Vector improved = less ? sum : nothing;
        best = improved < best ? improved : best;
      }
      if (!any_lane(any)) continue;
      for (int k = 0; k < kParts; ++k) to[k] = shorter[k];
      if (!sink) queue.put(t, number_of(least_lane<Lane>(best), graph.inverse_delta));
    }
  }
  return counts;
}

template <class Lane, int Width>
Lane lanes_farthest(const LaneGraph<Lane>& graph, const LaneState<Lane>& state) {
  using Row = LaneRow<Lane, Width>;
  using Vector = typename Row::Vector;
  const auto* rows = reinterpret_cast<const Vector*>(state.distance);
  const Vector nothing = Vector{} + graph.cap;
  Vector far{};
  for (std::size_t i = 0, all = static_cast<std::size_t>(graph.n) * Row::kParts; i < all; ++i) {
    const Vector x = rows[i] < nothing ? rows[i] : Vector{};
    far = x > far ? x : far;
  }
  Lane most = 0;
  for (int i = 0; i < Row::kPerPart; ++i) most = far[i] > most ? far[i] : most;
  return most;
}

template <class Lane, int Width, class Out>
void lanes_write(const LaneGraph<Lane>& graph, const LaneState<Lane>& state, int count,
                 Out* const* rows, const int64_t* columns, std::size_t n_columns) {
  const Writer<Lane, Out> writer(graph.cap);
  if (columns != nullptr) {
    for (std::size_t c = 0; c < n_columns; ++c) {
      const Lane* from = state.distance + static_cast<std::size_t>(columns[c]) * Width;
      for (int lane = 0; lane < count; ++lane) rows[lane][c] = writer.one(from[lane]);
    }
    return;
  }
  // A block of vertices stays in the first-level cache while its lanes are copied to their rows.
  constexpr int32_t kBlock = static_cast<int32_t>(16384 / (Width * sizeof(Lane)));
  constexpr int kTile = Writer<Lane, Out>::kTile;
  for (int32_t from = 0; from < graph.n; from += kBlock) {
    const int32_t to = graph.n - from < kBlock ? graph.n : from + kBlock;
    for (int lane = 0; lane < count; lane += kTile) {
      int32_t v = from;
      if (count - lane >= kTile)
        for (; v + kTile <= to; v += kTile)
          writer.template tile<Width>(state.distance + static_cast<std::size_t>(v) * Width + lane,
                                      rows + lane, v);
      const int last = count - lane < kTile ? count : lane + kTile;
      for (; v < to; ++v)
        for (int l = lane; l < last; ++l)
          rows[l][v] = writer.one(state.distance[static_cast<std::size_t>(v) * Width + l]);
    }
  }
}

#define NEARFAR_LANES(Lane, Width)                                                               \
  template LaneCounts lanes_solve<Lane, Width>(const LaneGraph<Lane>&, LaneState<Lane>&,         \
                                               const int32_t*, int, const int64_t*, std::size_t, \
                                               Interrupt&);                                      \
  template Lane lanes_farthest<Lane, Width>(const LaneGraph<Lane>&, const LaneState<Lane>&);
#define NEARFAR_LANES_OUT(Lane, Width, Out)                                                        \
  template void lanes_write<Lane, Width, Out>(const LaneGraph<Lane>&, const LaneState<Lane>&, int, \
                                              Out* const*, const int64_t*, std::size_t);
NEARFAR_LANES(uint16_t, 16)
NEARFAR_LANES(uint16_t, 64)
NEARFAR_LANES(int32_t, 16)
NEARFAR_LANES(int32_t, 32)
NEARFAR_LANES(float, 16)
NEARFAR_LANES(float, 32)
NEARFAR_LANES(int64_t, 8)
NEARFAR_LANES(int64_t, 16)
NEARFAR_LANES(double, 8)
NEARFAR_LANES(double, 16)
NEARFAR_LANES_OUT(uint16_t, 16, int32_t)
NEARFAR_LANES_OUT(uint16_t, 64, int32_t)
NEARFAR_LANES_OUT(uint16_t, 16, int64_t)
NEARFAR_LANES_OUT(uint16_t, 64, int64_t)
NEARFAR_LANES_OUT(int32_t, 16, int32_t)
NEARFAR_LANES_OUT(int32_t, 32, int32_t)
NEARFAR_LANES_OUT(int32_t, 16, int64_t)
NEARFAR_LANES_OUT(int32_t, 32, int64_t)
NEARFAR_LANES_OUT(int64_t, 8, int32_t)
NEARFAR_LANES_OUT(int64_t, 16, int32_t)
NEARFAR_LANES_OUT(int64_t, 8, int64_t)
NEARFAR_LANES_OUT(int64_t, 16, int64_t)
NEARFAR_LANES_OUT(float, 16, float)
NEARFAR_LANES_OUT(float, 32, float)
NEARFAR_LANES_OUT(double, 8, double)
NEARFAR_LANES_OUT(double, 16, double)

}  // namespace nearfar::batched::NEARFAR_ISA
