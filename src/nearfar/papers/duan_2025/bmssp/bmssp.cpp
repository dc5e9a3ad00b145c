// bmssp@cpu: bounded multi-source shortest paths, which sorts less than Dijkstra's method.
//
// R. Duan, J. Mao, X. Mao, X. Shu, L. Yin, "Breaking the sorting barrier for directed single-source
// shortest paths", STOC 2025: Algorithms 1 (FindPivots), 2 (BaseCase) and 3 (BMSSP), with the queue
// of Lemma 3.3 (partial_order.hpp). O(m log^(2/3) n) additions and comparisons.
//
// Total order. The algorithm assumes that no two paths have the same length. As in the paper's
// Assumption 2.1, paths are compared by length, then number of edges, then vertices: a vertex's key
// is (distance, hops, vertex), and of two paths to a vertex the one with the smaller (distance,
// hops, predecessor) is better. So zero-weight cycles and ties need no special treatment.
//
// Departures: the transformation to a graph of constant degree is optional, because it makes the
// graph six times larger; superseded keys are dropped when they are found instead of deleted; sets
// are arrays with stamps.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "cpu/bindings/call.hpp"
#include "papers/duan_2025/bmssp/partial_order.hpp"

namespace nearfar::bmssp {
namespace {

struct Counts {
  uint64_t relaxations = 0, calls = 0, base_cases = 0, heap_pops = 0, inserts = 0, prepends = 0;
  uint64_t sources = 0, pivots = 0;  // total sizes of FindPivots' input and result
};

struct Parameters {
  std::size_t k, t;
};

// Returns the paper's k and t, unless the caller gives others.
Parameters parameters(std::size_t n, int k, int t) {
  const double log = std::log2(std::max<double>(static_cast<double>(n), 2));
  return {k > 0 ? static_cast<std::size_t>(k)
                : std::max<std::size_t>(1, static_cast<std::size_t>(std::cbrt(log))),
          t > 0 ? static_cast<std::size_t>(t)
                : std::max<std::size_t>(1, static_cast<std::size_t>(std::cbrt(log * log)))};
}

template <class C>
class Search {
 public:
  using Weight = typename C::Weight;

  Search(const C& csr, Weight* distance, Weight limit, Parameters parameters, Interrupt& interrupt)
      : csr_(csr),
        distance_(distance),
        limit_(limit),
        k_(parameters.k),
        t_(parameters.t),
        interrupt_(interrupt),
        labels_(static_cast<std::size_t>(csr.n)) {}

  Counts run(Index source) {
    const auto n = static_cast<std::size_t>(csr_.n);
    std::fill_n(distance_, n, unreached<Weight>());
    distance_[source] = 0;
    std::size_t level = 0;
    while (power(level) < n) ++level;
    const std::vector<Index> sources{source};
    std::vector<Index> settled;
    solve(level, ~Key{0}, sources, settled);
    return counts_;
  }

  // Current set and superseded keys, for PartialOrder.
  void begin() {
    if (++stamp_ != 0) return;
    for (Label& one : labels_) one.stamp = 0;
    stamp_ = 1;
  }
  bool add(Index v) { return std::exchange(label(v).stamp, stamp_) != stamp_; }
  bool add(Key one) { return add(vertex(one)); }
  bool has(Index v) { return label(v).stamp == stamp_; }
  bool current(Key one) { return key(vertex(one)) == one; }

 private:
  struct Label {
    uint32_t hops = 0;
    uint32_t stamp = 0;  // last set that contained the vertex
    Index before = -1;   // predecessor
    Weight above = 0;    // the predecessor's distance when it set this one
    Index root = -1;     // of the vertex's tree in FindPivots
    uint32_t size = 0;   // of the tree rooted at the vertex
  };

  Label& label(Index v) { return labels_[static_cast<std::size_t>(v)]; }
  std::size_t power(std::size_t level) const {  // 2^(level t)
    return level * t_ >= 62 ? std::size_t{1} << 62 : std::size_t{1} << (level * t_);
  }

  Key key(Index v) {
    return (static_cast<Key>(ordered_bits(distance_[v])) << 64) |
           (static_cast<Key>(label(v).hops) << 32) | static_cast<uint32_t>(v);
  }
  static Index vertex(Key key) { return static_cast<Index>(static_cast<uint32_t>(key)); }

  // Whether the path through u is at most as long as the best known path to v; if so, replaces it.
  NEARFAR_INLINE bool relax(Index u, Index v, Weight w) {
    ++counts_.relaxations;
    const auto sum = candidate(distance_[u], w);
    const auto old = static_cast<SumOf<Weight>>(distance_[v]);
    if (sum > old || !improves(sum, unreached<Weight>())) return false;
    if (static_cast<Weight>(sum) > limit_) return false;
    Label& to = label(v);
    const uint32_t hops = label(u).hops + 1;
    // Rounding can make a path through u longer in hops and no shorter; v then follows its
    // predecessor.
    if (sum == old && u != to.before && (hops > to.hops || (hops == to.hops && u > to.before)))
      return false;
    distance_[v] = static_cast<Weight>(sum);
    to.hops = hops;
    to.before = u;
    to.above = distance_[u];
    return true;
  }

