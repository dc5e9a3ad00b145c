// The k nearest targets of each origin, by searches that end as soon as no other target can be as
// near.
//
// An origin leaves by one or more vertices and a target is entered from one or more, each at a
// cost, as places on edges are. A total is (cost + distance) + cost, in double precision: that of a
// table of places (solve/places/combine.cpp), with the same bits.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "algorithms/bounded/each_source.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::bounded {
namespace {

using Costs = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ways = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WayCosts = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Targets by key: those of key i are at positions starts[i] to starts[i + 1].
struct TargetLists {
  Ids starts, targets;
  Costs costs;

  void check(std::size_t keys, std::size_t count) const {
    const std::size_t size = targets.size();
    bool right = starts.size() == keys + 1 && costs.size() == size && starts.data()[0] == 0 &&
                 at(starts.data()[keys]) == size &&
                 std::is_sorted(starts.data(), starts.data() + keys + 1);
    for (std::size_t i = 0; right && i < size; ++i)
      right = targets.data()[i] >= 0 && at(targets.data()[i]) < count;
    if (!right) throw nb::index_error("lists of targets: wrong shape, or not a target");
  }

  template <class F>
  void each(std::size_t key, F&& f) const {
    for (int64_t i = starts.data()[key]; i < starts.data()[key + 1]; ++i)
      f(targets.data()[i], costs.data()[i]);
  }
};

// The k nearest targets so far, each once, nearest first, ties in order of the targets.
class NearestSoFar {
 public:
  struct One {
    double total;
    int64_t target;
  };

  NearestSoFar(std::size_t k, double limit) : k_(k), limit_(limit) {}

  void clear() { all_.clear(); }
  const std::vector<One>& all() const { return all_; }

  // Returns the greatest total that may still count.
  double farthest() const { return all_.size() < k_ ? limit_ : all_.back().total; }

  void offer(double total, int64_t target) {
    if (!(total <= farthest()) || total == std::numeric_limits<double>::infinity()) return;
    const auto same = std::find_if(all_.begin(), all_.end(),
                                   [&](const One& one) { return one.target == target; });
    if (same != all_.end()) {
      if (same->total <= total) return;
      all_.erase(same);
    }
    const auto after = [](const One& a, const One& b) {
      return a.total < b.total || (a.total == b.total && a.target < b.target);
    };
    const One one{total, target};
    all_.insert(std::upper_bound(all_.begin(), all_.end(), one, after), one);
    if (all_.size() > k_) all_.pop_back();
  }

 private:
  const std::size_t k_;
  const double limit_;
  std::vector<One> all_;
};

// Searches of one worker.
template <class C>
class TargetSearch {
 public:
  using Weight = typename C::Weight;

  TargetSearch(const C& csr, const Ints& column_of, const TargetLists& entered)
      : column_of_(column_of), entered_(entered), search_(csr, kAll) {}

  // Offers all targets that may be among the nearest by paths from `vertex`, which costs `cost` to
  // reach.
  void run(Index vertex, double cost, NearestSoFar& best, Interrupt& interrupt) {
    // Sums beyond the limit of a search are not kept: the next try goes farther, the last to the
    // end.
    Weight limit = std::min(usual_, kFarthest);
    for (int tries = 0;; ++tries) {
      search_.begin(vertex, limit, interrupt);
      const bool certain = look(cost, limit, best, interrupt);
      if (certain) break;
      if (limit == kFarthest) {
        exhausted_ = true;
        break;
      }
      limit = tries || limit > kFarthest / 4 ? kFarthest : 4 * limit;
    }
    const Weight reached = (search_.end() - 1)->distance;
    usual_ = reached > kFarthest / 2 ? kFarthest : 2 * reached;
  }

  // Returns whether a search met no vertex beyond its nearest targets.
  bool exhausted() const { return exhausted_; }

 private:
  static constexpr std::size_t kStep = 16;  // vertices settled between two looks at the targets
  const Weight kFarthest = farthest<Weight>(std::nullopt);

