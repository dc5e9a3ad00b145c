// The k shortest simple paths between two vertices: Yen 1971 with Lawler's partition (1972).
//
// Every path found splits its part of the solution space: each vertex after the path left its
// parent gives one part, "same beginning, different next vertex". The best path of each part is one
// goal-directed search; a trie of the paths found tells which next vertices are taken. Parts are
// disjoint, so no path is found twice.
//
// A search orders vertices by g + h, with h the distance to the target in the whole graph.
// Integers: h is consistent, so a popped vertex is final. Floats: sums from the source round
// differently from those of h, so a popped vertex may be reopened, and the search ends only when no
// key is within a bound on that rounding of the best path; the sum along the path from its source
// is then exactly the least. Negative floats keep popped vertices final, because a cycle of exact
// weight 0 could improve indefinitely by rounding.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/errors.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {
namespace {

template <class C>
class KShortest {
 public:
  using Weight = typename C::Weight;
  static constexpr bool kFloat = std::is_floating_point_v<Weight>;

  struct Path {
    Weight length;
    std::vector<Index> vertices;
    std::vector<Weight> sums;  // sums[i]: weight of the first i edges
    std::size_t from = 0;      // index where it leaves its parent
    bool operator<(const Path& other) const {
      return length != other.length ? length < other.length : vertices < other.vertices;
    }
  };

  KShortest(const C& csr, const Weight* remaining, Index target)
      : csr_(csr),
        h_(remaining),
        target_(target),
        g_(csr.n, unreached<Weight>()),
        before_(csr.n, -1),
        blocked_(csr.n, 0) {
    for (Index e = 0; e < csr.m; ++e) {
      negative_ |= csr.weights[e] < 0;
      if constexpr (kFloat) scale_ = std::max(scale_, std::abs(csr.weights[e]));
    }
    if constexpr (kFloat) {
      closed_.assign(negative_ ? csr.n : 0, 0);
      Weight most = 0;
      for (Index v = 0; v < csr.n; ++v)
        if (h_[v] != unreached<Weight>()) most = std::max(most, std::abs(h_[v]));
      scale_ += most;
    }
  }

  // Whether a path may overflow 64 bits; it is longer than all that solve() found.
  bool lost() const { return lost_; }

  std::vector<Path> solve(Index source, std::size_t k, Interrupt& interrupt) {
    std::vector<Path> found;
    if (k == 0 || h_[source] == unreached<Weight>()) return found;
    trie_.resize(1);
    std::set<Path> candidates;
    Path start;
    start.vertices = {source};
    start.sums = {0};
    Path path;
    if (!search(start, 0, 0, path, interrupt)) return found;
    candidates.insert(std::move(path));
    while (!candidates.empty()) {
      found.push_back(std::move(candidates.extract(candidates.begin()).value()));
      if (found.size() == k) break;
      const Path& last = found.back();
      const std::vector<std::size_t> nodes = remember(last);
      for (std::size_t i = 0; i + 1 < last.vertices.size(); ++i) {
        if (i >= last.from && search(last, i, nodes[i], path, interrupt)) {
          candidates.insert(std::move(path));
          // Only as many candidates as are still wanted can be used, and none that is longer.
          while (candidates.size() > k - found.size()) candidates.erase(--candidates.end());
        }
        if (candidates.size() == k - found.size()) longest_ = candidates.rbegin()->length;
        blocked_[last.vertices[i]] = 1;
      }
      for (const Index v : last.vertices) blocked_[v] = 0;
      longest_ = unreached<Weight>();
    }
    return found;
  }

 private:
  struct Key {
    Weight key, g;
    Index v;
    bool operator<(const Key& other) const {
      return key != other.key ? key > other.key : v > other.v;  // least first
    }
  };

  // Trie nodes of a path's prefixes, with its next vertices marked as taken.
  std::vector<std::size_t> remember(const Path& path) {
    std::vector<std::size_t> nodes(path.vertices.size());
    for (std::size_t i = 0; i + 1 < path.vertices.size(); ++i) {
      const Index next = path.vertices[i + 1];
      auto& children = trie_[nodes[i]];
      const auto at = std::find_if(children.begin(), children.end(),
                                   [next](const auto& child) { return child.first == next; });
      if (at != children.end()) {
        nodes[i + 1] = at->second;
      } else {
        nodes[i + 1] = trie_.size();
        children.emplace_back(next, trie_.size());
        trie_.emplace_back();
      }
    }
    return nodes;
  }

  // Computes a sum; returns false if it overflows, which makes it longer than all that fit. A
  // search that finds a path loses none by that: a longer path is left to a later search.
  bool fits(Weight a, Weight b, Weight& sum) {
    sum = saturating_add(a, b);
    if (sum != unreached<Weight>()) return true;
    overflowed_ = true;
    return false;
  }

  void reach(Index v, Weight g, Index before) {
    Weight key;
    if (!fits(g, h_[v], key) || key - slack_ > longest_) return;
    if (g_[v] == unreached<Weight>()) touched_.push_back(v);
    g_[v] = g;
    before_[v] = before;
    heap_.push({key, g, v});
  }

