// Parts of the tree that can be processed concurrently, and the workers that process them.
//
// There are no barriers: a worker takes the next part in an order in which every part follows those
// that it depends on, and waits only for these, which another worker took earlier.
//
// Memory order. A worker that finished a part decrements the counter of the part above with acquire
// and release, and a worker that loads zero with acquire sees the writes of all of them: decrements
// of one counter form a release sequence. From above, one flag is stored with release. Then the
// signal gets a new number, also with release. A worker that found the part closed either reads the
// new number and checks again, or sleeps on an older one and is woken.
#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>

#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"
#include "cpu/threads/waiting.hpp"
#include "prepared/order/arcs_view.hpp"
#include "prepared/order/structure.hpp"

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

ArcsView ArcsView::with_edges(Longs edge_first, Ints edge, Ints edge_place) const {
  if (edge_first.size() != at(arcs_.n) + 1 || at(edge_first.data()[arcs_.n]) != edge.size() ||
      edge.size() != edge_place.size())
    throw nb::type_error("arcs: wrong size of an array of edges");
  ArcsView other = *this;
  other.longs_[2] = edge_first;
  other.ints_[8] = edge;
  other.ints_[9] = edge_place;
  other.arcs_.edge_first = edge_first.data();
  other.arcs_.edge = edge.data();
  other.arcs_.edge_place = edge_place.data();
  other.arcs_.n_edges = static_cast<int64_t>(edge.size());
  return other;
}

const TreeParts& ArcsView::parts(int threads) const {
  const std::lock_guard<std::mutex> lock(cache_->mutex);
  for (const auto& [count, made] : cache_->parts)
    if (count == threads) return *made;
  auto out = std::make_unique<TreeParts>();
  const Arcs& a = arcs_;
  const auto n = at(a.n);
  // Triangles and arcs below each label, itself included.
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
  std::vector<int32_t> part(n, -1);  // of the highest label of a subtree or one of the remainder
  auto& parts = out->parts;
  for (std::size_t v = 0; v < n; ++v) {
    const auto me = static_cast<int32_t>(v);
    const int32_t up = a.parent[v];
    if (cost[v] <= cut) {
      if (up >= 0 && cost[at(up)] <= cut) continue;
      part[v] = static_cast<int32_t>(parts.size());
      parts.push_back({a.low[v], me, *std::max_element(a.depth + a.low[v], a.depth + v + 1)});
      continue;
    }
    // A chain continues from the previous label, its largest child, if that is the only one in the
    // remainder.
    const int32_t below = me - 1;
    int on_top = 0;
    for (int32_t c = below; c >= a.low[v]; c = a.low[at(c)] - 1) on_top += cost[at(c)] > cut;
    const bool goes_on = on_top == 1 && cost[at(below)] > cut;
    if (goes_on) {
      part[v] = part[at(below)];
      parts[at(part[v])].to = me;
    } else {
      part[v] = static_cast<int32_t>(parts.size());
      parts.push_back({me, me, a.depth[v]});
    }
    TreeParts::Part& mine = parts[at(part[v])];
    for (int32_t c = below; c >= a.low[v]; c = a.low[at(c)] - 1) {
      if (part[at(c)] == part[v]) continue;
      TreeParts::Part& child = parts[at(part[at(c)])];
      child.above = part[v];
      child.next_beside = mine.first_below;
      mine.first_below = part[at(c)];
    }
  }
  // Chains by level, so that consecutive ones do not wait for each other; the most expensive
  // subtrees first.
  const std::size_t count = parts.size();
  std::vector<int32_t> level(count, 0), steps(count, 0);
  out->upwards.resize(count);
  std::iota(out->upwards.begin(), out->upwards.end(), 0);
  std::sort(out->upwards.begin(), out->upwards.end(),
            [&](int32_t x, int32_t y) { return parts[at(x)].to < parts[at(y)].to; });
  for (const int32_t p : out->upwards)
    if (parts[at(p)].above >= 0) {
      int32_t& over = level[at(parts[at(p)].above)];
      over = std::max(over, level[at(p)] + 1);
    }
  for (std::size_t i = count; i-- > 0;) {
    const int32_t p = out->upwards[i];
    if (parts[at(p)].above >= 0) steps[at(p)] = steps[at(parts[at(p)].above)] + 1;
  }
  out->downwards = out->upwards;
  auto by = [&](const std::vector<int32_t>& rank) {
    return [&](int32_t x, int32_t y) {
      if (rank[at(x)] != rank[at(y)]) return rank[at(x)] < rank[at(y)];
      return cost[at(parts[at(x)].to)] > cost[at(parts[at(y)].to)];
    };
  };
  std::stable_sort(out->upwards.begin(), out->upwards.end(), by(level));
  std::stable_sort(out->downwards.begin(), out->downwards.end(), by(steps));
  cache_->parts.emplace_back(threads, std::move(out));
  return *cache_->parts.back().second;
}

