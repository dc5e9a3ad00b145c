// Distances over a raster: tiles are visited in order of the least pending distance at their
// border.
//
// A tile is solved to its fixed point for the borders of its neighbours (tile.hpp) and then wakes
// those whose border fell. Workers take the waiting tile with the least such distance, so the wave
// crosses the raster nearly in order of distance, and a tile is visited a few times. Every order
// ends at the same fixed point d[v] = min(d[u] + w(u, v)), because rounded addition is monotone:
// the result has the same bits for any number of workers.
//
// A tile belongs to one worker at a time; neighbours read its border while it is stored, so border
// cells are relaxed atomics. A worker that read too early is woken afterwards.
//
// Memory order. The lock of the waiting tiles orders everything else: a worker stores a tile, then
// takes the lock and wakes the neighbours whose border fell. A worker that takes one of these takes
// the lock later, so it loads the new border. The inside of a tile passes between workers by the
// same lock. A border read while it is stored has the old or the new distance of each cell; both
// are lengths of existing paths, so no distance becomes too small.
#include "cpu/search/search.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/worker_pool.hpp"
#include "raster/bind.hpp"
#include "raster/cells.hpp"
#include "raster/in_order.hpp"
#include "raster/tile.hpp"

namespace nearfar {
namespace {

template <class T>
class WaitingTiles {
 public:
  explicit WaitingTiles(const TileGrid& grid)
      : pending_(static_cast<std::size_t>(grid.tiles()), unreached<T>()),
        sides_(static_cast<std::size_t>(grid.tiles()), 0),
        givers_(static_cast<std::size_t>(grid.tiles())),
        busy_(static_cast<std::size_t>(grid.tiles()), 0),
        seen_(static_cast<std::size_t>(grid.tiles()), 0) {}

  // Returns the next tile for an idle worker, or -1 at the end. `bound` returns the greatest
  // distance that still matters.
  template <class Bound, class Poll>
  int64_t take(std::unique_lock<std::mutex>& lock, const Bound& bound, const Poll& poll) {
    for (;;) {
      if (stopped_) return -1;
      const int64_t tile = pop(bound);
      if (tile >= 0) {
        ++active_;
        return tile;
      }
      if (active_ == 0) {
        changed_.notify_all();
        return -1;
      }
      ++asleep_;
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      --asleep_;
      lock.unlock();
      poll();
      lock.lock();
    }
  }

  // Wakes a tile. `side` is the number of the waking tile as seen from that tile.
  void wake(int64_t tile, T key, int side, const Givers& givers) {
    sides_[static_cast<std::size_t>(tile)] |= uint32_t{1} << side;
    givers_[static_cast<std::size_t>(tile)].add(givers);
    T& pending = pending_[static_cast<std::size_t>(tile)];
    if (!(key < pending)) return;
    pending = key;
    if (!busy_[static_cast<std::size_t>(tile)]) push(tile, key);
  }

  void finish(int64_t tile) {
    --active_;
    busy_[static_cast<std::size_t>(tile)] = 0;
    const T pending = pending_[static_cast<std::size_t>(tile)];
    if (pending < unreached<T>()) push(tile, pending);
    if (asleep_ > 0 && heap_.size() > 1) changed_.notify_all();
    many_ = heap_.size() > wide_ ? many_ + 1 : 0;
    if (many_ > patience_) stop();
  }

  // Stop after so many visits in a row during which more tiles than that waited.
  void stop_when(std::size_t wide, uint64_t patience) { wide_ = wide, patience_ = patience; }

  bool waits(int64_t tile) const {
    return pending_[static_cast<std::size_t>(tile)] < unreached<T>();
  }

  void stop() {
    stopped_ = true;
    changed_.notify_all();
  }

  // Whether a tile was taken for the first time; after take().
  bool is_first(int64_t tile) {
    const bool first = std::exchange(seen_[static_cast<std::size_t>(tile)], 1) == 0;
    ++visits_;
    tiles_ += first;
    return first;
  }

  // Whether tiles are visited so often that one worker, starting over cell by cell, is faster.
  bool is_rough(int workers) const {
    const auto tiles = static_cast<std::size_t>(tiles_), all = seen_.size();
    return workers <= 2 && tiles >= std::max(kEnough, all / 64) && 2 * tiles <= all &&
           static_cast<double>(visits_) > kOften * (workers + 1) * tiles_;
  }

