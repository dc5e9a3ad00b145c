// A shortest path between two vertices by searches from both ends.
//
// First part: Dijkstra's method from the source along the edges and from the target along the
// reversed edges. The side that has read fewer edges continues, so that neither relaxes a hub while
// the other has short rows left. `Side::radius` is the least distance that is not settled. When one
// side labels a vertex that the other has labelled, the sum of both labels is the length of a path.
// Once the sum of the radii reaches the least of these lengths, no shorter path exists. Vertices
// that cannot be on a path of that length are not labelled.
//
// Second part: the search from the source continues, but only through vertices from which the
// target can be reached within that length. The remaining distance is at least the other side's
// label, or its radius if the label is not settled, and one edge more if there is no label, since
// the neighbours of settled vertices are labelled. So every vertex of every shortest path receives
// its distance, summed from the source as in all searches, regardless of where the first part
// ended. The sums of the two sides round differently: with floats the bounds allow for a rounding
// error per edge of a path.
//
// The path is the one with the least predecessors, found from tight edges as after every search.
//
// Integers above 0 need no second part, which reads most of the graph where many paths are equally
// short: sums are the same from both sides, so traced() knows the distance of each vertex that it
// tries, and only has to find out whether it is on a shortest path.
//
// The cost depends on the vertices that both sides reach, not on the size of the graph. If that is
// most of the graph, as between distant vertices of a grid, delta-stepping is faster: the search
// gives up after a number of edges.
//
// T. A. J. Nicholson. "Finding the shortest route between two points in a network." The Computer
// Journal, 9(3):275-280, 1966. I. Pohl. "Bi-directional search." Machine Intelligence 6, 1971.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

#include "algorithms/bounded/either_csr.hpp"
#include "algorithms/bounded/search.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::bidirectional {
namespace {

template <class C>
class Side {
 public:
  using Weight = typename C::Weight;
  static constexpr Weight kFar = unreached<Weight>();

  Side(const C& csr, Index start, Weight limit) : csr_(csr), reached_(csr.n, 0), limit_(limit) {
    reached_.lower(start, 0);
    queue_.insert(0, 0);
  }

  // Finds the nearest vertex that is not settled; returns false if there is none.
  bool next() {
    while (!holds_) {
      if (!queue_.pop(at_, radius)) {
        radius = kFar;
        return false;
      }
      holds_ = reached_[id()].distance == radius;
    }
    return true;
  }

  Index vertex() const { return reached_[id()].vertex; }
  std::size_t degree() const {
    return static_cast<std::size_t>(csr_.indptr[vertex() + 1] - csr_.indptr[vertex()]);
  }

  // Returns the label of a vertex, kFar without one.
  Weight label(Index v) const {
    const uint32_t id = reached_.find(v);
    return id == bounded::Reached<Weight>::kNone ? kFar : reached_[id].distance;
  }

  // Settles the vertex that next() found. Of its neighbours, labels those that are `wanted` with
  // their distance, and passes each lowered label to `labelled`.
  template <class Wanted, class Labelled>
  void settle(const Wanted& wanted, const Labelled& labelled) {
    holds_ = false;
    const Index v = vertex();
    const auto end = static_cast<std::size_t>(csr_.indptr[v + 1]);
    edges += end - static_cast<std::size_t>(csr_.indptr[v]);
    ++settled;
    for (auto e = static_cast<std::size_t>(csr_.indptr[v]); e < end; ++e) {
      const auto edge = csr_.edge(e);
      const auto sum = candidate(radius, edge.weight);
      if (sum > static_cast<SumOf<Weight>>(limit_)) {
        lost |= sum >= static_cast<SumOf<Weight>>(kFar);
        continue;
      }
      const auto d = static_cast<Weight>(sum);
      if (!wanted(edge.target, d)) continue;
      const uint32_t to = reached_.lower(edge.target, d);
      if (to == bounded::Reached<Weight>::kNone) continue;
      queue_.insert(static_cast<int32_t>(to), d);
      labelled(edge.target, d);
    }
  }

