// Snapping of many points, and the strongly connected components that places are snapped to.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/spread.hpp"
#include "graph/snapping/street_tree.hpp"

namespace nearfar::snapping {
namespace {

constexpr double kEarthRadius = 6'371'008.8;                       // metres, mean radius
constexpr double kDegree = kEarthRadius * std::numbers::pi / 180;  // metres
constexpr double kRadian = std::numbers::pi / 180;
constexpr double kNone = std::numeric_limits<double>::infinity();

// Returns the metres between two points in degrees. Below ten kilometres the plane at the middle
// latitude has a relative error below 1e-6.
double on_sphere(double lon_a, double lat_a, double lon_b, double lat_b) {
  double east = lon_b - lon_a;
  if (std::abs(east) > 180) east -= std::copysign(360.0, east);
  const double north = lat_b - lat_a;
  const double x = east * std::cos((lat_a + lat_b) / 2 * kRadian);
  const double plane = std::sqrt(x * x + north * north) * kDegree;
  if (plane < 10'000) return plane;
  const double s = std::sin(north / 2 * kRadian), t = std::sin(east / 2 * kRadian);
  const double h = s * s + std::cos(lat_a * kRadian) * std::cos(lat_b * kRadian) * t * t;
  return 2 * kEarthRadius * std::asin(std::sqrt(std::min(h, 1.0)));
}

// Returns the bits of a number below 2^16, each followed by a zero.
uint32_t spaced(uint32_t x) {
  x = (x | x << 8) & 0x00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f;
  x = (x | x << 2) & 0x33333333;
  return (x | x << 1) & 0x55555555;
}

// Stable sort of entries by their first numbers; O(n).
void sort_by_code(std::vector<std::pair<uint32_t, uint32_t>>& entries) {
  constexpr int kBits = 11;
  std::vector<std::pair<uint32_t, uint32_t>> other(entries.size());
  for (int shift = 0; shift < 32; shift += kBits) {
    std::array<std::size_t, (1 << kBits) + 1> first{};
    const auto digit = [&](uint32_t code) { return code >> shift & ((1 << kBits) - 1); };
    for (const auto& entry : entries) ++first[digit(entry.first) + 1];
    for (std::size_t k = 1; k < first.size(); ++k) first[k] += first[k - 1];
    for (const auto& entry : entries) other[first[digit(entry.first)]++] = entry;
    entries.swap(other);
  }
}

struct Segment {
  double x, y, dx, dy;
  int32_t piece;
};

struct Box {
  double low_x = kNone, low_y = kNone, high_x = -kNone, high_y = -kNone;
  void add(const Segment& s) {
    add(Box{std::min(s.x, s.x + s.dx), std::min(s.y, s.y + s.dy), std::max(s.x, s.x + s.dx),
            std::max(s.y, s.y + s.dy)});
  }
  void add(const Box& b) {
    low_x = std::min(low_x, b.low_x), high_x = std::max(high_x, b.high_x);
    low_y = std::min(low_y, b.low_y), high_y = std::max(high_y, b.high_y);
  }
};

class StreetTree {
 public:
  explicit StreetTree(const std::vector<Segment>& segments) {
    for (const Segment& s : segments) extent.add(s);
    std::vector<std::pair<uint32_t, uint32_t>> order(segments.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Segment& s = segments[i];
      order[i] = {code(s.x + s.dx / 2, s.y + s.dy / 2), static_cast<uint32_t>(i)};
    }
    sort_by_code(order);
    std::vector<Box> below;
    for (std::size_t i = 0; i < order.size(); i += kWidth) {
      Leaf leaf;
      Box box;
      for (std::size_t k = 0; k < kWidth; ++k) {
        const bool is = i + k < order.size();
        const Segment s = is ? segments[order[i + k].second] : Segment{1e200, 1e200, 0, 0, -1};
        leaf.x[k] = s.x, leaf.y[k] = s.y, leaf.dx[k] = s.dx, leaf.dy[k] = s.dy;
        leaf.piece[k] = s.piece;
        if (is) box.add(s);
      }
      leaves_.push_back(leaf);
      below.push_back(box);
    }
    while (below.size() > 1) {
      level_.push_back(static_cast<int64_t>(boxes_.size()));
      std::vector<Box> above;
      for (std::size_t i = 0; i < below.size(); i += kWidth) {
        Boxes boxes;
        Box all;
        for (std::size_t k = 0; k < kWidth; ++k) {
          const Box box = i + k < below.size() ? below[i + k] : Box{};
          all.add(box);
          boxes.low_x[k] = box.low_x, boxes.low_y[k] = box.low_y;
          boxes.high_x[k] = box.high_x, boxes.high_y[k] = box.high_y;
        }
        boxes_.push_back(boxes);
        above.push_back(all);
      }
      below = std::move(above);
    }
    view = {leaves_.data(), boxes_.data(), level_.data(), static_cast<int>(level_.size())};
  }

  // Returns the position of a point on the Z-order curve.
  uint32_t code(double x, double y) const {
    auto part = [](double v, double low, double high) {
      const double share = high > low ? (v - low) / (high - low) : 0;
      return static_cast<uint32_t>(std::clamp(share, 0.0, 1.0) * 65535);
    };
    return spaced(part(x, extent.low_x, extent.high_x)) |
           spaced(part(y, extent.low_y, extent.high_y)) << 1;
  }

  Box extent;
  TreeView view;

 private:
  std::vector<Leaf> leaves_;
  std::vector<Boxes> boxes_;
  std::vector<int64_t> level_;
};

using Longs = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Points = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutLongs = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Polylines in a tree of their segments. Points of street s are first[s] up to first[s + 1], at
// least two each. On the Earth x is measured eastwards from `west`, so that no street crosses the
// seam.
class Streets {
 public:
  Streets(const Longs& first, const Points& points, bool on_earth, double west)
      : on_earth_(on_earth), west_(west), tree_(pieces(first, points)) {}

  // Finds for each point its street, the fraction of the street's length up to the nearest place on
  // it, the distance to that place, and the place. The street is -1 beyond `most`.
  void nearest(const Points& points, double most, const OutLongs& street, const Doubles& share,
               const Doubles& away, const Doubles& x, const Doubles& y, int threads) const {
    const std::size_t count = points.shape(0);
    if (points.shape(1) != 2) throw nb::type_error("points: two columns");
    for (const std::size_t size : {street.size(), share.size(), away.size(), x.size(), y.size()})
      if (size != count) throw nb::type_error("results: one entry per point");
    const double* xy = points.data();
    nb::gil_scoped_release release;
    std::vector<std::pair<uint32_t, uint32_t>> order(count);
    for (std::size_t i = 0; i < count; ++i)
      order[i] = {tree_.code(eastward(xy[2 * i]), xy[2 * i + 1]), static_cast<uint32_t>(i)};
    sort_by_code(order);
    constexpr std::size_t block = 1024;
    spread(static_cast<int64_t>((count + block - 1) / block), threads,
           [&](BatchCounter& counter, Interrupt& interrupt) {
             for (int64_t b; (b = counter.take()) >= 0;) {
               const std::size_t begin = static_cast<std::size_t>(b) * block;
               int64_t hint = -1;
               for (std::size_t k = begin; k < std::min(begin + block, count); ++k) {
                 interrupt.poll(64);
                 const std::size_t i = order[k].second;
                 const Place found = place(xy[2 * i], xy[2 * i + 1], most, hint);
                 street.data()[i] = found.street;
                 share.data()[i] = found.share, away.data()[i] = found.away;
                 x.data()[i] = found.x, y.data()[i] = found.y;
               }
             }
           });
  }

  // Lengths of the streets, in metres or in units of the coordinates.
  const std::vector<double>& lengths() const { return lengths_; }

 private:
  struct Place {
    int64_t street = -1;
    double share, away, x, y;
  };

  double eastward(double lon) const {
    if (!on_earth_) return lon;
    const double east = std::fmod(lon - west_, 360.0);
    return east < 0 ? east + 360 : east;
  }

  std::vector<Segment> pieces(const Longs& first, const Points& points) {
    const std::size_t streets = first.size() - 1, count = points.shape(0);
    if (first.size() == 0 || points.shape(1) != 2 || count >= std::size_t{1} << 31 ||
        static_cast<std::size_t>(first.data()[streets]) != count)
      throw nb::type_error("streets: wrong size");
    nb::gil_scoped_release release;
    const double* xy = points.data();
    street_.resize(count);
    along_.resize(count);
    lengths_.resize(streets);
    std::vector<Segment> found;
    found.reserve(count - streets);
    for (std::size_t s = 0; s < streets; ++s) {
      const auto begin = static_cast<std::size_t>(first.data()[s]);
      const auto end = static_cast<std::size_t>(first.data()[s + 1]);
      double length = 0;
      for (std::size_t p = begin; p < end; ++p) {
        street_[p] = static_cast<int32_t>(s);
        along_[p] = length;
        if (p + 1 == end) break;
        const double* a = xy + 2 * p;
        double dx = a[2] - a[0];
        if (on_earth_ && std::abs(dx) > 180) dx -= std::copysign(360.0, dx);
        found.push_back({eastward(a[0]), a[1], dx, a[3] - a[1], static_cast<int32_t>(p)});
        length += on_earth_ ? on_sphere(a[0], a[1], a[2], a[3])
                            : std::sqrt(dx * dx + (a[3] - a[1]) * (a[3] - a[1]));
      }
      lengths_[s] = length;
    }
    return found;
  }

  Place place(double lon, double lat, double most, int64_t& hint) const {
    const double scale = on_earth_ ? std::max(std::cos(lat * kRadian), 1e-9) : 1;
    // The plane distorts long distances, so the result is measured again below.
    const double wrong = std::tan(std::min(std::abs(lat), 89.0) * kRadian) * most / kEarthRadius;
    const bool limited = on_earth_ && std::isfinite(most);  // 0 times infinity is no number
    const double bound = limited ? most / kDegree * (1.001 + wrong) : most;
    Nearest best;
    best.square = bound * bound * (1 + 1e-9) + 1e-300;
    double east = eastward(lon);
    const auto look_at = NEARFAR_PICK_ISA(look);
    const auto find = NEARFAR_PICK_ISA(search);
    if (hint >= 0) look_at(tree_.view.leaves[hint], hint, east, lat, scale, best);
    find(tree_.view, east, lat, scale, best);
    for (const double turn : {-360.0, 360.0}) {
      if (!on_earth_) break;
      const double other = east + turn;
      const double gap =
          std::max({tree_.extent.low_x - other, other - tree_.extent.high_x, 0.0}) * scale;
      if (gap * gap >= best.square) continue;
      const double before = best.square;
      find(tree_.view, other, lat, scale, best);
      if (best.square < before) break;
    }
    if (best.leaf < 0) return {-1, 0, 0, 0, 0};
    hint = best.leaf;
    const Leaf& leaf = tree_.view.leaves[best.leaf];
    const auto p = static_cast<std::size_t>(best.piece);
    const auto street = static_cast<std::size_t>(street_[p]);
    Place found{static_cast<int64_t>(street), 0, 0, leaf.x[best.slot] + best.t * leaf.dx[best.slot],
                leaf.y[best.slot] + best.t * leaf.dy[best.slot]};
    const double length = lengths_[street];
    const double along = along_[p] + best.t * (along_[p + 1] - along_[p]);
    found.share = length > 0 ? std::min(along / length, 1.0) : 0;
    if (on_earth_) {
      found.x = std::remainder(found.x + west_, 360.0);
      found.away = on_sphere(lon, lat, found.x, found.y);
    } else {
      found.away = std::sqrt(best.square);
    }
    if (found.away > most) return {-1, 0, 0, 0, 0};
    return found;
  }

  const bool on_earth_;
  const double west_;
  std::vector<int32_t> street_;  // street of each point
  std::vector<double> along_;    // from the street's start to each point
  std::vector<double> lengths_;
  const StreetTree tree_;  // last, because it is built from the others
};

// Returns the number of each vertex's strongly connected component, in no particular order, and the
// number of components. Tarjan 1972 without recursion; allows parallel edges and self-loops. O(n +
// m).
nb::tuple strong_parts(const GraphView& view) {
  std::vector<int64_t> part;
  int64_t parts = 0;
  {
    nb::gil_scoped_release release;
    view.visit([&](const auto& csr) {
      const auto n = static_cast<std::size_t>(csr.n);
      part.assign(n, -1);
      std::vector<Index> low(n, -1), next(n), open, path;
      Index number = 0;
      for (Index root = 0; root < csr.n; ++root) {
        if (low[static_cast<std::size_t>(root)] >= 0) continue;
        path.push_back(root);
        while (!path.empty()) {
          const Index v = path.back();
          const auto at = static_cast<std::size_t>(v);
          if (low[at] < 0) {
            low[at] = number++;
            next[at] = 0;
            open.push_back(v);
          }
          // `low` of a vertex on the path is its own number until the vertex is left; children pass
          // theirs to the parent when they are left.
          const int64_t row = csr.indptr[v], row_end = csr.indptr[v + 1];
          if (row + next[at] < row_end) {
            const Index t = csr.indices[row + next[at]++];
            if (low[static_cast<std::size_t>(t)] < 0) path.push_back(t);
            continue;
          }
          Index least = low[at];
          for (int64_t e = row; e < row_end; ++e) {
            const auto t = static_cast<std::size_t>(csr.indices[e]);
            if (part[t] < 0) least = std::min(least, low[t]);
          }
          path.pop_back();
          if (least < low[at]) {
            low[at] = least;
            continue;
          }
          for (Index u = -1; u != v;) {
            u = open.back();
            open.pop_back();
            part[static_cast<std::size_t>(u)] = parts;
          }
          ++parts;
        }
      }
    });
  }
  return nb::make_tuple(as_numpy(std::move(part)), parts);
}

}  // namespace
}  // namespace nearfar::snapping

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  using namespace snapping;
  nb::class_<Streets>(m, "Streets")
      .def(nb::init<const Longs&, const Points&, bool, double>(), arg("first"), arg("points"),
           arg("on_earth"), arg("west"))
      .def("nearest", &Streets::nearest, arg("points"), arg("most"), arg("street"), arg("share"),
           arg("away"), arg("x"), arg("y"), arg("threads"))
      .def("lengths",
           [](const Streets& streets) { return as_numpy(std::vector<double>(streets.lengths())); });
  m.def("strong_parts", &strong_parts, arg("view"));
}
}  // namespace nearfar