  // Returns the sides and cells that woke a tile since the last call; after take().
  uint32_t sides_of(int64_t tile, Givers& givers) {
    givers = givers_[static_cast<std::size_t>(tile)];
    givers_[static_cast<std::size_t>(tile)].count = 0;
    return std::exchange(sides_[static_cast<std::size_t>(tile)], 0);
  }

  std::mutex mutex;

 private:
  struct Entry {
    T key;
    int64_t tile;
    bool operator<(const Entry& o) const { return key > o.key; }
  };

  void push(int64_t tile, T key) {
    heap_.push_back({key, tile});
    std::push_heap(heap_.begin(), heap_.end());
  }

  template <class Bound>
  int64_t pop(const Bound& bound) {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Entry top = heap_.back();
      heap_.pop_back();
      const auto at = static_cast<std::size_t>(top.tile);
      if (busy_[at] || top.key != pending_[at]) continue;  // woken again meanwhile
      if (top.key > bound()) {                             // no later tile matters either
        heap_.clear();
        return -1;
      }
      pending_[at] = unreached<T>();
      busy_[at] = 1;
      return top.tile;
    }
    return -1;
  }

  std::condition_variable changed_;
  std::vector<Entry> heap_;
  std::vector<T> pending_;
  std::vector<uint32_t> sides_;
  std::vector<Givers> givers_;
  std::vector<uint8_t> busy_, seen_;
  static constexpr double kOften = 1.5;  // benchmarks/raster.py
  static constexpr std::size_t kEnough = 8;
  int active_ = 0, asleep_ = 0, tiles_ = 0;
  uint64_t visits_ = 0, many_ = 0, patience_ = ~uint64_t{0};
  std::size_t wide_ = ~std::size_t{0};
  bool stopped_ = false;
};

// A search that goes on where another one stopped, and stops itself where many tiles wait.
struct Relay {
  std::size_t wide;
  uint64_t patience;
  std::vector<int64_t> left;  // reached cells of tiles that wait, and around them
};

// Appends the reached cells of a tile and around it.
template <class T>
void append_reached(const RasterView<T>& view, const TilePlace& p, const T* distances,
                    std::vector<int64_t>& cells) {
  const RasterShape& shape = view.shape;
  const int64_t flat = view.flat() ? 0 : 1, halo = view.steps == 16 ? 2 : 1;
  for (int64_t z = p.plane - flat; z < p.plane + p.planes + flat; ++z)
    for (int64_t y = p.row - halo; y < p.row + p.rows + halo; ++y)
      for (int64_t x = p.column - halo; x < p.column + p.columns + halo; ++x) {
        if (z < 0 || z >= shape.planes || y < 0 || y >= shape.rows || x < 0 || x >= shape.columns)
          continue;
        const int64_t cell = (z * shape.rows + y) * shape.columns + x;
        if (distances[cell] < unreached<T>()) cells.push_back(cell);
      }
}

// Cells that are settled in place before sweeps take over.
constexpr uint64_t kMostInPlace = 512;

template <class T>
TileCounts search(const RasterView<T>& view, T* distances, const int64_t* sources,
                  std::size_t n_sources, T limit, const int64_t* targets, std::size_t n_targets,
                  uint64_t* reached_tiles, int threads, bool by_tiles = false,
                  Relay* relay = nullptr) {
  const TileGrid grid(view.shape);
  WaitingTiles<T> waiting(grid);
  if (relay != nullptr) waiting.stop_when(relay->wide, relay->patience);
  const RasterShape& shape = view.shape;
  for (std::size_t i = 0; i < n_sources; ++i) {
    const int64_t s = sources[i], in_layer = s % (shape.rows * shape.columns);
    const int64_t z = s / (shape.rows * shape.columns), y = in_layer / shape.columns;
    const int64_t x = in_layer % shape.columns, own = grid.containing(z, y, x);
    Givers giver;
    giver.add(s);
    waiting.wake(own, distances[s], 13, giver);
    for (int k = 0; k < view.steps; ++k) {
      const int64_t to = view.neighbour(s, k);
      if (to < 0) continue;
      const int64_t tz = z + view.offset[k][0], ty = y + view.offset[k][1];
      const int64_t tx = x + view.offset[k][2], other = grid.containing(tz, ty, tx);
      if (other != own)
        waiting.wake(other, distances[s], grid.side_towards(tz, ty, tx, z, y, x), giver);
    }
  }
  std::atomic<bool> given_up{false};
  std::exception_ptr failure;
  TileCounts total;
  // A wave keeps few tiles busy at once; more workers would only sleep and wake.
  const int workers = static_cast<int>(std::clamp<int64_t>(grid.tiles() / 8, 1, threads));
  std::optional<InOrder<T>> in_order;  // used once tiles are visited often
  bool goes_in_order = false;
  const bool from_zero =
      std::all_of(sources, sources + n_sources, [&](int64_t s) { return distances[s] == 0; });
  // Targets by tile, with distances that the worker of the tile writes under the lock.
  std::vector<std::tuple<int64_t, int64_t, T>> ends;
  for (std::size_t i = 0; i < n_targets; ++i) {
    const int64_t cell = targets[i], in_layer = cell % (shape.rows * shape.columns);
    const int64_t tile = grid.containing(cell / (shape.rows * shape.columns),
                                         in_layer / shape.columns, in_layer % shape.columns);
    ends.emplace_back(tile, cell, distances[cell]);
  }
  std::sort(ends.begin(), ends.end());
  const auto bound = [&]() -> T {
    if (n_targets == 0) return limit;
    T most = 0;
    for (const auto& [tile, cell, distance] : ends) most = std::max(most, distance);
    return std::min(most, limit);
  };

  const auto work = [&](Interrupt& interrupt) {
    Tile<T> tile(view, grid);
    Cells<T> cells(view, grid);
    Given<T> given;
    Givers givers;
    const auto poll = [&] { interrupt.poll(uint64_t{1} << 16); };
    std::unique_lock<std::mutex> lock(waiting.mutex);
    for (;;) {
      const int64_t taken = waiting.take(lock, bound, poll);
      if (taken < 0) break;
      const uint32_t sides = waiting.sides_of(taken, givers);
      if (waiting.is_first(taken)) store_shared(reached_tiles, *reached_tiles + 1);
      if (from_zero && !by_tiles && !in_order && waiting.is_rough(workers)) {
        in_order.emplace(view);
        goes_in_order = in_order->prepare();
        if (goes_in_order) {
          waiting.stop();
          break;
        }
      }
      lock.unlock();
      ++tile.counts.visits;
      given.clear();
      const TilePlace place = grid.place(taken, shape);
      const bool few = givers.noted();
      tile.counts.in_place += few;
      const uint64_t before = tile.counts.pops;
      if (!few || !cells.relax(place, distances, givers, kMostInPlace, given, tile.counts)) {
        interrupt.poll(static_cast<uint64_t>(grid.side * grid.side * grid.depth));
        tile.load(place, distances);
        if (few)
          tile.sweep();
        else
          tile.relax(sides, (sides >> 13 & 1) != 0);
        tile.store(distances, given);
      } else {
        interrupt.poll(64 + tile.counts.pops - before);
      }
      lock.lock();
      for (auto end =
               std::lower_bound(ends.begin(), ends.end(), std::tuple{taken, int64_t{0}, T{0}});
           end != ends.end() && std::get<0>(*end) == taken; ++end)
        std::get<2>(*end) = distances[std::get<1>(*end)];
      for (int side = 0; side < 27; ++side) {
        // Cells outside the raster receive nothing.
        if (!(given.least[side] < unreached<T>())) continue;
        const int64_t away = ((side / 9 - 1) * grid.y + side / 3 % 3 - 1) * grid.x + side % 3 - 1;
        waiting.wake(taken + away, given.least[side], 26 - side, given.givers[side]);
      }
      waiting.finish(taken);
    }
    total += tile.counts;
  };
  const auto guarded = [&](Interrupt interrupt) {
    try {
      work(interrupt);
    } catch (const GivenUp&) {
    } catch (...) {
      given_up = true;
      const std::lock_guard lock(waiting.mutex);
      if (!failure) failure = std::current_exception();
      waiting.stop();
    }
  };
  WorkerPool::shared().share(
      workers, [&](int worker) { guarded(worker == 0 ? Interrupt() : Interrupt(given_up)); });
  if (failure) std::rethrow_exception(failure);
  for (int64_t tile = 0; relay != nullptr && tile < grid.tiles(); ++tile)
    if (waiting.waits(tile)) append_reached(view, grid.place(tile, shape), distances, relay->left);
  if (goes_in_order &&
      !in_order->run(distances, sources, n_sources, limit, targets, n_targets, total)) {
    start(distances, view.shape.cells(), sources, n_sources);
    total += search(view, distances, sources, n_sources, limit, targets, n_targets, reached_tiles,
                    threads, true);
  }
  return total;
}

// Marks distances above a bound as unreached, because the search may have continued beyond it.
template <class T>
void cut(T* distances, std::size_t size, T bound, int threads) {
  in_ranges(size, threads, [&](std::size_t, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      distances[i] = distances[i] > bound ? unreached<T>() : distances[i];
  });
}

Fields raster_search(const nb::dict& raster, Array distances, Ids sources,
                     std::optional<ConstArray> initial, std::optional<double> limit, Ids targets,
                     Array reached_tiles, int threads) {
  nb::dict out;
  auto* const reached = checked<uint64_t>(reached_tiles, 1, "reached_tiles");
  with_weight_type(distances.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const RasterView<T> view = raster_view<T>(raster);
    const auto cells = static_cast<std::size_t>(view.shape.cells());
    T* const d = checked<T>(distances, cells, "distances");
    for (const Ids* ids : {&sources, &targets})
      for (std::size_t i = 0; i < ids->size(); ++i)
        if (ids->data()[i] < 0 || static_cast<std::size_t>(ids->data()[i]) >= cells)
          throw nb::index_error("a cell is outside the raster");
    const T* const first = initial ? static_cast<const T*>(initial->data()) : nullptr;
    if (initial && (initial->dtype() != nb::dtype<T>() || initial->size() != sources.size()))
      throw nb::type_error("initial: wrong dtype or size");
    TileCounts counts;
    {
      nb::gil_scoped_release release;
      in_ranges(cells, threads, [&](std::size_t, std::size_t from, std::size_t to) {
        std::fill(d + from, d + to, unreached<T>());
      });
      for (std::size_t i = 0; i < sources.size(); ++i) {
        T& here = d[sources.data()[i]];
        here = std::min(here, first == nullptr ? T{0} : first[i]);
      }
      counts = search<T>(view, d, sources.data(), sources.size(), limit_as<T>(limit),
                         targets.data(), targets.size(), reached, threads);
      T bound = limit_as<T>(limit), farthest = 0;
      for (std::size_t i = 0; i < targets.size(); ++i)
        farthest = std::max(farthest, d[targets.data()[i]]);
      if (targets.size() > 0) bound = std::min(bound, farthest);
      if (bound < unreached<T>()) cut(d, cells, bound, threads);
    }
    out["tile_visits"] = counts.visits;
    out["idle_visits"] = counts.idle;
    out["visits_in_place"] = counts.in_place;
    out["sweeps"] = counts.sweeps;
    out["heap_pops"] = counts.pops;
    const TileGrid grid(view.shape);
    out["tiles"] = grid.tiles();
  });
  return out;
}