  template <class F>
  NEARFAR_INLINE void each_edge(Index u, F&& f) {
    const auto begin = static_cast<std::size_t>(csr_.indptr[u]);
    const auto end = static_cast<std::size_t>(csr_.indptr[u + 1]);
    interrupt_.poll(end - begin + 1);
    for (std::size_t e = begin; e < end; ++e) f(csr_.indices[e], csr_.weights[e]);
  }

  // Algorithm 1: k rounds of relaxing from the sources below `bound`. `near` becomes the vertices
  // visited, `pivots` the sources that are roots of a tree of at least k of them, or all sources if
  // many are visited.
  void find_pivots(Key bound, const std::vector<Index>& sources, std::vector<Index>& pivots,
                   std::vector<Index>& near) {
    std::vector<Index> frontier(sources), next;
    near = sources;
    for (std::size_t round = 0; round < k_; ++round) {
      next.clear();
      begin();
      for (const Index u : frontier)
        each_edge(u, [&](Index v, Weight w) {
          if (relax(u, v, w) && key(v) < bound && add(v)) next.push_back(v);
        });
      near.insert(near.end(), next.begin(), next.end());
      frontier.swap(next);
      begin();
      std::erase_if(near, [this](Index v) { return !add(v); });
      if (near.size() > k_ * sources.size()) {
        pivots = sources;
        return;
      }
    }
    // Finds the roots of the trees of tight edges within `near`, the current set.
    for (const Index v : near) label(v).root = -1, label(v).size = 0;
    for (const Index v : near) {
      path_.clear();
      Index u = v;
      for (; label(u).root < 0 && is_child(label(u)); u = label(u).before) path_.push_back(u);
      const Index root = label(u).root < 0 ? u : label(u).root;
      label(u).root = root;
      for (const Index one : path_) label(one).root = root;
      ++label(root).size;
    }
    for (const Index v : sources)
      if (label(v).root == v && label(v).size >= k_) pivots.push_back(v);
  }

  // Whether a tight edge from a vertex of the set leads to the vertex.
  bool is_child(const Label& to) {
    return to.before >= 0 && has(to.before) && to.above == distance_[to.before] &&
           label(to.before).hops + 1 == to.hops;
  }

  // Algorithm 2: finds the k vertices nearest to one source with a heap. Returns the key of the
  // next vertex, or the bound if there is none.
  Key base_case(Key bound, Index source, std::vector<Index>& settled) {
    ++counts_.base_cases;
    heap_.clear();
    heap_.push_back(key(source));
    const std::size_t first = settled.size();
    Key last = ~Key{0};
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const Key top = heap_.back();
      heap_.pop_back();
      ++counts_.heap_pops;
      const Index u = vertex(top);
      if (top == last || top != key(u)) continue;  // popped twice or superseded
      last = top;
      if (settled.size() - first == k_) return top;
      settled.push_back(u);
      each_edge(u, [&](Index v, Weight w) {
        if (!relax(u, v, w) || key(v) >= bound) return;
        heap_.push_back(key(v));
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      });
    }
    return bound;
  }

  // Algorithm 3. Settles the vertices below the bound that it returns, by paths through `sources`.
  Key solve(std::size_t level, Key bound, const std::vector<Index>& sources,
            std::vector<Index>& settled) {
    ++counts_.calls;
    if (level == 0) return base_case(bound, sources.front(), settled);
    std::vector<Index> pivots, near;
    find_pivots(bound, sources, pivots, near);
    counts_.sources += sources.size();
    counts_.pivots += pivots.size();
    PartialOrder<Search> waiting(power(level - 1), bound, *this);
    for (const Index v : pivots) waiting.insert(key(v));
    Key done = bound;
    const std::size_t first = settled.size();
    std::vector<Key> pulled, batch;
    std::vector<Index> part;
    while (settled.size() - first < k_ * power(level) && !waiting.empty()) {
      const Key next = waiting.pull(pulled);
      part.clear();
      for (const Key one : pulled) part.push_back(vertex(one));
      const std::size_t begun = settled.size();
      done = solve(level - 1, next, part, settled);
      batch.clear();
      for (std::size_t i = begun; i < settled.size(); ++i) {
        const Index u = settled[i];
        each_edge(u, [&](Index v, Weight w) {
          if (!relax(u, v, w)) return;
          const Key now = key(v);
          if (now >= next && now < bound) {
            ++counts_.inserts;
            waiting.insert(now);
          } else if (now >= done && now < next) {
            batch.push_back(now);
          }
        });
      }
      for (const Index v : part)
        if (const Key now = key(v); now >= done && now < next) batch.push_back(now);
      begin();
      std::erase_if(batch, [this](Key one) { return !current(one) || !add(one); });
      counts_.prepends += batch.size();
      waiting.prepend(batch);
    }
    if (waiting.empty()) done = bound;
    begin();
    for (std::size_t i = first; i < settled.size(); ++i) add(settled[i]);
    for (const Index v : near)
      if (key(v) < done && add(v)) settled.push_back(v);
    return done;
  }

