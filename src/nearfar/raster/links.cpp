// Links back to the sources, the proof of a surface, allocation and paths, all from tight steps.
//
// A cell's link is its first step, in the order of the cells that steps come from, that is tight
// (d[u] + w == d[v]) and comes from a strictly nearer cell. Cells reached only by steps that add
// nothing get links in breadth-first levels, so the links form trees rooted at the sources. A
// surface is proven if every reached cell gets a link and no step lowers a cell.
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/graph/array_checks.hpp"
#include "cpu/threads/spread.hpp"
#include "raster/bind.hpp"

namespace nearfar {
namespace {

constexpr uint8_t kOpen = 253;        // may get its link in this level
constexpr std::size_t kPlateau = 16;  // a large plateau has one cell in this many, and kSmall
constexpr std::size_t kSmall = 4096;  // cells

template <class T>
bool tight(const RasterView<T>& view, const T* d, int64_t from, int64_t to, int k) {
  const SumOf<T> sum = candidate(d[from], view.step(from, to, k));
  return sum == static_cast<SumOf<T>>(d[to]) && d[from] < unreached<T>();
}

// Calls root(cell) for sources that no other source reaches earlier, up to a bound; returns one
// that is farther than its initial cost, or -1.
template <class T, class Root>
int64_t each_root(const T* d, const Ids& sources, const std::optional<ConstArray>& initial, T bound,
                  const Root& root) {
  const T* const first = initial ? static_cast<const T*>(initial->data()) : nullptr;
  int64_t late = -1;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const int64_t s = sources.data()[i];
    const T value = first == nullptr ? T{0} : first[i];
    if (value > bound) continue;
    if (d[s] > value) late = s;
    if (d[s] == value) root(s);
  }
  return late;
}

// Links among cells at one distance; returns the first cell that gets none, or -1.
template <class T>
int64_t link_plateaus(const RasterView<T>& view, const T* d, std::vector<int64_t> open,
                      uint8_t* links, Interrupt& interrupt) {
  std::erase_if(open, [&](int64_t v) { return links[v] != kNoLink; });  // sources
  const std::vector<int64_t> all = open;
  struct Found {
    int64_t cell;
    uint8_t link;
  };
  std::vector<Found> level;
  for (const int64_t v : open) links[v] = kOpen;
  while (!open.empty()) {
    level.clear();
    for (const int64_t v : open) {
      interrupt.poll(static_cast<uint64_t>(view.steps));
      const auto at = view.place(v);
      int k = 0;
      for (; k < view.steps; ++k) {
        const int64_t u = view.neighbour(at, k);
        if (u >= 0 && links[u] < kNoLink && links[u] != kOpen && tight(view, d, u, v, k)) break;
      }
      if (k < view.steps)
        level.push_back({v, static_cast<uint8_t>(k)});
      else
        links[v] = kNoLink;
    }
    for (const Found& f : level) links[f.cell] = f.link;
    open.clear();
    for (const Found& f : level) {
      const auto at = view.place(f.cell);
      for (int k = 0; k < view.steps; ++k) {
        const int64_t v = view.neighbour(at, k);
        if (v < 0 || links[v] != kNoLink || d[v] == unreached<T>()) continue;
        links[v] = kOpen;
        open.push_back(v);
      }
    }
  }
  int64_t first = view.shape.cells();
  for (const int64_t v : all)
    if (links[v] == kNoLink) first = std::min(first, v);
  return first == view.shape.cells() ? -1 : first;
}

// Returns (flaw, from, to) for the first error of a surface; Python has the sentences.
template <class T>
nb::object first_flaw(const RasterView<T>& view, const T* d, T limit) {
  for (int64_t v = 0; v < view.shape.cells(); ++v) {
    if (!(d[v] >= 0)) return nb::make_tuple("impossible", v, v);
    const auto at = view.place(v);
    for (int k = 0; k < view.steps; ++k) {
      const int64_t u = view.neighbour(at, k);
      if (u < 0 || !(d[u] >= 0 && d[u] < unreached<T>())) continue;
      const SumOf<T> sum = candidate(d[u], view.step(u, v, k));
      if (improves(sum, d[v]) && !(sum > static_cast<SumOf<T>>(limit)))
        return nb::make_tuple("improves", u, v);
    }
  }
  return nb::none();
}

// Calls f(view, distances) for a raster and its distances.
template <class F>
void with_surface(const nb::dict& raster, const ConstArray& distances, F&& f) {
  with_weight_type(distances.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const RasterView<T> view = raster_view<T>(raster);
    if (distances.size() != static_cast<std::size_t>(view.shape.cells()))
      throw nb::type_error("distances: wrong size");
    f(view, static_cast<const T*>(distances.data()));
  });
}

