// One tile of a raster in private memory: load it with its halo, relax it, store it.
//
// A tile is relaxed by sweeps while they lower many cells. When a full round lowers few (a winding
// passage, or the last corrections), a heap finishes. The counts decide, not the kind of raster.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "cpu/heaps/dary_heap.hpp"
#include "raster/view.hpp"

namespace nearfar {

template <class T>
class Tile {
 public:
  TileCounts counts;

  Tile(const RasterView<T>& view, const TileGrid& grid)
      : view_(view),
        side_(grid.side),
        depth_(grid.depth),
        halo_(view.steps == 16 ? 2 : 1),
        deep_(grid.depth > 1 ? 1 : 0),
        row_(side_ + kPad),
        plane_(row_ * (side_ + 2 * halo_)),
        heap_(0) {
    const std::size_t size = static_cast<std::size_t>(plane_) * (depth_ + 2 * deep_) + kPad;
    const int arrays = view.rule == StepRule::slope ? 6 : 4;
    memory_.resize(size * arrays + kPad, unreached<T>());
    T* part = memory_.data();
    while (reinterpret_cast<uintptr_t>(part) % 64 != 0) ++part;
    for (auto& arrays_of : {&plain_, &turned_}) {
      arrays_of->d = part, part += size;
      arrays_of->cost = part, part += size;
      arrays_of->elevation = view.rule == StepRule::slope ? part : nullptr;
      if (view.rule == StepRule::slope) part += size;
    }
    first_ = deep_ * plane_ + halo_ * row_ + kPad;
    flags_.resize(static_cast<std::size_t>(side_));
    towards_.assign(size, kInside);
    for (int z = -deep_; z < depth_ + deep_; ++z)
      for (int y = -halo_; y < side_ + halo_; ++y)
        for (int x = -halo_; x < side_ + halo_; ++x) {
          const auto part_of = [](int i, int extent) { return i < 0 ? 0 : i < extent ? 1 : 2; };
          towards_[static_cast<std::size_t>(first_ + z * plane_ + y * row_ + x)] =
              static_cast<uint8_t>(part_of(z, depth_) * 9 + part_of(y, side_) * 3 +
                                   part_of(x, side_));
        }
    make_sweeps();
  }

  void load(const TilePlace& p, const T* distances) {
    place_ = p;
    const RasterShape& shape = view_.shape;
    for (int z = -deep_; z < depth_ + deep_; ++z)
      for (int y = -halo_; y < side_ + halo_; ++y) {
        const int at = first_ + z * plane_ + y * row_ - halo_;
        T* const d = plain_.d + at;
        T* const c = const_cast<T*>(plain_.cost) + at;
        T* const h = plain_.elevation == nullptr ? nullptr : const_cast<T*>(plain_.elevation) + at;
        const int64_t gz = p.plane + z, gy = p.row + y;
        if (gz < 0 || gz >= shape.planes || gy < 0 || gy >= shape.rows) {
          fill_outside(d, 0, 0, unreached<T>());
          fill_outside(c, 0, 0, unreached<T>());
          if (h != nullptr) fill_outside(h, 0, 0, T{0});
          continue;
        }
        const int64_t line = (gz * shape.rows + gy) * shape.columns + p.column - halo_;
        if (gy + kAhead < shape.rows && y + kAhead < side_ + halo_) {
          const int64_t ahead = line + kAhead * shape.columns;
          for (int x = 0; x < side_ + 2 * halo_; x += 64 / static_cast<int>(sizeof(T))) {
            __builtin_prefetch(distances + ahead + x);
            __builtin_prefetch(view_.cost + ahead + x);
          }
        }
        const int from = p.column == 0 ? halo_ : 0;
        const int to = static_cast<int>(
            std::min<int64_t>(side_ + 2 * halo_, shape.columns - p.column + halo_));
        fill_outside(d, from, to, unreached<T>());
        fill_outside(c, from, to, unreached<T>());
        const auto bytes = static_cast<std::size_t>(to - from) * sizeof(T);
        if (view_.as_given()) {
          std::memcpy(c + from, view_.cost + line + from, bytes);
        } else {
          for (int x = from; x < to; ++x) c[x] = view_.passable(line + x);
        }
        if (h != nullptr) {
          fill_outside(h, from, to, T{0});
          for (int x = from; x < to; ++x) h[x] = finite_or_zero(view_.elevation[line + x]);
        }
        const bool mine = z >= 0 && z < depth_ && y >= 0 && y < side_;
        const int begin = mine ? halo_ : to, end = mine ? std::min(to, halo_ + side_) : to;
        for (int x = from; x < begin; ++x) d[x] = load_shared(distances + line + x);
        if (mine)
          std::memcpy(d + begin, distances + line + begin,
                      static_cast<std::size_t>(end - begin) * sizeof(T));
        for (int x = end; x < to; ++x) d[x] = load_shared(distances + line + x);
      }
  }