  const C& csr_;
  Weight* const distance_;
  const Weight limit_;
  const std::size_t k_, t_;
  Interrupt& interrupt_;
  std::vector<Label> labels_;
  uint32_t stamp_ = 0;
  std::vector<Index> path_;
  std::vector<Key> heap_;
  Counts counts_;
};

// A graph of constant degree with the same distances: every vertex becomes a cycle of zero-weight
// edges with one vertex per incoming or outgoing edge. place[v] is the first vertex of v's cycle.
template <class C>
struct ConstantDegree {
  using Weight = typename C::Weight;
  std::vector<Index> place, indptr, indices;
  std::vector<Weight> weights;
  C csr;

  explicit ConstantDegree(const C& given) : csr(given) {
    const auto n = static_cast<std::size_t>(given.n), m = static_cast<std::size_t>(given.m);
    if (2 * m + n > static_cast<std::size_t>(std::numeric_limits<Index>::max()) / 2)
      throw std::length_error("the graph of constant degree needs vertices of 64 bits");
    place.assign(n + 1, 0);
    for (std::size_t v = 0; v < n; ++v)
      place[v + 1] += static_cast<Index>(given.indptr[v + 1] - given.indptr[v]);
    for (std::size_t e = 0; e < m; ++e) ++place[static_cast<std::size_t>(given.indices[e]) + 1];
    for (std::size_t v = 0; v < n; ++v) place[v + 1] = place[v] + std::max<Index>(place[v + 1], 1);
    const auto total = static_cast<std::size_t>(place[n]);
    std::vector<Index> next(place.begin(), place.end() - 1);  // the next free place of each cycle
    std::vector<Index> target(total, -1);
    std::vector<Weight> weight(total, 0);
    for (std::size_t v = 0; v < n; ++v)
      for (auto e = static_cast<std::size_t>(given.indptr[v]);
           e < static_cast<std::size_t>(given.indptr[v + 1]); ++e) {
        const auto from = static_cast<std::size_t>(next[v]++);
        target[from] = next[static_cast<std::size_t>(given.indices[e])]++;
        weight[from] = given.weights[e];
      }
    indptr.push_back(0);
    for (std::size_t v = 0; v < n; ++v)
      for (Index at = place[v]; at < place[v + 1]; ++at) {
        if (place[v + 1] - place[v] > 1) {
          indices.push_back(at + 1 < place[v + 1] ? at + 1 : place[v]);
          weights.push_back(0);
        }
        if (target[static_cast<std::size_t>(at)] >= 0) {
          indices.push_back(target[static_cast<std::size_t>(at)]);
          weights.push_back(weight[static_cast<std::size_t>(at)]);
        }
        indptr.push_back(static_cast<Index>(indices.size()));
      }
    csr.n = static_cast<Index>(total);
    csr.m = static_cast<int64_t>(indices.size());
    csr.indptr = indptr.data();
    csr.indices = indices.data();
    csr.weights = weights.data();
    csr.edges = nullptr;
  }
};

template <class C>
Counts search(const C& csr, Index source, typename C::Weight* distances,
              StopRule<typename C::Weight> stop, int k, int t, bool constant_degree,
              Interrupt& interrupt) {
  if (constant_degree) {
    const ConstantDegree<C> wide(csr);
    std::vector<typename C::Weight> found(static_cast<std::size_t>(wide.csr.n));
    const Parameters chosen = parameters(found.size(), k, t);
    const Counts counts = Search<C>(wide.csr, found.data(), stop.limit, chosen, interrupt)
                              .run(wide.place[static_cast<std::size_t>(source)]);
    for (std::size_t v = 0; v < static_cast<std::size_t>(csr.n); ++v)
      distances[v] = found[static_cast<std::size_t>(wide.place[v])];
    return counts;
  } else {
    const Parameters chosen = parameters(static_cast<std::size_t>(csr.n), k, t);
    return Search<C>(csr, distances, stop.limit, chosen, interrupt).run(source);
  }
}

}  // namespace
}  // namespace nearfar::bmssp

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def(
      "bmssp",
      [](GraphView& view, int64_t source, Array distances, int k, int t, bool constant_degree,
         std::optional<double> limit) -> Fields {
        bmssp::Counts counts;
        call_search(view, false, source, distances, limit, std::nullopt, 1,
                    [&](const auto& csr, auto from, auto* out, auto stop, Interrupt& interrupt) {
                      counts =
                          bmssp::search(csr, from, out, stop, k, t, constant_degree, interrupt);
                      return SearchStats{};
                    });
        nb::dict stats;
        stats["edges_relaxed"] = counts.relaxations;
        stats["calls"] = counts.calls;
        stats["base_cases"] = counts.base_cases;
        stats["heap_pops"] = counts.heap_pops;
        stats["inserts"] = counts.inserts;
        stats["prepends"] = counts.prepends;
        stats["sources"] = counts.sources;
        stats["pivots"] = counts.pivots;
        return stats;
      },
      arg("view"), arg("source"), arg("distances"), arg("k"), arg("t"), arg("constant_degree"),
      arg("limit") = nb::none());
}
}  // namespace nearfar