nb::object raster_links(const nb::dict& raster, ConstArray distances, Ids sources,
                        std::optional<ConstArray> initial, std::optional<double> limit, Array out,
                        int threads) {
  nb::object flaw = nb::none();
  with_surface(raster, distances, [&]<class T>(const RasterView<T>& view, const T* d) {
    uint8_t* const links = checked<uint8_t>(out, distances.size(), "links");
    const T bound = limit_as<T>(limit);
    uint32_t found = 0;
    int64_t lost = -1, late = -1;
    {
      nb::gil_scoped_release release;
      const TileGrid grid(view.shape);
      std::vector<int64_t> open;
      std::mutex mutex;
      spread(grid.tiles(), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
        Tile<T> tile(view, grid);
        std::vector<int64_t> mine;
        uint32_t seen = 0;
        for (int64_t i = counter.take(); i >= 0; i = counter.take()) {
          interrupt.poll(static_cast<uint64_t>(grid.side * grid.side * grid.depth));
          tile.load(grid.place(i, view.shape), d);
          seen |= tile.link(links, bound, [&](int64_t cell) { mine.push_back(cell); });
        }
        const std::lock_guard lock(mutex);
        found |= seen;
        open.insert(open.end(), mine.begin(), mine.end());
      });
      late = each_root(d, sources, initial, bound, [&](int64_t s) { links[s] = kRootLink; });
      Interrupt interrupt;
      lost = link_plateaus(view, d, std::move(open), links, interrupt);
    }
    if (late >= 0)
      flaw = nb::make_tuple("source", late, late);
    else if (found & (kImproves | kImpossible))
      flaw = first_flaw(view, d, bound);
    else if (lost >= 0)
      flaw = nb::make_tuple("unlinked", lost, lost);
  });
  return flaw;
}

// Writes the row of the source to which the links of each cell lead, or -1.
void raster_allocation(const nb::tuple& extents, ConstArray offsets, ConstArray links_given,
                       Ids sources, Array out, int threads) {
  RasterView<int32_t> view{};
  view.shape = {nb::cast<int64_t>(extents[0]), nb::cast<int64_t>(extents[1]),
                nb::cast<int64_t>(extents[2])};
  const auto cells = static_cast<std::size_t>(view.shape.cells());
  view.steps = static_cast<int>(offsets.size() / 3);
  std::memcpy(view.offset, offsets.data(), offsets.size());
  if (links_given.size() != cells) throw nb::type_error("links: wrong size");
  const auto* const links = static_cast<const uint8_t*>(links_given.data());
  int32_t* const rows = checked<int32_t>(out, cells, "allocation");
  nb::gil_scoped_release release;
  constexpr int32_t kUnknown = -2;
  std::fill_n(rows, cells, kUnknown);
  for (std::size_t i = sources.size(); i-- > 0;)  // the first of equal sources
    if (links[sources.data()[i]] == kRootLink) rows[sources.data()[i]] = static_cast<int32_t>(i);
  view.measure_steps();
  // Threads may follow the same links: all write the same row.
  in_ranges(cells, threads, [&](std::size_t, std::size_t from, std::size_t to) {
    for (std::size_t start = from; start < to; ++start) {
      int64_t v = static_cast<int64_t>(start);
      int32_t row = load_shared(rows + v);
      while (row == kUnknown && links[v] < kMostSteps) {
        v += view.away[links[v]];
        row = load_shared(rows + v);
      }
      if (row == kUnknown) row = -1;
      for (v = static_cast<int64_t>(start); load_shared(rows + v) == kUnknown;) {
        store_shared(rows + v, row);
        if (links[v] >= kMostSteps) break;
        v += view.away[links[v]];
      }
    }
  });
}

// Returns the cells of the path along the links from its source to `cell`; empty if it is longer
// than the number of cells.
Owned<int64_t> raster_path(ConstArray away, ConstArray links_given, int64_t cell) {
  if (away.dtype() != nb::dtype<int64_t>() || links_given.dtype() != nb::dtype<uint8_t>())
    throw nb::type_error("away: int64, links: uint8");
  const auto* const steps = static_cast<const int64_t*>(away.data());
  const auto* const links = static_cast<const uint8_t*>(links_given.data());
  std::vector<int64_t> path{cell};
  while (links[cell] < away.size() && path.size() <= links_given.size())
    path.push_back(cell += steps[links[cell]]);
  if (path.size() > links_given.size()) path.clear();
  std::reverse(path.begin(), path.end());
  return as_numpy(std::move(path));
}

