// floyd_warshall@cpu: the matrix in tiles, three phases per step, with a barrier between phases.
//
// Memory order. Tiles are plain memory: in a phase each is written by the one worker that got its
// number from the phase's counter, and read by others only in later phases, after the barrier.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "algorithms/floyd_warshall/tiles.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/aligned.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"
#include "cpu/threads/worker_pool.hpp"

namespace nearfar::floyd_warshall {
namespace {

// All tiles of the matrix, each contiguous: a tile operation touches four or eight pages instead of
// 192.
template <class Value>
class TiledMatrix {
 public:
  explicit TiledMatrix(std::size_t n) : side_((n + kTile - 1) / kTile) {
    const std::size_t bytes = side_ * side_ * kSize * sizeof(Value);
    block_.reset(static_cast<Value*>(aligned_block(bytes)));
  }
  static constexpr std::size_t kSize = static_cast<std::size_t>(kTile) * kTile;
  std::size_t side() const { return side_; }
  Value* tile(std::size_t i, std::size_t j) { return block_.get() + (i * side_ + j) * kSize; }
  Value& at(std::size_t i, std::size_t j) {
    return tile(i / kTile, j / kTile)[(i % kTile) * kTile + j % kTile];
  }

 private:
  std::size_t side_;
  std::unique_ptr<Value[], AlignedDelete<>> block_;
};

// The workers of all phases; worker 0 is the caller.
template <class Value>
class Solver {
 public:
  Solver(TiledMatrix<Value>& matrix, int threads)
      : m_(matrix),
        side_(matrix.side()),
        threads_(threads),
        meet_(static_cast<uint32_t>(threads)) {}

  void run() {
    Interrupt interrupt;
    WorkerPool::shared().run(threads_, [&](int worker) {
      if (worker != 0) return work(nullptr);
      try {
        work(&interrupt);
      } catch (...) {
        // The other workers leave after the next barrier, not the previous one, which some may not
        // have left yet.
        last_ = met_ + 1;
        meet_.arrive_and_wait();
        throw;
      }
    });
  }

 private:
  void work(Interrupt* interrupt) {
    alignas(64) Value old[TiledMatrix<Value>::kSize];
    const auto close = NEARFAR_PICK_ISA(close_tile<Value>);
    const auto update = NEARFAR_PICK_ISA(update_tile<Value>);
    constexpr std::size_t bytes = TiledMatrix<Value>::kSize * sizeof(Value);
    std::size_t met = 0;
    for (std::size_t k = 0; k < side_; ++k) {
      // Phase 1: the tile on the diagonal. All workers but the caller wait.
      if (interrupt != nullptr) {
        interrupt->poll(1 << 16);
        close(m_.tile(k, k));
        next_[0] = 0;
        next_[1] = 0;
      }
      if (leaves_after(++met, interrupt)) return;
      // Phase 2: row k and column k. The diagonal tile is closed, so one product with the old tile
      // suffices, in any order within the tile.
      const Value* middle = m_.tile(k, k);
      for (std::size_t x; (x = next_[0]++) < 2 * side_;) {
        const std::size_t other = x / 2;
        if (other == k) continue;
        Value* c = x % 2 == 0 ? m_.tile(k, other) : m_.tile(other, k);
        std::copy_n(c, bytes / sizeof(Value), old);
        if (x % 2 == 0)
          update(c, middle, old);
        else
          update(c, old, middle);
      }
      if (leaves_after(++met, interrupt)) return;
      // Phase 3: the other tiles, a row of tiles at a time.
      for (std::size_t i; last_ == kNever && (i = next_[1]++) < side_;) {
        if (interrupt != nullptr) interrupt->poll(1 << 16);
        if (i == k) continue;
        for (std::size_t j = 0; j < side_; ++j)
          if (j != k) update(m_.tile(i, j), m_.tile(i, k), m_.tile(k, j));
      }
      if (leaves_after(++met, interrupt)) return;
    }
  }

  // Passes barrier number `met`; returns whether the caller has left and this was the last barrier.
  bool leaves_after(std::size_t met, const Interrupt* interrupt) {
    meet_.arrive_and_wait();
    if (interrupt != nullptr) met_ = met;
    return met >= last_;
  }

