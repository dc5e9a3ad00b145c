// Which labels can be worked on at once, and workers that go through them.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "cpu/interrupt.hpp"
#include "cpu/worker_pool.hpp"
#include "prepared/arcs_view.hpp"
#include "prepared/structure.hpp"

namespace nearfar::prepared {

ArcsView::ArcsView(Ints vertex, Ints label, Ints parent, Ints depth, Ints low, Longs first,
                   Ints head_depth, Longs lower_first, Ints lower_arc, Ints lower_tail,
                   Longs edge_first, Ints edge, Ints edge_place)
    : ints_{vertex, label, parent, depth, low, head_depth, lower_arc, lower_tail, edge, edge_place},
      longs_{first, lower_first, edge_first} {
  const std::size_t n = vertex.size();
  for (int i = 0; i < 5; ++i)
    if (ints_[at(i)].size() != n) throw nb::type_error("arcs: wrong size of an array per vertex");
  for (const Longs& array : longs_)
    if (array.size() != n + 1) throw nb::type_error("arcs: wrong size of an array of row starts");
  const std::size_t all = head_depth.size();
  if (at(first.data()[n]) != all || at(lower_first.data()[n]) != all || lower_arc.size() != all ||
      lower_tail.size() != all || at(edge_first.data()[n]) != edge.size() ||
      edge.size() != edge_place.size())
    throw nb::type_error("arcs: wrong size of an array per arc");
  int32_t height = 0;
  for (std::size_t v = 0; v < n; ++v) height = std::max(height, depth.data()[v] + 1);
  arcs_ = {static_cast<int32_t>(n),
           height,
           static_cast<int64_t>(all),
           vertex.data(),
           label.data(),
           parent.data(),
           depth.data(),
           low.data(),
           first.data(),
           head_depth.data(),
           lower_first.data(),
           lower_arc.data(),
           lower_tail.data(),
           edge_first.data(),
           edge.data(),
           edge_place.data(),
           static_cast<int64_t>(edge.size())};
}

const Levels& ArcsView::levels(int threads) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [count, made] : levels_)
    if (count == threads) return *made;
  auto out = std::make_unique<Levels>();
  const Arcs& a = arcs_;
  const auto n = at(a.n);
  // Triangles and arcs below each label, and itself.
  std::vector<int64_t> cost(n, 0);
  for (std::size_t v = 0; v < n; ++v) {
    const int64_t arcs = a.first[v + 1] - a.first[v];
    cost[v] += arcs * (arcs - 1) / 2 + 4 * arcs + 8;
    if (a.parent[v] >= 0) cost[at(a.parent[v])] += cost[v];
  }
  int64_t total = 0;
  for (std::size_t v = 0; v < n; ++v)
    if (a.parent[v] < 0) total += cost[v];
  const int64_t cut = threads == 1 ? total : std::max<int64_t>(20000, total / (threads * 16));
  std::vector<int32_t> level(n, -1);  // of labels on top; rising towards the roots
  for (std::size_t v = 0; v < n; ++v) {
    const int32_t up = a.parent[v];
    if (cost[v] <= cut) {
      if (up < 0 || cost[at(up)] > cut)
        out->subtrees.push_back({a.low[v], static_cast<int32_t>(v)});
      continue;
    }
    // A chain goes on from the label before where that is the only child on top.
    int children = 0;
    int32_t below = -1, highest = -1;
    for (int32_t c = static_cast<int32_t>(v) - 1; c >= a.low[v]; c = a.low[at(c)] - 1) {
      if (cost[at(c)] <= cut) continue;
      ++children;
      below = c;
      highest = std::max(highest, level[at(c)]);
    }
    const bool goes_on = children == 1 && below == static_cast<int32_t>(v) - 1;
    level[v] = goes_on ? level[at(below)] : highest + 1;
    if (at(level[v]) >= out->chains.size()) out->chains.resize(at(level[v]) + 1);
    auto& chains = out->chains[at(level[v])];
    const auto me = static_cast<int32_t>(v);
    if (goes_on)
      chains.back().to = me;
    else
      chains.push_back({me, me});
  }
  std::stable_sort(out->subtrees.begin(), out->subtrees.end(),
                   [&](auto& x, auto& y) { return cost[at(x.to)] > cost[at(y.to)]; });
  levels_.emplace_back(threads, std::move(out));
  return *levels_.back().second;
}