  // Relaxes the tile to its fixed point for the loaded halo. At first only cells next to the tiles
  // that woke it (bits of `sides`) can be lowered, or any cell if it holds a source.
  void relax(uint32_t sides, bool source) {
    lowered_.clear();
    if (source)
      pull_all();
    else
      pull_border(sides);
    if (lowered_.empty())
      ++counts.idle;
    else if (lowered_.size() <= kFewSeeds)
      run_heap();
    else
      sweep();
  }

  void sweep() {
    bool turned = false;
    for (;;) {
      uint32_t lowered = run(forward_) + run(backward_);
      if (!forward_.sweep.scans && (lowered > 0 || !turned)) {
        turn(plain_, turned_, !turned);
        turned = true;
        const uint32_t across = run(across_forward_) + run(across_backward_);
        if (across > 0) turn_back();
        lowered += across;
      }
      if (lowered == 0) return;
      if (lowered <= kFewLowered) break;
    }
    lowered_.clear();
    pull_all();
    run_heap();
  }

  // Stores lowered cells, and records the neighbouring tiles that they lower.
  void store(T* distances, Given<T>& given) {
    const TilePlace& p = place_;
    for (int z = 0; z < p.planes; ++z)
      for (int y = 0; y < p.rows; ++y) {
        const int at = first_ + z * plane_ + y * row_;
        const T* const d = plain_.d + at;
        T* const out = distances +
                       ((p.plane + z) * view_.shape.rows + p.row + y) * view_.shape.columns +
                       p.column;
        if (std::memcmp(d, out, static_cast<std::size_t>(p.columns) * sizeof(T)) == 0) continue;
        const int line = part(z, deep_, depth_) * 9 + part(y, halo_, side_) * 3;
        const auto edge = [&](int from, int to) {
          for (int x = from; x < to; ++x) {
            if (!(d[x] < out[x])) continue;
            const int place = line + part(x, halo_, side_);
            if (!given.has_enough(place, d[x]) || !at_one_face(place))
              give(at + x, place, out + x - distances, given);
            store_shared(out + x, d[x]);
          }
        };
        if (y < halo_ || y >= side_ - halo_ || (deep_ && (z == 0 || z == depth_ - 1))) {
          edge(0, p.columns);
        } else {
          const int left = std::min(halo_, p.columns);
          const int right = std::max(left, std::min(p.columns, side_ - halo_));
          edge(0, left);
          std::memcpy(out + left, d + left, static_cast<std::size_t>(right - left) * sizeof(T));
          edge(right, p.columns);
        }
      }
  }