  TiledMatrix<Value>& m_;
  const std::size_t side_;
  const int threads_;
  Barrier meet_;
  std::atomic<std::size_t> next_[2];
  static constexpr std::size_t kNever = ~std::size_t{0};
  std::size_t met_ = 0;                    // barriers that the caller has passed
  std::atomic<std::size_t> last_{kNever};  // all leave after this one
};

// Fills a matrix with the direct edges: far_value() without an edge, and `diagonal` on the
// diagonal.
template <class Value, class C>
void fill(TiledMatrix<Value>& matrix, const C& csr, Value diagonal) {
  const std::size_t side = matrix.side();
  std::fill_n(matrix.tile(0, 0), side * side * TiledMatrix<Value>::kSize, far_value<Value>());
  for (std::size_t v = 0; v < static_cast<std::size_t>(csr.n); ++v) {
    for (auto i = csr.indptr[v]; i < csr.indptr[v + 1]; ++i) {
      Value& entry = matrix.at(v, static_cast<std::size_t>(csr.indices[i]));
      entry = std::min(entry, static_cast<Value>(csr.weights[i]));
    }
    matrix.at(v, v) = diagonal;
  }
}

// Value holds twice every path of the graph (checked by the caller), so anything beyond half of
// far_value() uses a missing edge.
template <class Value, class C>
bool solve(const C& csr, typename C::Weight* out, int threads) {
  using Weight = typename C::Weight;
  constexpr Value far = far_value<Value>();
  const auto n = static_cast<std::size_t>(csr.n);
  TiledMatrix<Value> matrix(n);
  const std::size_t side = matrix.side();
  fill<Value>(matrix, csr, 0);
  const std::size_t workers = std::clamp<std::size_t>(side, 1, static_cast<std::size_t>(threads));
  Solver<Value>(matrix, static_cast<int>(workers)).run();
  bool overflow = false;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; j += kTile) {
      const Value* from = matrix.tile(i / kTile, j / kTile) + (i % kTile) * kTile;
      Weight* to = out + i * n + j;
      const std::size_t count = std::min<std::size_t>(kTile, n - j);
      if constexpr (std::is_floating_point_v<Value>) {
        std::copy_n(from, count, to);
      } else {
        constexpr auto top = static_cast<Value>(unreached<Weight>());
        constexpr auto bottom = static_cast<Value>(std::numeric_limits<Weight>::lowest());
        for (std::size_t c = 0; c < count; ++c) {
          const bool reached = from[c] < far / 2;
          if (sizeof(Value) > sizeof(Weight))
            overflow |= reached && (from[c] >= top || from[c] < bottom);
          to[c] = reached ? static_cast<Weight>(from[c]) : unreached<Weight>();
        }
      }
    }
  }
  return overflow;
}

bool run(GraphView& view, const Array& out, bool wide, int threads) {
  return view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    Weight* rows = checked<Weight>(out, n * n, "out");
    nb::gil_scoped_release release;
    if constexpr (std::is_same_v<Weight, int32_t>) {
      if (wide) return solve<int64_t>(csr, rows, threads);
    }
    return solve<Weight>(csr, rows, threads);
  });
}

// before[i][j]: the smallest vertex with a tight edge to j that is strictly nearer to i, or -1,
// from the finished distances of a graph without negative weights. Processes a row of tiles at a
// time, with intermediate vertices in descending order, so that the smallest is written last.
template <class Value, class C>
void tight(const C& csr, const typename C::Weight* distances, Index* before, int threads) {
  using Weight = typename C::Weight;
  const auto n = static_cast<std::size_t>(csr.n);
  TiledMatrix<Value> direct(n), closed(n);
  const std::size_t side = direct.side(), size = TiledMatrix<Value>::kSize;
  fill<Value>(direct, csr, far_value<Value>());
  std::fill_n(closed.tile(0, 0), side * side * size, far_value<Value>());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (distances[i * n + j] != unreached<Weight>())
        closed.at(i, j) = static_cast<Value>(distances[i * n + j]);
  spread(static_cast<int64_t>(side), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    alignas(64) Value wanted[TiledMatrix<Value>::kSize];
    alignas(64) int32_t found[TiledMatrix<Value>::kSize];
    const auto look = NEARFAR_PICK_ISA(tight_tile<Value>);
    for (int64_t taken; (taken = counter.take()) >= 0;) {
      const auto i = static_cast<std::size_t>(taken);
      for (std::size_t j = 0; j < side; ++j) {
        interrupt.poll(1 << 16);
        const Value* c = closed.tile(i, j);
        // no sum is negative, so unreached entries never match
        for (std::size_t p = 0; p < size; ++p)
          wanted[p] = c[p] == far_value<Value>() ? Value{-1} : c[p];
        std::fill_n(found, size, -1);
        for (std::size_t k = side; k-- > 0;)
          look(found, wanted, closed.tile(i, k), direct.tile(k, j),
               static_cast<int32_t>(k * kTile));
        const std::size_t rows = std::min<std::size_t>(kTile, n - i * kTile);
        const std::size_t columns = std::min<std::size_t>(kTile, n - j * kTile);
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t x = 0; x < columns; ++x)
            before[(i * kTile + r) * n + j * kTile + x] = static_cast<Index>(found[r * kTile + x]);
      }
    }
  });
}

void run_tight(GraphView& view, const Array& distances, const Array& before, bool wide,
               int threads) {
  view.visit([&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    const auto n = static_cast<std::size_t>(csr.n);
    const Weight* rows = checked<Weight>(distances, n * n, "distances");
    auto* found = checked<Index>(before, n * n, "before");
    nb::gil_scoped_release release;
    if constexpr (std::is_same_v<Weight, int32_t>) {
      if (wide) return tight<int64_t>(csr, rows, found, threads);
    }
    tight<Weight>(csr, rows, found, threads);
  });
}

}  // namespace
}  // namespace nearfar::floyd_warshall

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("floyd_warshall", &floyd_warshall::run, arg("view"), arg("out"), arg("wide") = false,
        arg("threads") = 1);
  m.def("floyd_warshall_predecessors", &floyd_warshall::run_tight, arg("view"), arg("distances"),
        arg("before"), arg("wide") = false, arg("threads") = 1);
}
}  // namespace nearfar