  // Keeps only the wanted ones of the vertices that are not settled.
  template <class Wanted>
  void keep(const Wanted& wanted) {
    holds_ = false;
    queue_.clear();
    for (uint32_t i = 0; i < reached_.size(); ++i)
      if (const auto& one = reached_[i]; one.distance >= radius && wanted(one.vertex, one.distance))
        queue_.insert(static_cast<int32_t>(i), one.distance);
  }

  std::size_t labels() const { return reached_.size(); }

  Weight radius = 0;
  std::size_t edges = 0, settled = 0;
  bool lost = false;  // whether a sum does not fit the dtype

 private:
  uint32_t id() const { return static_cast<uint32_t>(at_); }

  const C csr_;
  bounded::Reached<Weight> reached_;
  DaryHeap<Weight, 4> queue_{0};
  const Weight limit_;
  int32_t at_ = 0;      // number of the vertex that next() found
  bool holds_ = false;  // whether it is still to be settled
};

// Returns the shortest path with the least predecessors after a search with integers above 0. Goes
// back from the target to the least vertex that may come before, and returns from one if no path of
// the right length leads to it.
template <class C>
std::vector<Index> traced(const C& in, const Side<C>& forward, const Side<C>& backward,
                          Index source, Index target, typename C::Weight length,
                          Interrupt& interrupt) {
  using Weight = typename C::Weight;
  struct Place {
    Index vertex;
    Weight distance;  // from the source, if the vertex is on a shortest path
  };
  struct Turn {
    Place at;
    std::size_t end;  // of the vertices to try after those of earlier turns
  };
  std::vector<Turn> way;
  std::vector<Place> to_try{{target, length}};
  std::unordered_set<Index> tried;
  while (!to_try.empty()) {
    while (!way.empty() && way.back().end == to_try.size()) way.pop_back();
    const Place at = to_try.back();
    to_try.pop_back();
    if (!tried.insert(at.vertex).second) continue;
    const std::size_t end = to_try.size();
    way.push_back({at, end});
    if (at.vertex == source) break;
    const auto first = in.indptr[at.vertex], last = in.indptr[at.vertex + 1];
    interrupt.poll(static_cast<uint64_t>(last - first) + 8);
    for (auto e = first; e < last; ++e) {
      const auto edge = in.edge(static_cast<std::size_t>(e));
      if (edge.weight > at.distance) continue;
      const Weight from = at.distance - edge.weight, label = forward.label(edge.target);
      if (label < forward.radius
              ? label == from
              : from >= forward.radius && backward.label(edge.target) == length - from)
        to_try.push_back({edge.target, from});
    }
    std::sort(to_try.begin() + static_cast<std::ptrdiff_t>(end), to_try.end(),
              [](const Place& a, const Place& b) { return a.vertex > b.vertex; });
  }
  std::vector<Index> path;
  for (auto turn = way.rbegin(); turn != way.rend(); ++turn) path.push_back(turn->at.vertex);
  return path;
}

template <class Weight>
struct Found {
  std::vector<Index> path;  // empty: there is none within the limit
  Weight length = 0;
  std::size_t settled = 0, edges = 0;
};

// Returns nothing if it gives up: after `budget` edges, or where the dtype or edges of weight 0
// require a search of the whole graph. least: the least weight of the graph. Without `traces`, the
// path is left out.
template <class C>
std::optional<Found<typename C::Weight>> between(const C& out, const C& in, Index source,
                                                 Index target, typename C::Weight limit,
                                                 typename C::Weight least, std::size_t budget,
                                                 bool traces, Interrupt& interrupt) {
  using Weight = typename C::Weight;
  using Sum = SumOf<Weight>;
  constexpr Weight kFar = Side<C>::kFar;
  Side<C> forward(out, source, limit), backward(in, target, bounded::farthest<Weight>({}));
  Weight best = source == target ? 0 : kFar;
  bool lost = false;  // whether the length of a path does not fit the dtype
  const auto meet = [&](const Side<C>& other) {
    return [&](Index v, Weight d) {
      const Weight rest = other.label(v);
      if (rest == kFar) return;
      const Sum sum = candidate(d, rest);
      lost |= sum >= static_cast<Sum>(kFar);
      if (improves(sum, best)) best = static_cast<Weight>(sum);
    };
  };
  // The edges of a path that matters are at most the labels at the end.
  const auto n = static_cast<std::size_t>(out.n);
  const auto labels = [&] { return std::min(n, forward.labels() + backward.labels() + 4); };
  std::size_t most_edges = 0;  // assumed once there is a length, and checked at the end
  // A bound on all rounded sums, in any order, of that many numbers whose exact sum is d.
  const auto with_slack = [](Weight d, std::size_t edges) {
    if constexpr (!std::is_floating_point_v<Weight>) return d;
    return d + 2 * static_cast<Weight>(edges) * std::numeric_limits<Weight>::epsilon() * d;
  };

  while (forward.next() && backward.next()) {
    const Sum sum = candidate(forward.radius, backward.radius);
    if (best != kFar && sum >= static_cast<Sum>(best)) break;
    if (sum > static_cast<Sum>(with_slack(limit, labels()))) {
      lost |= limit == bounded::farthest<Weight>({});
      break;
    }
    const bool first = forward.edges <= backward.edges;
    Side<C>& side = first ? forward : backward;
    if (side.edges + side.degree() > budget) return std::nullopt;
    interrupt.poll(side.degree() + 8);
    const Side<C>& other = first ? backward : forward;
    if (best != kFar && most_edges == 0) most_edges = std::min(n, 64 * labels());
    const Weight most = best == kFar ? kFar : with_slack(best, most_edges);
    const auto can_be_on_a_path = [&](Index v, Weight d) {
      if (most == kFar || candidate(d, other.radius) <= static_cast<Sum>(most)) return true;
      const Weight rest = other.label(v);
      return rest < other.radius && candidate(d, rest) <= static_cast<Sum>(most);
    };
    side.settle(can_be_on_a_path, meet(other));
  }
  Found<Weight> found;
  if (best == kFar && (lost || forward.lost || backward.lost)) return std::nullopt;

  if (best == kFar || (!std::is_floating_point_v<Weight> && (!traces || least > 0))) {
    found.length = best <= limit ? best : kFar;
    found.settled = forward.settled + backward.settled;
    found.edges = forward.edges + backward.edges;
    if constexpr (!std::is_floating_point_v<Weight>)
      if (traces && found.length != kFar)
        found.path = traced(in, forward, backward, source, target, best, interrupt);
    return found;
  }
  const Weight reach = with_slack(best, labels());
  const auto on_a_path = [&](Index v, Weight d) {
    const Weight label = backward.label(v);
    const Sum rest = label == kFar ? candidate(backward.radius, least)
                                   : static_cast<Sum>(std::min(label, backward.radius));
    return rest < static_cast<Sum>(kFar) &&
           candidate(d, static_cast<Weight>(rest)) <= static_cast<Sum>(reach);
  };
  forward.keep(on_a_path);
  while (forward.next() && forward.vertex() != target) {
    interrupt.poll(forward.degree() + 8);
    forward.settle(on_a_path, [](Index, Weight) {});
  }
  if (std::is_floating_point_v<Weight> && most_edges != 0 && labels() > most_edges)
    return std::nullopt;
  found.settled = forward.settled + backward.settled;
  found.edges = forward.edges + backward.edges;
  found.length = forward.label(target);
  if (found.length == kFar && forward.lost) return std::nullopt;
  if (found.length == kFar || !traces) return found;

  found.path.push_back(target);
  for (Index v = target; v != source;) {
    const Weight d = forward.label(v);
    Index before = -1;
    for (auto e = in.indptr[v]; e < in.indptr[v + 1]; ++e) {
      const auto edge = in.edge(static_cast<std::size_t>(e));
      const Weight from = forward.label(edge.target);
      if (from < d && candidate(from, edge.weight) == static_cast<Sum>(d) &&
          (before < 0 || edge.target < before))
        before = edge.target;
    }
    if (before < 0) return std::nullopt;  // at the end of edges of weight 0
    found.path.push_back(v = before);
  }
  std::reverse(found.path.begin(), found.path.end());
  return found;
}

// Calls f with the rows of a graph and of its transpose.
template <class F>
nb::object visit_both(GraphView& out, GraphView& in, F&& f) {
  return out.visit([&](const auto& csr) -> nb::object {
    using Plain = std::decay_t<decltype(csr)>;
    using C = bounded::EitherCsr<typename Plain::Weight>;
    return in.visit([&](const auto& reversed) -> nb::object {
      if constexpr (!std::is_same_v<Plain, std::decay_t<decltype(reversed)>>) {
        throw nb::type_error("a graph and its transpose have the same dtypes");
      } else {
        if (reversed.n != csr.n) throw nb::type_error("a graph and its transpose have equal sizes");
        return f(C(csr, false), C(reversed, false));
      }
    });
  });
}

// Returns (vertices of the path, length, vertices settled, edges read), or None if it gave up.
// Without a path the vertices are empty.
nb::object path_between(GraphView& out, GraphView& in, int64_t source, int64_t target,
                        std::optional<double> limit, double least, uint64_t budget) {
  return visit_both(out, in, [&](const auto& csr, const auto& reversed) -> nb::object {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    const auto n = static_cast<int64_t>(csr.n);
    if (source < 0 || source >= n || target < 0 || target >= n)
      throw nb::index_error("source and target are vertices");
    std::optional<Found<Weight>> found;
    {
      nb::gil_scoped_release release;
      Interrupt interrupt;
      found = between(csr, reversed, static_cast<Index>(source), static_cast<Index>(target),
                      bounded::farthest<Weight>(limit), static_cast<Weight>(least), budget, true,
                      interrupt);
    }
    if (!found) return nb::none();
    return nb::make_tuple(as_numpy(std::move(found->path)), found->length, found->settled,
                          found->edges);
  });
}

// Writes the distance of each pair to `distances` and whether a search gave up to `given_up`.
// Returns (vertices settled, edges read).
nb::object distances_between(GraphView& out, GraphView& in, const Ids& sources, const Ids& targets,
                             std::optional<double> limit, double least, uint64_t budget,
                             int threads, const Array& distances, const Array& given_up) {
  return visit_both(out, in, [&](const auto& csr, const auto& reversed) -> nb::object {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    const std::size_t count = sources.size();
    if (targets.size() != count) throw nb::type_error("one target per source");
    check_vertices(sources, static_cast<std::size_t>(csr.n), "source is not a vertex");
    check_vertices(targets, static_cast<std::size_t>(csr.n), "target is not a vertex");
    auto* const lengths = checked<Weight>(distances, count, "distances");
    auto* const gave_up = checked<uint8_t>(given_up, count, "given_up");
    const auto bound = bounded::farthest<Weight>(limit);
    std::atomic<uint64_t> settled{0}, edges{0};
    {
      nb::gil_scoped_release release;
      spread_blocks(static_cast<int64_t>(count), 4, threads,
                    [&](const auto& each_block, Interrupt& interrupt) {
                      each_block([&](int64_t first, int64_t last) {
                        for (int64_t i = first; i < last; ++i) {
                          const auto found =
                              between(csr, reversed, static_cast<Index>(sources.data()[i]),
                                      static_cast<Index>(targets.data()[i]), bound,
                                      static_cast<Weight>(least), budget, false, interrupt);
                          gave_up[i] = !found;
                          if (!found) continue;
                          lengths[i] = found->length;
                          settled += found->settled;
                          edges += found->edges;
                        }
                      });
                    });
    }
    return nb::make_tuple(settled.load(), edges.load());
  });
}

}  // namespace
}  // namespace nearfar::bidirectional

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("path_between", &bidirectional::path_between, arg("view"), arg("transposed"), arg("source"),
        arg("target"), arg("limit").none(), arg("least"), arg("budget"));
  m.def("distances_between", &bidirectional::distances_between, arg("view"), arg("transposed"),
        arg("sources"), arg("targets"), arg("limit").none(), arg("least"), arg("budget"),
        arg("threads"), arg("distances"), arg("given_up"));
}
}  // namespace nearfar