  // Writes links of the tile's cells to `out` (the raster's array), calls unlinked(cell) for
  // reached cells without one, and returns the flags of links().
  template <class Unlinked>
  uint32_t link(uint8_t* out, T limit, const Unlinked& unlinked) {
    uint32_t all = 0;
    const LinkFunction<T> links = NEARFAR_PICK_ISA(raster_links<T>)(view_.rule, side_);
    all_.limit = limit;
    for (int z = 0; z < place_.planes; ++z)
      for (int y = 0; y < place_.rows; ++y) {
        const int at = first_ + z * plane_ + y * row_;
        const int64_t cell =
            ((place_.plane + z) * view_.shape.rows + place_.row + y) * view_.shape.columns +
            place_.column;
        const uint32_t found = links(all_, at, flags_.data());
        std::memcpy(out + cell, flags_.data(), static_cast<std::size_t>(place_.columns));
        if (found & kUnlinked)
          for (int x = 0; x < place_.columns; ++x)
            if (out[cell + x] == kNoLink && plain_.d[at + x] < unreached<T>()) unlinked(cell + x);
        all |= found;
      }
    return all;
  }

 private:
  // A pop costs about 40 ns, a round of sweeps 10 us; benchmarks/raster.py.
  static constexpr std::size_t kFewSeeds = 8;
  static constexpr uint32_t kFewLowered = 256;
  static constexpr int kAhead = 8;        // rows prefetched before they are copied
  static constexpr int kPad = 16;         // between rows, so that they start on cache lines
  static constexpr uint8_t kInside = 13;  // the middle one of 27 tiles

  struct Half {
    SweepFunction<T> function = nullptr;
    Sweep<T> sweep;
  };

  // Returns 0, 1 or 2 if a cell is near the first face of an axis, near none or near the last.
  static int part(int i, int halo, int extent) { return i < halo ? 0 : i < extent - halo ? 1 : 2; }
  // Whether cells at this place have neighbours in only one other tile.
  static bool at_one_face(int place) {
    return (place / 9 != 1) + (place / 3 % 3 != 1) + (place % 3 != 1) == 1;
  }
  static T finite_or_zero(T h) { return std::isfinite(static_cast<double>(h)) ? h : T{0}; }
  void fill_outside(T* line, int from, int to, T value) const {
    std::fill(line, line + from, value);
    std::fill(line + std::max(from, to), line + side_ + 2 * halo_, value);
  }

  void make_sweeps() {
    const auto start = [&](Sweep<T>& s, const TileArrays<T>& arrays, bool forward) {
      s.tile = arrays, s.first = first_, s.planes = depth_, s.side = side_, s.row = row_;
      s.plane = plane_, s.forward = forward, s.count = 0, s.table = view_.table;
    };
    start(all_, plain_, true);
    for (auto* faces : {from_plane_, from_row_})
      start(faces[0], plain_, true), start(faces[1], plain_, true);
    start(forward_.sweep, plain_, true), start(backward_.sweep, plain_, false);
    start(across_forward_.sweep, turned_, true), start(across_backward_.sweep, turned_, false);
    std::fill_n(leaving_, 27, 0);
    for (int k = 0; k < view_.steps; ++k) {
      const int z = view_.offset[k][0], y = view_.offset[k][1], x = view_.offset[k][2];
      const auto leaves = [](int part, int from) {
        return (part == 0 && from > 0) || (part == 2 && from < 0);
      };
      for (int i = 0; i < 27; ++i)
        if (leaves(i / 9, z) || leaves(i / 3 % 3, y) || leaves(i % 3, x))
          leaving_[i] |= uint32_t{1} << k;
      const auto add = [&](Sweep<T>& s, int at, int beside) {
        s.at[s.count] = at;
        s.beside[s.count] = beside;
        s.factor[s.count] = view_.factor[k], s.inverse[s.count] = view_.inverse[k];
        ++s.count;
      };
      const int at = z * plane_ + y * row_ + x;
      add(all_, at, x);
      for (int face = 0; face < 2; ++face) {
        const int away = face == 0 ? -1 : 1;
        if (z == away) add(from_plane_[face], at, x);
        if (y * away > 0) add(from_row_[face], at, x);
      }
      if (z < 0 || (z == 0 && y < 0)) add(forward_.sweep, at, x);
      if (z > 0 || (z == 0 && y > 0)) add(backward_.sweep, at, x);
      if (z == 0 && y == 0 && x < 0 && (view_.steps == 4 || view_.steps == 6))
        for (Sweep<T>* s : {&forward_.sweep, &backward_.sweep})
          s->scans = true, s->scan_factor = view_.factor[k], s->scan_inverse = view_.inverse[k];
      if (z == 0 && x < 0) add(across_forward_.sweep, x * row_ + y, y);
      if (z == 0 && x > 0) add(across_backward_.sweep, x * row_ + y, y);
    }
    for (Half* half : {&forward_, &backward_, &across_forward_, &across_backward_})
      half->function = NEARFAR_PICK_ISA(raster_sweep<T>)(view_.rule, side_, half->sweep.count);
    pull_ = NEARFAR_PICK_ISA(raster_pull<T>)(view_.rule, side_, view_.steps);
    pull_face_ = NEARFAR_PICK_ISA(raster_pull<T>)(view_.rule, side_, from_row_[0].count);
  }

