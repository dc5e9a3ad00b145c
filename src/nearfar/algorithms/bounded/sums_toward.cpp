// Sums of weights from sources to targets, given the distances to the targets in the other
// direction.
//
// Both directions add the same weights in another order, so the sums differ in their last bits. A
// path whose sum from the source is least is, but for rounding, as short as the path whose sum from
// the target is least, so each of its edges is tight but for rounding. Few vertices have several
// such edges: all paths are followed, the one whose end is farthest from the target first, so that
// they meet again. Where there are many, as in grids, a sum is not decided.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/bounded/each_source.hpp"
#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar::bounded {
namespace {

constexpr double kUndecided = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kTried = 16;  // undecided sums after which, if most are, others are not tried

// Paths to one target. The next edge of a vertex is found when a path first gets there.
template <class C>
class Toward {
 public:
  explicit Toward(const C& csr) : csr_(csr), next_(csr.n) {}

  // `slack`: how far from tight an edge of a least sum may be.
  void begin(Index target, const double* back, double slack) {
    std::fill(next_.begin(), next_.end(), Step{kUnknown, 0});
    target_ = target, back_ = back, slack_ = slack;
  }

  double sum(Index source) {
    if (std::isinf(back_[source])) return back_[source];
    double least = std::numeric_limits<double>::infinity();
    paths_.assign(1, {source, 0});
    near_.clear();
    for (std::size_t steps = 0; !paths_.empty(); ++steps) {
      if (paths_.size() > kMostPaths || near_.size() > kMostNear || steps > next_.size())
        return kUndecided;
      const auto last = std::max_element(paths_.begin(), paths_.end(),
                                         [&](Step a, Step b) { return back_[a.to] < back_[b.to]; });
      const Step path = *last;
      *last = paths_.back();
      paths_.pop_back();
      if (path.to == target_) {
        least = std::min(least, path.weight);
        continue;
      }
      if (passed(path)) continue;
      if (next_[path.to].to == kUnknown) next_[path.to] = only(path.to);
      const Step next = next_[path.to];
      if (next.to == kSeveral)
        each_tight(path.to, [&](Index to, double weight) { offer(to, path.weight + weight); });
      else
        offer(next.to, path.weight + next.weight);
    }
    return std::isinf(least) ? kUndecided : least;
  }

 private:
  static constexpr Index kSeveral = std::numeric_limits<Index>::max(), kUnknown = kSeveral - 1;
  static constexpr std::size_t kMostPaths = 16, kMostNear = 64;
  struct Step {
    Index to;
    double weight;  // of an edge, or of a path so far
  };

  template <class F>
  void each_tight(Index v, F&& f) const {
    const auto end = static_cast<std::size_t>(csr_.indptr[v + 1]);
    for (auto e = static_cast<std::size_t>(csr_.indptr[v]); e < end; ++e) {
      const auto edge = csr_.edge(e);
      const double weight = static_cast<double>(edge.weight);
      if (edge.target != v && weight + back_[edge.target] <= back_[v] + slack_)
        f(edge.target, weight);
    }
  }

  // Returns the tight edge of a vertex, the least of parallel ones, if there is one.
  Step only(Index v) const {
    Step found{kUnknown, 0};
    each_tight(v, [&](Index to, double weight) {
      if (found.to == kUnknown || (found.to == to && weight < found.weight))
        found = {to, weight};
      else if (found.to != to)
        found.to = kSeveral;
    });
    return found.to == kUnknown ? Step{kSeveral, 0} : found;
  }

  // Returns whether a path as short was continued from the same vertex; edges of weight 0, or
  // within rounding, lead back to vertices as near to the target as this one.
  bool passed(Step path) {
    if (!near_.empty() && back_[near_.front().to] > back_[path.to] + slack_) near_.clear();
    for (Step& other : near_)
      if (other.to == path.to) {
        if (other.weight <= path.weight) return true;
        other.weight = path.weight;
        return false;
      }
    near_.push_back(path);
    return false;
  }

  void offer(Index to, double sum) {
    for (Step& path : paths_)
      if (path.to == to) {
        path.weight = std::min(path.weight, sum);
        return;
      }
    paths_.push_back({to, sum});
  }

  const C& csr_;
  std::vector<Step> next_;
  std::vector<Step> paths_, near_;  // paths by their ends; those continued last
  Index target_ = 0;
  const double* back_ = nullptr;
  double slack_ = 0;
};

// out[i, j]: the sum from source i to target j, from the left, or NaN if it is not decided; back[j,
// v]: the distance from v to target j, summed from the right.
void sums_toward(GraphView& view, const Ids& sources, const Ids& targets, const Array& back,
                 double least_weight, const Array& out, int threads) {
  const std::size_t k = sources.size(), count = targets.size();
  double* const found = checked<double>(out, k * count, "out");
  const auto run = [&](const auto& csr) {
    using C = std::decay_t<decltype(csr)>;
    if constexpr (!std::is_same_v<typename C::Weight, double>) throw nb::type_error("float64");
    const auto n = static_cast<std::size_t>(csr.n);
    const double* const distances = checked<double>(back, count * n, "back");
    for (const auto* ids : {&sources, &targets})
      for (std::size_t i = 0; i < ids->size(); ++i)
        if (ids->data()[i] < 0 || at(ids->data()[i]) >= n) throw nb::index_error("not a vertex");
    nb::gil_scoped_release release;
    spread_blocks(static_cast<int64_t>(count), 1, threads, [&](const auto& each, Interrupt& poll) {
      Toward<C> toward(csr);
      each([&](int64_t first, int64_t last) {
        for (std::size_t j = at(first); j < at(last); ++j) {
          const double* const row = distances + j * n;
          double longest = 0;
          for (std::size_t i = 0; i < k; ++i)
            if (const double d = row[sources.data()[i]]; !std::isinf(d))
              longest = std::max(longest, d);
          // Each sum of a path is off by an epsilon per edge at most, and five sums are compared.
          const double edges = std::min(static_cast<double>(n), longest / least_weight + 2);
          const double slack = 5 * edges * std::numeric_limits<double>::epsilon() * longest;
          poll.poll(n);
          toward.begin(static_cast<Index>(targets.data()[j]), row, slack);
          std::size_t undecided = 0;
          for (std::size_t i = 0; i < k; ++i) {
            const bool hopeless = undecided > kTried && 2 * undecided > i;
            double& sum = found[i * count + j];
            sum = hopeless ? kUndecided : toward.sum(static_cast<Index>(sources.data()[i]));
            undecided += std::isnan(sum);
          }
        }
      });
    });
  };
  visit_rows(view, count, threads, run);
}

}  // namespace
}  // namespace nearfar::bounded

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("sums_toward", &bounded::sums_toward, arg("view"), arg("sources"), arg("targets"),
        arg("back"), arg("least_weight"), arg("out"), arg("threads"));
}
}  // namespace nearfar