namespace {

// Calls work for the parts in an order; a part waits until `open` returns true, and `close` is
// called after it.
template <class Open, class Close>
void in_order(const std::vector<int32_t>& order, int threads, const PartWork& work, Open&& open,
              Close&& close) {
  std::atomic<int> workers{0};
  std::atomic<bool> broken{false};
  std::atomic<uint32_t> events{0};
  Signal signal;  // the number of an event; each is different
  spread(static_cast<int64_t>(order.size()), threads,
         [&](BatchCounter& counter, Interrupt& interrupt) {
           const int worker = workers++;
           try {
             for (int64_t i; (i = counter.take()) >= 0;) {
               const int32_t part = order[at(i)];
               for (uint32_t seen = signal.read(); !open(part); seen = signal.wait_change(seen)) {
                 if (broken) throw GivenUp();
                 interrupt.poll(1 << 14);
               }
               interrupt.poll(1 << 14);
               work(worker, part, interrupt);
               close(part);
               signal.set(++events);
             }
           } catch (...) {
             broken = true;
             signal.set(++events);
             throw;
           }
         });
}

}  // namespace

void bottom_up(const TreeParts& tree, int threads, const PartWork& work) {
  std::vector<std::atomic<int32_t>> waits_for(tree.parts.size());
  for (const auto& part : tree.parts)
    if (part.above >= 0) waits_for[at(part.above)].fetch_add(1, std::memory_order_relaxed);
  in_order(
      tree.upwards, threads, work,
      [&](int32_t part) { return waits_for[at(part)].load(std::memory_order_acquire) == 0; },
      [&](int32_t part) {
        const int32_t above = tree.parts[at(part)].above;
        if (above >= 0) waits_for[at(above)].fetch_sub(1, std::memory_order_acq_rel);
      });
}

void top_down(const TreeParts& tree, int threads, const PartWork& work) {
  std::vector<std::atomic<bool>> done(tree.parts.size());
  in_order(
      tree.downwards, threads, work,
      [&](int32_t part) {
        const int32_t above = tree.parts[at(part)].above;
        return above < 0 || done[at(above)].load(std::memory_order_acquire);
      },
      [&](int32_t part) { done[at(part)].store(true, std::memory_order_release); });
}

}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  using prepared::ArcsView;
  nb::class_<ArcsView>(m, "PreparedArcs")
      .def(nb::init<Ints, Ints, Ints, Ints, Ints, Longs, Ints, Longs, Ints, Ints, Longs, Ints,
                    Ints>(),
           arg("vertex"), arg("label"), arg("parent"), arg("depth"), arg("low"), arg("first"),
           arg("head_depth"), arg("lower_first"), arg("lower_arc"), arg("lower_tail"),
           arg("edge_first"), arg("edge"), arg("edge_place"))
      .def("with_edges", &ArcsView::with_edges, arg("edge_first"), arg("edge"), arg("edge_place"))
      .def_prop_ro("n_vertices", [](const ArcsView& view) { return view.arcs().n; })
      .def_prop_ro("first", &ArcsView::first)
      .def_prop_ro("head_depth", &ArcsView::head_depth);
}
}  // namespace nearfar