  // Finds the best path that shares `base` up to vertex i and takes no next vertex of the trie
  // node.
  bool search(const Path& base, std::size_t i, std::size_t node, Path& out, Interrupt& interrupt) {
    const Index spur = base.vertices[i];
    if constexpr (kFloat)
      slack_ = 4 * static_cast<Weight>(csr_.n) * std::numeric_limits<Weight>::epsilon() *
               (scale_ + std::abs(base.sums[i]));
    Weight best = unreached<Weight>();
    overflowed_ = false;
    reach(spur, base.sums[i], -1);
    while (!heap_.empty()) {
      const Key top = heap_.top();
      heap_.pop();
      if (best != unreached<Weight>() && top.key - slack_ > best) break;
      if (top.g != g_[top.v]) continue;
      if constexpr (kFloat) {
        if (negative_) {
          if (closed_[top.v]) continue;
          closed_[top.v] = 1;
        }
      }
      if (top.v == target_) {
        best = top.g;
        if constexpr (!kFloat) break;
        continue;
      }
      const int64_t begin = csr_.indptr[top.v], end = csr_.indptr[top.v + 1];
      interrupt.poll(static_cast<uint64_t>(end - begin) + 8);
      for (int64_t e = begin; e < end; ++e) {
        const Index t = csr_.indices[e];
        if (blocked_[t] || t == spur || h_[t] == unreached<Weight>()) continue;
        if constexpr (kFloat)
          if (negative_ && closed_[t]) continue;
        if (top.v == spur && taken(node, t)) continue;
        Weight g;
        if (fits(top.g, csr_.weights[e], g) && g < g_[t]) reach(t, g, top.v);
      }
    }
    const bool reached = best != unreached<Weight>();
    lost_ |= overflowed_ && !reached;
    if (reached) {
      out.length = best;
      out.from = i;
      out.vertices.clear();
      for (Index v = target_; v != spur; v = before_[v]) out.vertices.push_back(v);
      out.vertices.insert(out.vertices.end(), base.vertices.rend() - i - 1, base.vertices.rend());
      std::reverse(out.vertices.begin(), out.vertices.end());
      out.sums.assign(base.sums.begin(), base.sums.begin() + i + 1);
      for (std::size_t j = i + 1; j < out.vertices.size(); ++j)
        out.sums.push_back(g_[out.vertices[j]]);
    }
    for (const Index v : touched_) {
      g_[v] = unreached<Weight>();
      if (!closed_.empty()) closed_[v] = 0;
    }
    touched_.clear();
    heap_ = {};
    return reached;
  }

  bool taken(std::size_t node, Index t) const {
    return std::any_of(trie_[node].begin(), trie_[node].end(),
                       [t](const auto& child) { return child.first == t; });
  }

  const C& csr_;
  const Weight* h_;
  Index target_;
  std::vector<Weight> g_;
  std::vector<Index> before_;
  std::vector<char> blocked_, closed_;
  std::vector<Index> touched_;
  std::priority_queue<Key> heap_;
  std::vector<std::vector<std::pair<Index, std::size_t>>> trie_;
  Weight scale_ = 0;
  Weight slack_ = 0;                      // bound on the rounding of a key
  Weight longest_ = unreached<Weight>();  // longest path of use
  bool negative_ = false;
  bool overflowed_ = false;  // in this search
  bool lost_ = false;
};

using Found = nb::typed<nb::list, nb::typed<nb::tuple, std::vector<int64_t>, nb::any>>;

// Returns (vertices, length) of each path. `every`: fail if one of the k paths overflows 64 bits.
Found k_shortest_paths(GraphView& view, const Array& remaining, int64_t source, int64_t target,
                       std::size_t k, bool every) {
  return view.visit([&](const auto& csr) -> Found {
    using C = std::decay_t<decltype(csr)>;
    using Weight = typename C::Weight;
    nb::list out;
    if constexpr (sizeof(Weight) == 4) {
      throw nb::type_error("path lengths are summed in 64 bits: give 64-bit weights");
    } else {
      const auto* h = checked<Weight>(remaining, static_cast<std::size_t>(csr.n), "remaining");
      if (source < 0 || source >= csr.n || target < 0 || target >= csr.n)
        throw nb::index_error("source or target is not a vertex");
      std::vector<typename KShortest<C>::Path> found;
      {
        nb::gil_scoped_release release;
        Interrupt interrupt;
        KShortest<C> solver(csr, h, static_cast<Index>(target));
        found = solver.solve(static_cast<Index>(source), k, interrupt);
        if (every && solver.lost() && found.size() < k)
          throw DistanceOverflow("a path does not fit 64 bits");
      }
      for (const auto& path : found) {
        nb::list vertices;
        for (const Index v : path.vertices) vertices.append(v);
        out.append(nb::make_tuple(vertices, path.length));
      }
    }
    return out;
  });
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("k_shortest_paths", &k_shortest_paths, arg("view"), arg("remaining"), arg("source"),
        arg("target"), arg("k"), arg("every"));
}

}  // namespace nearfar