  uint32_t run(const Half& half) {
    ++counts.sweeps;
    return half.function(half.sweep);
  }

  void turn_one(const T* from, T* to) const {
    const auto turn_square = NEARFAR_PICK_ISA(raster_turn<T>);
    for (int z = -deep_; z < depth_ + deep_; ++z) {
      const T* const in = from + first_ + z * plane_;
      T* const out = to + first_ + z * plane_;
      turn_square(in, out, side_, row_);
      for (int h = 1; h <= halo_; ++h)
        for (int i = -halo_; i < side_ + halo_; ++i)
          for (const int edge : {-h, side_ - 1 + h}) {
            out[i * row_ + edge] = in[edge * row_ + i];
            out[edge * row_ + i] = in[i * row_ + edge];
          }
    }
  }
  void turn(const TileArrays<T>& from, const TileArrays<T>& to, bool costs) const {
    turn_one(from.d, to.d);
    if (!costs) return;
    turn_one(from.cost, const_cast<T*>(to.cost));
    if (from.elevation != nullptr) turn_one(from.elevation, const_cast<T*>(to.elevation));
  }
  void turn_back() const { turn_one(turned_.d, plain_.d); }

  // Lowers rows from all their neighbours and records the lowered cells.
  void pull_all() {
    for (int z = 0; z < depth_; ++z)
      for (int y = 0; y < side_; ++y) pull_row(all_, z, y);
  }
  void pull_row(const Sweep<T>& steps, int z, int y) {
    const int begin = first_ + z * plane_ + y * row_;
    const PullFunction<T> pull = &steps == &all_ ? pull_ : pull_face_;
    if (pull(steps, begin, flags_.data()) == 0) return;
    for (int x = 0; x < side_; ++x)
      if (flags_[static_cast<std::size_t>(x)]) lowered_.push_back(begin + x);
  }
  // The same for the cells next to the tiles that woke this one.
  void pull_border(uint32_t sides) {
    // Whether any of these tiles is before or after this one along an axis.
    const auto any = [&](int weight, int part) {
      for (int side = 0; side < 27; ++side)
        if ((sides >> side & 1) && side / weight % 3 == part) return true;
      return false;
    };
    const bool z0 = any(9, 0), z1 = any(9, 2), y0 = any(3, 0), y1 = any(3, 2);
    const bool x0 = any(1, 0), x1 = any(1, 2);
    for (int z = 0; z < depth_; ++z)
      for (int y = 0; y < side_; ++y) {
        if (z0 && z == 0) pull_row(from_plane_[0], z, y);
        if (z1 && z == depth_ - 1) pull_row(from_plane_[1], z, y);
        if (y0 && y < halo_) pull_row(from_row_[0], z, y);
        if (y1 && y >= side_ - halo_) pull_row(from_row_[1], z, y);
        const int begin = first_ + z * plane_ + y * row_;
        for (int h = 0; h < halo_; ++h) {
          if (x0) pull_cell(begin + h);
          if (x1) pull_cell(begin + side_ - 1 - h);
        }
      }
  }
  // Lowers a cell of the first or last columns from other tiles.
  void pull_cell(int at) {
    T best = plain_.d[at];
    view_.by_rule([&](auto rule) {
      for (int k = 0; k < all_.count; ++k) {
        const int from = at + all_.at[k];
        if (towards_[static_cast<std::size_t>(from)] == kInside) continue;
        best = after_by<rule()>(from, at, k, best);
      }
    });
    if (best == plain_.d[at]) return;
    plain_.d[at] = best;
    lowered_.push_back(at);
  }
  // Records the cells of other tiles that a border cell lowers.
  void give(int at, int place, int64_t cell, Given<T>& given) {
    view_.by_rule([&](auto rule) {
      for (uint32_t steps = leaving_[place]; steps != 0; steps &= steps - 1) {
        const int k = std::countr_zero(steps), to = at - all_.at[k];
        const uint8_t tile = towards_[static_cast<std::size_t>(to)];
        if (tile == kInside) continue;
        const T next = after_by<rule()>(at, to, k, plain_.d[to]);
        if (next != plain_.d[to]) given.add(tile, next, cell);
      }
    });
  }
  // Returns the lesser of `here` and a step's sum.
  template <StepRule Rule>
  NEARFAR_INLINE T after_by(int from, int to, int k, T here) const {
    return lesser(plain_.d[from], step_by<Rule>(from, to, k), here);
  }
  template <StepRule Rule>
  NEARFAR_INLINE T step_by(int from, int to, int k) const {
    const T* const c = plain_.cost;
    T more_from = 0, more_to = 0;
    if constexpr (Rule == StepRule::slope)
      more_from = plain_.elevation[from], more_to = plain_.elevation[to];
    if constexpr (Rule == StepRule::corner) {
      const int beside = to + all_.beside[k];
      more_from = c[beside], more_to = c[from + to - beside];
    }
    return step_cost<T, Rule>(c[from], c[to], more_from, more_to, all_.factor[k], all_.inverse[k],
                              view_.table);
  }