// Goes on from distances of which those of some cells are new.
nb::tuple raster_resume(const nb::dict& raster, Array distances, Ids cells,
                        std::optional<double> limit, uint64_t wide, uint64_t patience,
                        int threads) {
  TileCounts counts;
  Relay relay{wide, patience, {}};
  with_weight_type(distances.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const RasterView<T> view = raster_view<T>(raster);
    T* const d = checked<T>(distances, static_cast<std::size_t>(view.shape.cells()), "distances");
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (cells.data()[i] < 0 || cells.data()[i] >= view.shape.cells())
        throw nb::index_error("a cell is outside the raster");
    uint64_t reached_tiles = 0;
    nb::gil_scoped_release release;
    counts = search<T>(view, d, cells.data(), cells.size(), limit_as<T>(limit), nullptr, 0,
                       &reached_tiles, threads, true, &relay);
  });
  return nb::make_tuple(as_numpy(std::move(relay.left)), counts.visits);
}

int64_t raster_tiles(const nb::tuple& shape) {
  const RasterShape extents{nb::cast<int64_t>(shape[0]), nb::cast<int64_t>(shape[1]),
                            nb::cast<int64_t>(shape[2])};
  return TileGrid(extents).tiles();
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("raster_tiles", &raster_tiles, nb::arg("shape"));
  m.def("raster_search", &raster_search, nb::arg("raster"), nb::arg("distances"),
        nb::arg("sources"), nb::arg("initial").none(), nb::arg("limit").none(), nb::arg("targets"),
        nb::arg("reached_tiles"), nb::arg("threads"));
  m.def("raster_resume", &raster_resume, nb::arg("raster"), nb::arg("distances"), nb::arg("cells"),
        nb::arg("limit").none(), nb::arg("wide"), nb::arg("patience"), nb::arg("threads"));
}

}  // namespace nearfar
