// Nested dissection without another package: cut the graph in two by a small separator, order the
// separator last, and do the same with both sides.
//
// A cut is looked for along four axes. With coordinates these are the directions east, north and
// the two diagonals ("inertial flow", Schild and Sommer 2015, without the flow). Without, distances
// in edges stand in for them: the distance to one end of the graph less that to the other end grows
// from end to end as a coordinate would. Along each axis the vertices are sorted and one pass
// counts the edges that a cut after each of them would cut; the least number for the size of the
// smaller side wins. The separator is a least vertex cover of the edges cut (Koenig 1931, by
// augmenting paths), improved by moving vertices out of it while that makes it smaller (Fiduccia
// and Mattheyses 1982, for vertex separators). Pieces of at most 64 vertices are ordered by least
// degree, on rows of 64 bits.
//
// Multilevel methods find smaller separators: METIS's, which order.py takes where it is installed,
// gives fewer shortcuts. This is what prepares a graph without it.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/interrupt.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int32_t kLeaf = 64;
constexpr int kAxes = 4;

class Dissection {
 public:
  Dissection(const Structure& graph, const double* coordinates, uint64_t seed, Interrupt& interrupt)
      : graph_(graph),
        coordinates_(coordinates),
        seed_(seed),
        interrupt_(interrupt),
        part_(at(graph.n), -1),
        level_(at(graph.n)),
        side_(at(graph.n)),
        mate_(at(graph.n)),
        seen_(at(graph.n), 0) {
    for (auto& key : key_) key.resize(at(graph.n));
  }

  std::vector<int32_t> run() {
    std::vector<int32_t> order(at(graph_.n));
    for (int32_t v = 0; v < graph_.n; ++v) order[at(v)] = v;
    waiting_.push_back({0, graph_.n});
    while (!waiting_.empty()) {
      const Piece piece = waiting_.back();
      waiting_.pop_back();
      // A piece is a range of `order`, which its own order replaces.
      split(order.data() + piece.from, piece);
    }
    return order;
  }

 private:
  struct Piece {
    int32_t from, to;
    int32_t size() const { return to - from; }
  };
  enum Side : unsigned char { left, right, between };

  void split(int32_t* vertex, Piece piece) {
    interrupt_.poll(static_cast<uint64_t>(piece.size()) * 16);
    std::sort(vertex, vertex + piece.size());
    const int32_t id = next_part_++;
    for (int32_t i = 0; i < piece.size(); ++i) part_[at(vertex[i])] = id;
    if (piece.size() <= kLeaf) return by_least_degree(vertex, piece.size());
    if (apart(vertex, piece, id)) return;
    find_sides(vertex, piece.size(), id);
    cover(vertex, piece.size(), id);
    refine(vertex, piece.size(), id);
    auto* middle = std::stable_partition(vertex, vertex + piece.size(),
                                         [&](int32_t v) { return side_[at(v)] == left; });
    auto* last = std::stable_partition(middle, vertex + piece.size(),
                                       [&](int32_t v) { return side_[at(v)] == right; });
    const auto a = static_cast<int32_t>(middle - vertex), b = static_cast<int32_t>(last - vertex);
    if (b == piece.size()) return;  // cannot be: a connected piece has a separator
    if (a == 0 && b == 0) return;   // everything separates: any order will do
    if (a > 0) waiting_.push_back({piece.from, piece.from + a});
    if (b > a) waiting_.push_back({piece.from + a, piece.from + b});
  }