namespace {

// Workers that pass through phases together; worker 0 is the caller and looks for Ctrl-C.
class Phases {
 public:
  Phases(int threads, const Levels& levels, bool up, LevelWork& work)
      : threads_(threads),
        levels_(levels),
        up_(up),
        work_(work),
        counters_(1 + 2 * levels.chains.size()),
        meet_(static_cast<uint32_t>(threads)) {}

  void run() {
    Interrupt interrupt;
    WorkerPool::shared().run(threads_, [&](int worker) {
      if (worker != 0) return pass(worker, nullptr);
      try {
        pass(worker, &interrupt);
      } catch (...) {
        stopped_ = true;
        meet_.arrive_and_wait();
        throw;
      }
    });
  }

 private:
  void pass(int worker, Interrupt* interrupt) {
    std::size_t phase = 0;
    auto share = [&](std::size_t count, auto&& f) {
      auto& counter = counters_[phase++];
      for (std::size_t i; !stopped_ && (i = counter++) < count;) {
        if (interrupt != nullptr) interrupt->poll(1 << 14);
        f(i);
      }
      meet_.arrive_and_wait();
      return !stopped_;
    };
    auto subtrees = [&] {
      return share(levels_.subtrees.size(), [&](std::size_t i) {
        work_.subtree(worker, levels_.subtrees[i].from, levels_.subtrees[i].to);
      });
    };
    if (up_ && !subtrees()) return;
    for (std::size_t l = 0; l < levels_.chains.size(); ++l) {
      const auto& chains = levels_.chains[up_ ? l : levels_.chains.size() - 1 - l];
      std::size_t all = 0;
      if (work_.any_alone())
        for (const auto& chain : chains) all += at(chain.to - chain.from + 1);
      const bool on = all == 0 || share(all, [&](std::size_t i) {
                        auto left = static_cast<int32_t>(i);
                        for (const auto& chain : chains) {
                          const int32_t size = chain.to - chain.from + 1;
                          if (left < size) return work_.alone(worker, chain.from + left, chain);
                          left -= size;
                        }
                      });
      if (!on) return;
      if (!share(chains.size(), [&](std::size_t i) { work_.chain(worker, chains[i]); })) return;
    }
    if (!up_) subtrees();
  }

  const int threads_;
  const Levels& levels_;
  const bool up_;
  LevelWork& work_;
  std::vector<std::atomic<std::size_t>> counters_;
  Barrier meet_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

void bottom_up(const ArcsView& view, int threads, LevelWork& work) {
  Phases(threads, view.levels(threads), true, work).run();
}

void top_down(const ArcsView& view, int threads, LevelWork& work) {
  Phases(threads, view.levels(threads), false, work).run();
}

}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  using prepared::ArcsView;
  nb::class_<ArcsView>(m, "PreparedArcs")
      .def(nb::init<ArcsView::Ints, ArcsView::Ints, ArcsView::Ints, ArcsView::Ints, ArcsView::Ints,
                    ArcsView::Longs, ArcsView::Ints, ArcsView::Longs, ArcsView::Ints,
                    ArcsView::Ints, ArcsView::Longs, ArcsView::Ints, ArcsView::Ints>(),
           arg("vertex"), arg("label"), arg("parent"), arg("depth"), arg("low"), arg("first"),
           arg("head_depth"), arg("lower_first"), arg("lower_arc"), arg("lower_tail"),
           arg("edge_first"), arg("edge"), arg("edge_place"))
      .def_prop_ro("n_vertices", [](const ArcsView& view) { return view.arcs().n; })
      .def_prop_ro("first", &ArcsView::first)
      .def_prop_ro("head_depth", &ArcsView::head_depth);
}
}  // namespace nearfar