  // Continues a search. Returns whether it has found all that it can, within its limit or beyond.
  bool look(double cost, Weight limit, NearestSoFar& best, Interrupt& interrupt) {
    for (std::size_t seen = 0;;) {
      for (; seen < search_.size(); ++seen) {
        const auto& one = search_.begin()[seen];
        const double near = cost + static_cast<double>(one.distance);
        if (near > best.farthest()) return true;
        const int32_t column = column_of_.data()[one.vertex];
        if (column < 0) continue;
        entered_.each(at(column),
                      [&](int64_t target, double into) { best.offer(near + into, target); });
      }
      search_.settle(limit, seen + kStep, interrupt);
      if (search_.size() == seen) return cost + static_cast<double>(limit) > best.farthest();
    }
  }

  const Ints& column_of_;
  const TargetLists& entered_;
  Search<C> search_;
  Weight usual_ = kFarthest;  // limit of the next search
  bool exhausted_ = false;
};

// Writes the k nearest targets of each origin within the limit. `ways` and `way_costs` are the
// vertices by which origins leave, -1 for none; column_of[v] is the key of vertex v in `entered`,
// or -1; `direct` has targets of origins that need no search. Returns whether a search ended
// without a vertex beyond the targets that it found: in a narrow dtype a sum may not have fitted.
bool nearest_targets(GraphView& view, const Ways& ways, const WayCosts& way_costs,
                     const Ints& column_of, const Ids& starts, const Ids& targets,
                     const Costs& costs, const Ids& direct_starts, const Ids& direct_targets,
                     const Costs& direct_costs, int64_t count, double limit,
                     const Array& totals_out, const Array& targets_out, int threads) {
  const std::size_t origins = ways.shape(0), width = ways.shape(1);
  const TargetLists entered{starts, targets, costs},
      direct{direct_starts, direct_targets, direct_costs};
  if (way_costs.shape(0) != origins || way_costs.shape(1) != width || totals_out.ndim() != 2 ||
      !starts.size())
    throw nb::type_error("nearest targets: wrong shape");
  const std::size_t k = totals_out.shape(1);
  double* const totals = checked<double>(totals_out, origins * k, "totals");
  int64_t* const nearest = checked<int64_t>(targets_out, origins * k, "targets");
  entered.check(starts.size() - 1, at(count));
  direct.check(origins, at(count));
  std::atomic<bool> exhausted{false};
  const auto run = [&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    bool right = column_of.size() == at(csr.n) && k > 0;
    for (std::size_t i = 0; right && i < ways.size(); ++i)
      right = ways.data()[i] >= -1 && ways.data()[i] < int64_t(csr.n);
    for (std::size_t v = 0; right && v < column_of.size(); ++v)
      right = column_of.data()[v] < int64_t(starts.size()) - 1;
    if (!right) throw nb::index_error("nearest targets: not a vertex");
    nb::gil_scoped_release release;
    // Origins close together read the same memory.
    std::vector<std::size_t> order(origins);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return width && ways.data()[a * width] < ways.data()[b * width];
    });
    const auto run_length =
        std::clamp<int64_t>(static_cast<int64_t>(origins) / (4 * threads), 1, kRun);
    spread_blocks(static_cast<int64_t>(origins), run_length, threads,
                  [&](const auto& each_block, Interrupt& interrupt) {
                    TargetSearch<C> search(csr, column_of, entered);
                    NearestSoFar best(k, limit);
                    each_block([&](int64_t first, int64_t last) {
                      for (std::size_t i = at(first); i < at(last); ++i) {
                        const std::size_t origin = order[i];
                        best.clear();
                        direct.each(origin,
                                    [&](int64_t target, double cost) { best.offer(cost, target); });
                        for (std::size_t w = origin * width; w < (origin + 1) * width; ++w)
                          if (ways.data()[w] >= 0)
                            search.run(static_cast<Index>(ways.data()[w]), way_costs.data()[w],
                                       best, interrupt);
                        std::size_t to = origin * k;
                        for (const auto& one : best.all()) {
                          totals[to] = one.total;
                          nearest[to++] = one.target;
                        }
                      }
                    });
                    if (search.exhausted()) exhausted = true;
                  });
  };
  visit_rows(view, origins, threads, run);
  return exhausted;
}

}  // namespace
}  // namespace nearfar::bounded

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("nearest_targets", &bounded::nearest_targets, arg("view"), arg("ways"), arg("way_costs"),
        arg("column_of"), arg("starts"), arg("targets"), arg("costs"), arg("direct_starts"),
        arg("direct_targets"), arg("direct_costs"), arg("count"), arg("limit"), arg("totals_out"),
        arg("targets_out"), arg("threads"));
}
}  // namespace nearfar