  // Levels from `start` within the piece; the queue ends with the farthest vertex.
  void levels(int32_t start, int32_t id) {
    queue_.clear();
    queue_.push_back(start);
    ++round_;
    seen_[at(start)] = round_;
    level_[at(start)] = 0;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const int32_t v = queue_[i];
      for (const int32_t t : graph_.of(v)) {
        if (part_[at(t)] != id || seen_[at(t)] == round_) continue;
        seen_[at(t)] = round_;
        level_[at(t)] = level_[at(v)] + 1;
        queue_.push_back(t);
      }
    }
  }

  // Whether the piece has several components, which then wait one by one.
  bool apart(int32_t* vertex, Piece piece, int32_t id) {
    levels(vertex[start_of(piece.size())], id);
    if (static_cast<int32_t>(queue_.size()) == piece.size()) return false;
    scratch_.clear();
    ++round_;
    const uint32_t mine = round_;
    for (int32_t i = 0; i < piece.size(); ++i) {
      if (seen_[at(vertex[i])] == mine) continue;
      const auto from = static_cast<int32_t>(scratch_.size());
      seen_[at(vertex[i])] = mine;
      scratch_.push_back(vertex[i]);
      for (std::size_t j = at(from); j < scratch_.size(); ++j)
        for (const int32_t t : graph_.of(scratch_[j]))
          if (part_[at(t)] == id && seen_[at(t)] != mine) {
            seen_[at(t)] = mine;
            scratch_.push_back(t);
          }
      waiting_.push_back({piece.from + from, piece.from + static_cast<int32_t>(scratch_.size())});
    }
    std::copy(scratch_.begin(), scratch_.end(), vertex);
    return true;
  }

  int32_t start_of(int32_t size) const {
    return static_cast<int32_t>(seed_ % static_cast<uint64_t>(size));
  }

  // A key per vertex and axis.
  void find_keys(const int32_t* vertex, int32_t size, int32_t id) {
    if (coordinates_ != nullptr) {
      for (int32_t i = 0; i < size; ++i) {
        const std::size_t v = at(vertex[i]);
        const double x = coordinates_[2 * v], y = coordinates_[2 * v + 1];
        key_[0][v] = x;
        key_[1][v] = y;
      }
    } else {
      // `apart` left the levels from the start here: its farthest vertex is one end.
      for (int axis = 0; axis < 2; ++axis) {
        auto& key = key_[at(axis)];
        int32_t end = queue_.back();
        if (axis == 1) {  // a vertex as far as can be from both ends of the first axis
          int32_t best = -1;
          for (int32_t i = 0; i < size; ++i) {
            const std::size_t v = at(vertex[i]);
            const int32_t near = std::min(level_[v], static_cast<int32_t>(key_[2][v]));
            if (near > best) best = near, end = vertex[i];
          }
        }
        levels(end, id);
        for (int32_t i = 0; i < size; ++i) key[at(vertex[i])] = level_[at(vertex[i])];
        if (axis == 0)
          for (int32_t i = 0; i < size; ++i) key_[2][at(vertex[i])] = level_[at(vertex[i])];
        levels(queue_.back(), id);
        for (int32_t i = 0; i < size; ++i) key[at(vertex[i])] -= level_[at(vertex[i])];
      }
    }
    for (int32_t i = 0; i < size; ++i) {
      const std::size_t v = at(vertex[i]);
      key_[2][v] = key_[0][v] + key_[1][v];
      key_[3][v] = key_[0][v] - key_[1][v];
    }
  }

  // Left and right by the best cut of all axes.
  void find_sides(const int32_t* vertex, int32_t size, int32_t id) {
    find_keys(vertex, size, id);
    best_.assign(vertex, vertex + size);
    int32_t best_at = size / 2;
    double best_cost = -1;
    const int32_t from = std::max(1, size * 3 / 10), to = std::min(size - 1, size * 7 / 10 + 1);
    for (int axis = 0; axis < kAxes; ++axis) {
      const auto& key = key_[at(axis)];
      sorted_.assign(vertex, vertex + size);
      std::sort(sorted_.begin(), sorted_.end(), [&](int32_t a, int32_t b) {
        return key[at(a)] != key[at(b)] ? key[at(a)] < key[at(b)] : a < b;
      });
      ++round_;
      int64_t cut = 0;
      double cost_here = -1;
      int32_t at_here = -1;
      for (int32_t i = 0; i < to; ++i) {
        const int32_t v = sorted_[at(i)];
        seen_[at(v)] = round_;
        for (const int32_t t : graph_.of(v))
          if (part_[at(t)] == id) cut += seen_[at(t)] == round_ ? -1 : 1;
        if (i + 1 < from) continue;
        const double cost = static_cast<double>(cut) / std::min(i + 1, size - i - 1);
        if (at_here < 0 || cost < cost_here) cost_here = cost, at_here = i + 1;
      }
      if (best_cost < 0 || cost_here < best_cost) {
        best_cost = cost_here;
        best_at = at_here;
        best_.swap(sorted_);
      }
    }
    for (int32_t i = 0; i < size; ++i) side_[at(best_[at(i)])] = i < best_at ? left : right;
  }

  // A least set of vertices that meets every edge between left and right, by augmenting paths; the
  // smaller border where that would take too long.
  void cover(const int32_t* vertex, int32_t size, int32_t id) {
    border_.clear();
    int64_t borders[2] = {0, 0};
    for (int32_t i = 0; i < size; ++i) {
      const int32_t v = vertex[i];
      mate_[at(v)] = -1;
      const Side other = side_[at(v)] == left ? right : left;
      for (const int32_t t : graph_.of(v))
        if (part_[at(t)] == id && side_[at(t)] == other) {
          ++borders[side_[at(v)]];
          if (side_[at(v)] == left) border_.push_back(v);
          break;
        }
    }
    int64_t budget = 400 * static_cast<int64_t>(size) + 100000;
    for (const int32_t v : border_) {
      ++round_;
      augment(v, id, budget);
      if (budget < 0) break;
    }
    scratch_.clear();
    if (budget < 0) {
      const Side smaller = borders[0] <= borders[1] ? left : right;
      const Side other = smaller == left ? right : left;
      for (int32_t i = 0; i < size; ++i)
        if (side_[at(vertex[i])] == smaller)
          for (const int32_t t : graph_.of(vertex[i]))
            if (part_[at(t)] == id && side_[at(t)] == other) {
              scratch_.push_back(vertex[i]);
              break;
            }
    } else {
      // Koenig: of what alternating paths from unmatched left vertices reach, the left is not
      // needed and the right is.
      ++round_;
      const uint32_t mine = round_;
      queue_.clear();
      for (const int32_t v : border_)
        if (mate_[at(v)] < 0) seen_[at(v)] = mine, queue_.push_back(v);
      for (std::size_t i = 0; i < queue_.size(); ++i)
        for (const int32_t t : graph_.of(queue_[i])) {
          if (part_[at(t)] != id || side_[at(t)] != right || seen_[at(t)] == mine) continue;
          seen_[at(t)] = mine;
          scratch_.push_back(t);
          const int32_t next = mate_[at(t)];
          if (next >= 0 && seen_[at(next)] != mine) seen_[at(next)] = mine, queue_.push_back(next);
        }
      for (const int32_t v : border_)
        if (seen_[at(v)] != mine) scratch_.push_back(v);
    }
    for (const int32_t v : scratch_) side_[at(v)] = between;
  }

  // One augmenting path from a left vertex, depth first with a stack of its own.
  bool augment(int32_t start, int32_t id, int64_t& budget) {
    stack_.clear();
    stack_.push_back({start, graph_.first[start]});
    while (!stack_.empty()) {
      auto& [v, edge] = stack_.back();
      bool deeper = false;
      while (edge < graph_.first[v + 1]) {
        const int32_t t = graph_.neighbour[edge++];
        if (--budget < 0) return false;
        if (part_[at(t)] != id || side_[at(t)] != right || seen_[at(t)] == round_) continue;
        seen_[at(t)] = round_;
        if (mate_[at(t)] >= 0) {
          stack_.push_back({mate_[at(t)], graph_.first[mate_[at(t)]]});
          deeper = true;
          break;
        }
        // Free: hand every vertex on the stack the right vertex that it looked at last.
        for (std::size_t i = stack_.size(); i-- > 0;) {
          const int32_t u = stack_[i].vertex, got = graph_.neighbour[stack_[i].edge - 1];
          mate_[at(got)] = u;
          mate_[at(u)] = got;
        }
        return true;
      }
      if (!deeper) stack_.pop_back();
    }
    return false;
  }

  // Moves vertices out of the separator while it shrinks, or balances at no cost.
  void refine(const int32_t* vertex, int32_t size, int32_t id) {
    int64_t count[3] = {0, 0, 0};
    scratch_.clear();
    for (int32_t i = 0; i < size; ++i) {
      ++count[side_[at(vertex[i])]];
      if (side_[at(vertex[i])] == between) scratch_.push_back(vertex[i]);
    }
    const int64_t least = size / 4;
    for (int pass = 0; pass < 8; ++pass) {
      bool moved = false;
      for (std::size_t i = 0; i < scratch_.size(); ++i) {
        const int32_t v = scratch_[i];
        if (side_[at(v)] != between) continue;
        int64_t beyond[2] = {0, 0};  // neighbours on each side
        for (const int32_t t : graph_.of(v))
          if (part_[at(t)] == id && side_[at(t)] != between) ++beyond[side_[at(t)]];
        // To the left: its right neighbours come into the separator in its place.
        const Side to = beyond[right] < beyond[left] ||
                                (beyond[right] == beyond[left] && count[left] < count[right])
                            ? left
                            : right;
        const Side from = to == left ? right : left;
        const int64_t gain = 1 - beyond[from];
        const bool balances = count[to] + 1 < count[from] - beyond[from];
        if (gain < 0 || (gain == 0 && !balances)) continue;
        if (count[from] - beyond[from] < std::min(least, count[from])) continue;
        side_[at(v)] = to;
        ++count[to];
        for (const int32_t t : graph_.of(v))
          if (part_[at(t)] == id && side_[at(t)] == from) {
            side_[at(t)] = between;
            --count[from];
            scratch_.push_back(t);
          }
        moved = true;
      }
      if (!moved) break;
    }
  }

  // Repeatedly the vertex with the fewest neighbours left, which are then joined to each other.
  void by_least_degree(int32_t* vertex, int32_t size) {
    std::array<uint64_t, kLeaf> row{};
    for (int32_t i = 0; i < size; ++i) level_[at(vertex[i])] = i;
    const int32_t id = part_[at(vertex[0])];
    std::array<int32_t, kLeaf> outside{};
    for (int32_t i = 0; i < size; ++i)
      for (const int32_t t : graph_.of(vertex[i]))
        if (part_[at(t)] == id)
          row[at(i)] |= uint64_t{1} << level_[at(t)];
        else
          ++outside[at(i)];
    uint64_t left_over = size == 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
    std::array<int32_t, kLeaf> found;
    for (int32_t k = 0; k < size; ++k) {
      int32_t best = -1, least = 0;
      for (uint64_t rest = left_over; rest != 0; rest &= rest - 1) {
        const int32_t i = std::countr_zero(rest);
        const int32_t degree = std::popcount(row[at(i)] & left_over) + outside[at(i)];
        if (best < 0 || degree < least) best = i, least = degree;
      }
      found[at(k)] = vertex[best];
      left_over &= ~(uint64_t{1} << best);
      const uint64_t joined = row[at(best)] & left_over;
      for (uint64_t rest = joined; rest != 0; rest &= rest - 1) {
        const int32_t i = std::countr_zero(rest);
        row[at(i)] |= joined & ~(uint64_t{1} << i);
        outside[at(i)] = std::max(outside[at(i)], outside[at(best)]);
      }
    }
    std::copy_n(found.begin(), size, vertex);
  }

  struct Step {
    int32_t vertex;
    int64_t edge;
  };

  const Structure graph_;
  const double* const coordinates_;  // shape (n, 2), or null
  const uint64_t seed_;
  Interrupt& interrupt_;
  std::vector<int32_t> part_;  // the piece of each vertex
  std::vector<int32_t> level_;
  std::vector<unsigned char> side_;
  std::vector<int32_t> mate_;
  std::vector<uint32_t> seen_;  // the last round that saw it
  std::array<std::vector<double>, kAxes> key_;
  std::vector<int32_t> queue_, sorted_, best_, scratch_, border_;
  std::vector<Step> stack_;
  std::vector<Piece> waiting_;
  uint32_t round_ = 0;
  int32_t next_part_ = 0;
};

using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vertices = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> dissect(const Offsets& first,
                                                     const Vertices& neighbour,
                                                     const std::optional<Points>& coordinates,
                                                     uint64_t seed) {
  const Structure graph{static_cast<int32_t>(first.size()) - 1, first.data(), neighbour.data()};
  if (coordinates && coordinates->size() != 2 * at(graph.n))
    throw nb::type_error("coordinates: wrong size");
  std::vector<int32_t> order;
  {
    nb::gil_scoped_release release;
    Interrupt interrupt;
    order = Dissection(graph, coordinates ? coordinates->data() : nullptr, seed, interrupt).run();
  }
  return as_numpy(std::move(order));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_dissect", &prepared::dissect, arg("first"), arg("neighbour"),
        arg("coordinates").none(), arg("seed"));
}
}  // namespace nearfar