// Appends the way from a cell along steps that add nothing to the nearest cell that has a link of
// another kind, as link_plateaus() would; returns false after looking at too many cells.
template <class T, class Linked>
bool cross_plateau(const RasterView<T>& view, const T* d, std::size_t most, const Linked& linked,
                   std::vector<int64_t>& path) {
  std::vector<std::vector<int64_t>> levels{{path.back()}};
  std::unordered_map<int64_t, std::size_t> level_of{{path.back(), 0}};
  // Calls f(u) for cells from which a step leads to v and adds nothing, until it returns true.
  const auto before = [&](int64_t v, const auto& f) {
    const auto at = view.place(v);
    for (int k = 0; k < view.steps; ++k) {
      const int64_t u = view.neighbour(at, k);
      if (u >= 0 && d[u] == d[v] && tight(view, d, u, v, k) && f(u)) return true;
    }
    return false;
  };
  std::unordered_set<int64_t> ways;  // cells on shortest ways, found from their ends
  while (ways.empty()) {
    std::vector<int64_t> next;
    for (const int64_t v : levels.back())
      before(v, [&](int64_t u) {
        if (level_of.emplace(u, levels.size()).second) next.push_back(u);
        return false;
      });
    if (next.empty() || level_of.size() > most) return false;
    for (const int64_t v : next)
      if (linked(v)) ways.insert(v);
    levels.push_back(std::move(next));
  }
  const auto closer = [&](int64_t u, std::size_t level) {
    return ways.contains(u) && level_of.at(u) == level + 1;
  };
  for (std::size_t level = levels.size() - 1; level-- > 1;)
    for (const int64_t v : levels[level])
      if (before(v, [&](int64_t u) { return closer(u, level); })) ways.insert(v);
  for (std::size_t level = 0; level + 1 < levels.size(); ++level)
    before(path.back(), [&](int64_t u) {
      const bool found = closer(u, level);
      if (found) path.push_back(u);
      return found;
    });
  return true;
}

// Returns the cells of the path along the links from its source to `cell`, without the links of
// other cells; empty if it crosses a large plateau.
Owned<int64_t> raster_trace(const nb::dict& raster, ConstArray distances, Ids sources,
                            std::optional<ConstArray> initial, std::optional<double> limit,
                            int64_t cell) {
  std::vector<int64_t> path{cell};
  with_surface(raster, distances, [&]<class T>(const RasterView<T>& view, const T* d) {
    std::unordered_set<int64_t> roots;
    each_root(d, sources, initial, limit_as<T>(limit), [&](int64_t s) { roots.insert(s); });
    nb::gil_scoped_release release;
    const auto nearer = [&](int64_t v) {  // the first nearer cell with a tight step to v, or -1
      const auto at = view.place(v);
      for (int k = 0; k < view.steps; ++k) {
        const int64_t u = view.neighbour(at, k);
        if (u >= 0 && d[u] < d[v] && tight(view, d, u, v, k)) return u;
      }
      return int64_t{-1};
    };
    const auto linked = [&](int64_t v) { return roots.contains(v) || nearer(v) >= 0; };
    while (!roots.contains(path.back())) {
      const int64_t u = nearer(path.back());
      if (u >= 0)
        path.push_back(u);
      else if (!cross_plateau(view, d, kSmall + distances.size() / kPlateau, linked, path))
        return path.clear();
    }
  });
  std::reverse(path.begin(), path.end());
  return as_numpy(std::move(path));
}

// Returns the cost of a path, added as by a search but in 64 bits for integers, and the number of
// its leading cells that are neighbours.
nb::tuple raster_path_cost(const nb::dict& raster, Ids path) {
  nb::tuple result;
  with_weight_type(nb::cast<ConstArray>(raster["cost"]).dtype(), [&](auto tag) {
    using T = decltype(tag);
    using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    const RasterView<T> view = raster_view<T>(raster);
    const int64_t* const cells = path.data();
    Sum total = 0;
    std::size_t i = 0;
    for (; i < path.size(); ++i) {
      if (i > 0) {
        int k = 0;
        while (k < view.steps && view.neighbour(cells[i], k) != cells[i - 1]) ++k;
        if (k == view.steps) break;
        total = lesser<Sum>(total, view.step(cells[i - 1], cells[i], k), unreached<Sum>());
      }
      if (view.passable(cells[i]) == unreached<T>()) total = unreached<Sum>();
    }
    result = nb::make_tuple(total, i);
  });
  return result;
}