  template <StepRule Rule>
  void run_heap_by() {
    T* const d = plain_.d;
    for (const int32_t at : lowered_) heap_.insert(at, d[at]);
    int32_t at;
    T distance;
    while (heap_.pop(at, distance)) {
      if (distance != d[at]) continue;
      ++counts.pops;
      uint32_t lowered = 0;
      SumOf<T> next[kMostSteps];
      for (int k = 0; k < all_.count; ++k) {
        // A step of `all_` comes from at[k]; the step out of this cell is its opposite.
        const int to = at - all_.at[k];
        next[k] = candidate(distance, step_by<Rule>(at, to, k));
        const bool mine = towards_[static_cast<std::size_t>(to)] == kInside;
        lowered |= static_cast<uint32_t>(improves(next[k], d[to]) & mine) << k;
      }
      for (; lowered != 0; lowered &= lowered - 1) {
        const int k = std::countr_zero(lowered), to = at - all_.at[k];
        d[to] = static_cast<T>(next[k]);
        heap_.insert(to, d[to]);
      }
    }
  }
  void run_heap() {
    view_.by_rule([&](auto rule) { run_heap_by<rule()>(); });
  }

  const RasterView<T>& view_;
  const int side_, depth_, halo_, deep_, row_, plane_;
  int first_ = 0;
  TilePlace place_{};
  std::vector<T> memory_;
  std::vector<uint8_t> towards_;  // number of the tile that has the cell, or kInside
  std::vector<uint8_t> flags_;
  std::vector<int32_t> lowered_;  // initial entries of the heap
  DaryHeap<T, 4> heap_;
  uint32_t leaving_[27];  // steps out of the tile, by the place of a cell
  TileArrays<T> plain_{}, turned_{};
  Half forward_, backward_, across_forward_, across_backward_;
  Sweep<T> all_, from_plane_[2], from_row_[2];  // all steps; steps from the previous and the next
  PullFunction<T> pull_ = nullptr, pull_face_ = nullptr;
};

}  // namespace nearfar