// Returns (barriers, first negative cell or -1, least passable cost, greatest passable cost).
nb::tuple raster_scan(ConstArray cost, std::optional<ConstArray> elevation, nb::object no_data,
                      int threads) {
  nb::tuple result;
  with_weight_type(cost.dtype(), [&](auto tag) {
    using T = decltype(tag);
    // Non-negative costs have the order of their bits.
    using Bits = std::make_signed_t<BitsOf<T>>;
    constexpr auto kBarrier = std::bit_cast<Bits>(unreached<T>());
    struct Part {
      int64_t barriers = 0, negative = -1;
      Bits least = std::bit_cast<Bits>(std::numeric_limits<T>::max()), most = 0;
    };
    RasterView<T> view{};
    view.cost = static_cast<const T*>(cost.data());
    view.elevation = elevation ? static_cast<const T*>(elevation->data()) : nullptr;
    view.has_no_data = !no_data.is_none();
    if (view.has_no_data) view.no_data = nb::cast<T>(no_data);
    std::vector<Part> parts(static_cast<std::size_t>(std::max(1, threads)));
    const auto scan = [&](const auto& passable) {
      nb::gil_scoped_release release;
      in_ranges(cost.size(), threads, [&](std::size_t range, std::size_t from, std::size_t to) {
        Part p;
        constexpr std::size_t kBlock = 1024;
        Bits block[kBlock];
        for (; from < to; from += kBlock) {
          const std::size_t size = std::min(kBlock, to - from);
          Bits signs = 0;
          for (std::size_t i = 0; i < size; ++i) {
            block[i] = std::bit_cast<Bits>(passable(from + i));
            signs |= std::bit_cast<Bits>(view.cost[from + i]);
          }
          Bits barriers = 0;
          for (std::size_t i = 0; i < size; ++i) {
            barriers += block[i] >= kBarrier;
            p.least = std::min(p.least, block[i]);
            p.most = std::max(p.most, block[i] < kBarrier ? block[i] : Bits{0});
          }
          p.barriers += barriers;
          for (std::size_t i = 0; signs < 0 && p.negative < 0 && i < size; ++i)
            if (view.cost[from + i] < 0 &&
                !(view.has_no_data && view.cost[from + i] == view.no_data))
              p.negative = static_cast<int64_t>(from + i);
        }
        parts[range] = p;
      });
    };
    if (view.has_no_data || view.elevation != nullptr)
      scan([&](std::size_t i) { return view.passable(static_cast<int64_t>(i)); });
    else
      scan([&](std::size_t i) { return view.cost[i] >= 0 ? view.cost[i] : unreached<T>(); });
    Part all;
    for (const Part& p : parts) {
      all.barriers += p.barriers;
      if (all.negative < 0) all.negative = p.negative;
      all.least = std::min(all.least, p.least), all.most = std::max(all.most, p.most);
    }
    result = nb::make_tuple(all.barriers, all.negative, std::bit_cast<T>(all.least),
                            std::bit_cast<T>(all.most));
  });
  return result;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("raster_links", &raster_links, nb::arg("raster"), nb::arg("distances"), nb::arg("sources"),
        nb::arg("initial").none(), nb::arg("limit").none(), nb::arg("links"), nb::arg("threads"));
  m.def("raster_allocation", &raster_allocation, nb::arg("shape"), nb::arg("offsets"),
        nb::arg("links"), nb::arg("sources"), nb::arg("allocation"), nb::arg("threads"));
  m.def("raster_path", &raster_path, nb::arg("away"), nb::arg("links"), nb::arg("cell"));
  m.def("raster_trace", &raster_trace, nb::arg("raster"), nb::arg("distances"), nb::arg("sources"),
        nb::arg("initial").none(), nb::arg("limit").none(), nb::arg("cell"));
  m.def("raster_path_cost", &raster_path_cost, nb::arg("raster"), nb::arg("path"));
  m.def("raster_scan", &raster_scan, nb::arg("cost"), nb::arg("elevation").none(),
        nb::arg("no_data").none(), nb::arg("threads"));
}

}  // namespace nearfar
