// Alternative routes: paths other than the shortest one that are worth taking, through vertices of
// separators.
//
// Both search spaces of a pair are paths to the root, and their common labels are separators
// between the ends: alternatives are found among the shortest paths via these labels (Abraham,
// Delling, Goldberg and Werneck 2013, on hierarchies; Bacherle, Blaesius and Zuendorf 2025, on
// separators). A pass down the tree corrects the search spaces, so that the length via each label
// is exact before any path is examined. If too few are admissible, paths via several labels follow,
// using a fan of distances from each label.
//
// Routes share most of their pieces (paths from a label of a fan), and pieces most of their
// shortcuts. Each is unpacked once: a shortcut into a node, a piece into a list of nodes, which
// store their weight, their weight shared with the shortest route and a hash of their edges. Each
// test of a route is then a sum over a few pieces. A route is admissible if it passes these tests,
// cheapest first: its length; the length of its detours; its overlap with earlier routes; it is
// new; it is a shortest path around each of its vertices; it visits no vertex twice.
#include <algorithm>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cpu/threads/interrupt.hpp"
#include "generators/hash.hpp"
#include "prepared/cpu/unpack.hpp"
#include "prepared/cpu/walks.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

// Labels via which paths are sought, each before those below it: the `common` common ancestors of
// both ends from the root on, and optionally the other ancestors of each end.
struct Chain {
  std::vector<int32_t> labels;
  int32_t common = 0, first_end = 0;  // one past the common labels; one past the first end's

  int32_t size() const { return static_cast<int32_t>(labels.size()); }
  // Returns the place of the ancestor at `depth` of the label at place i.
  int32_t place(int32_t i, int32_t depth) const {
    return i >= first_end && depth >= common ? depth - common + first_end : depth;
  }
};

// Shortest paths from a label to those of a chain, or from these to it.
template <class Value>
class Fan {
 public:
  // `spot`: place of the label in the chain, if any.
  Fan(const Metric<Value>& metric, int32_t label, const Chain& chain, int32_t spot, bool backward)
      : metric_(&metric),
        chain_(&chain),
        backward_(backward),
        climbed_(at(metric.arcs.depth[label]) + 1, far<Value>()),
        before_(climbed_.size()),
        exact_(chain.labels.size()),
        piece_(chain.labels.size(), -1) {
    climb(label);
    const Upward<Value>& down = returns();
    for (int32_t i = 0; i < chain.size(); ++i) {
      const int32_t x = chain.labels[at(i)], depth = metric.arcs.depth[x];
      Value least = is_above(i, spot) ? climbed_[at(depth)] : far<Value>();
      for (int64_t j = down.first[x]; j < down.first[x + 1]; ++j)
        least =
            std::min<Value>(least, exact_[at(chain.place(i, down.head_depth[j]))] + down.weight[j]);
      exact_[at(i)] = least;
    }
    spot_ = spot;
  }
  // Returns the distance to the label at a place of the chain.
  Value operator[](int32_t i) const { return exact_[at(i)]; }
  // Returns the piece for the label at a place; -1 if it is not unpacked.
  int32_t& piece(int32_t i) { return piece_[at(i)]; }
  // Returns the length over ascending labels only, to a common ancestor.
  Value climbed(int32_t i) const { return climbed_[at(i)]; }

  // Lists the arcs of a path towards the fan's label: in path order only if the fan is backward.
  void follow(int32_t i, std::vector<Step>& steps) const {
    const Arcs& arcs = metric_->arcs;
    const Upward<Value>& down = returns();
    int32_t x = chain_->labels[at(i)];
    while (!is_above(i, spot_) || exact_[at(i)] != climbed_[at(arcs.depth[x])]) {
      int64_t j = down.first[x];
      int32_t to;
      while (to = chain_->place(i, down.head_depth[j]),
             exact_[at(to)] + down.weight[j] != exact_[at(i)])
        ++j;
      steps.push_back({arc(x, down.head_depth[j]), !backward_});
      i = to;
      x = chain_->labels[at(i)];
    }
    for (int32_t depth = arcs.depth[x]; depth + 1 < static_cast<int32_t>(climbed_.size());) {
      const int32_t from = before_[at(depth)];
      steps.push_back({arc(from, depth), backward_});
      depth = arcs.depth[from];
    }
  }

 private:
  const Upward<Value>& climbs() const { return backward_ ? metric_->down : metric_->up; }
  const Upward<Value>& returns() const { return backward_ ? metric_->up : metric_->down; }
  int64_t arc(int32_t x, int32_t depth) const {
    const Arcs& arcs = metric_->arcs;
    return arc_to(arcs.head_depth, arcs.first[x], arcs.first[x + 1], depth);
  }
  // Whether the label at place i is the fan's or an ancestor of it.
  bool is_above(int32_t i, int32_t spot) const {
    if (i < chain_->common) return i <= spot || spot >= chain_->common;
    return i <= spot && (i >= chain_->first_end) == (spot >= chain_->first_end);
  }

  // Computes distances to the ancestors; ties go to the highest previous label, as in trace().
  void climb(int32_t label) {
    const Arcs& arcs = metric_->arcs;
    const Upward<Value>& up = climbs();
    climbed_.back() = 0;
    for (int32_t x = label, depth = arcs.depth[x]; x >= 0; x = arcs.parent[x], --depth) {
      const Value d = climbed_[at(depth)];
      if (is_far(d)) continue;
      for (int64_t j = up.first[x]; j < up.first[x + 1]; ++j) {
        const auto to = at(up.head_depth[j]);
        const auto sum = static_cast<Value>(d + up.weight[j]);
        if (sum > climbed_[to]) continue;
        climbed_[to] = sum;
        before_[to] = x;
      }
    }
  }

  const Metric<Value>* metric_;
  const Chain* chain_;
  bool backward_;
  int32_t spot_ = 0;
  std::vector<Value> climbed_;   // by depth
  std::vector<int32_t> before_;  // previous label on the path
  std::vector<Value> exact_;     // by place
  std::vector<int32_t> piece_;   // by place
};

// Directed arcs unpacked down to edges, each once.
template <class Value>
class Opened {
 public:
  struct Node {
    int32_t first = -1, second = -1;  // nodes; position and -1 for an edge
    int32_t end = -1;                 // vertex
    int32_t count = 1;                // number of edges
    int32_t listed = -1;              // position of its list of edges, or -1
    bool taken = false;               // an edge of an accepted route
    Value weight = 0, best = 0;       // best: weight of edges on the shortest route
    uint64_t hash = 0;                // a sum over edges
    bool is_edge() const { return second < 0; }
  };

  Opened(const Metric<Value>& metric, const Origin* origin, const int32_t* heads)
      : metric_(metric), origin_(origin), heads_(heads), slots_(1 << 12, -1) {}

  const Node& operator[](int32_t i) const { return nodes_[at(i)]; }
  Node& operator[](int32_t i) { return nodes_[at(i)]; }

  // Creates the nodes of some arcs.
  void open(const std::vector<Step>& steps, std::vector<int32_t>& out) {
    const std::size_t before = nodes_.size();
    for (const Step& step : steps) out.push_back(find(step.arc, step.down));
    // Nodes are opened in order of discovery, so that memory can be prefetched.
    for (std::size_t i = before; i < nodes_.size(); ++i) {
      const auto [arc, down] = arcs_[i];
      Origin from = origin_of(arc, down);
      if (metric_.sides == 1 && down) std::swap(from.down, from.up);
      if (from.down < 0) {
        nodes_[i].first = ~from.down;
        prefetch(heads_ + ~from.down);
        continue;
      }
      const int32_t first = find(from.down, true), second = find(from.up, false);
      nodes_[i].first = first;
      nodes_[i].second = second;
    }
    for (std::size_t i = before; i < nodes_.size(); ++i) sum(static_cast<int32_t>(i));
  }

  // Calls f(node) for each edge below a node, in order.
  template <class F>
  void edges(int32_t i, F&& f) {
    std::size_t waiting = 0;
    for (;;) {
      Node& node = nodes_[at(i)];
      if (!node.is_edge()) {
        if (waiting == stack_.size()) stack_.resize(2 * waiting + 64);
        stack_[waiting++] = node.second;
        i = node.first;
      } else {
        f(node);
        if (waiting == 0) break;
        i = stack_[--waiting];
      }
    }
  }

  struct Edge {
    int32_t position, end;
  };
  // Returns the edges below a node, listed on the first call.
  std::span<const Edge> list(int32_t i) {
    Node& node = nodes_[at(i)];
    if (node.listed < 0) {
      node.listed = static_cast<int32_t>(listed_.size());
      edges(i, [&](const Node& edge) { listed_.push_back({edge.first, edge.end}); });
    }
    return {listed_.data() + node.listed, at(node.count)};
  }

  // Marks the existing nodes, which are all on the shortest route.
  void mark_best() {
    for (Node& node : nodes_) node.best = node.weight;
  }

 private:
  struct Arc {
    int32_t arc;
    bool down;
  };

  const Origin& origin_of(int64_t arc, bool down) const {
    return origin_[metric_.sides == 1 ? arc : 2 * arc + down];
  }

  int32_t find(int64_t arc, bool down) {
    if (2 * nodes_.size() >= slots_.size()) grow();
    std::size_t slot = place(arc, down);
    for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const Arc& other = arcs_[at(slots_[slot])];
      if (other.arc == arc && other.down == down) return slots_[slot];
    }
    slots_[slot] = static_cast<int32_t>(nodes_.size());
    nodes_.emplace_back();
    arcs_.push_back({static_cast<int32_t>(arc), down});
    nodes_.back().weight = metric_.weights[metric_.sides * arc + (down & (metric_.sides - 1))];
    prefetch(&origin_of(arc, down));
    return slots_[slot];
  }
  std::size_t place(int64_t arc, bool down) const {
    return generators::random(2 * at(arc) + down, 0) & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(2 * slots_.size(), -1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      std::size_t slot = place(arcs_[i].arc, arcs_[i].down);
      while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<int32_t>(i);
    }
  }

  // Sums a node and those below it that have no sum; a node with an end has one.
  void sum(int32_t root) {
    stack_.assign(1, root);
    while (!stack_.empty()) {
      Node& node = nodes_[at(stack_.back())];
      if (node.end >= 0) {
        stack_.pop_back();
      } else if (node.is_edge()) {
        node.end = heads_[node.first];
        node.hash = generators::random(at(node.first), 0);
      } else {
        const Node &a = nodes_[at(node.first)], &b = nodes_[at(node.second)];
        if (a.end >= 0 && b.end >= 0) {
          node.end = b.end;
          node.count = a.count + b.count;
          node.hash = a.hash + b.hash;
          node.best = a.best + b.best;
        } else {
          if (b.end < 0) stack_.push_back(node.second);
          if (a.end < 0) stack_.push_back(node.first);
        }
      }
    }
  }

  const Metric<Value>& metric_;
  const Origin* origin_;
  const int32_t* heads_;
  std::vector<Node> nodes_;
  std::vector<Arc> arcs_;
  std::vector<int32_t> slots_, stack_;
  std::vector<Edge> listed_;
};

struct Wanted {
  int64_t routes, tries;
  double stretch, sharing, local;
};

template <class Value>
class Routes {
 public:
  struct Found {
    Value length;
    std::size_t first, count;  // in edges()
  };

  Routes(const Metric<Value>& metric, const WalkRows<Value>& rows, const Origin* origin,
         const int32_t* heads, const Wanted& wanted)
      : metric_(metric),
        arcs_(metric.arcs),
        rows_(rows),
        wanted_(wanted),
        opened_(metric, origin, heads),
        space_(arcs_.height) {}

  // Finds routes between two different labels, the shortest first, then by length; none without a
  // path.
  std::vector<Found>& find(int32_t source, int32_t target) {
    const int32_t top = common_ancestor(arcs_, source, target);
    if (top < 0) return found_;
    source_ = arcs_.vertex[source];
    target_ = arcs_.vertex[target];
    make_chain(top, source, target);
    for (int32_t i = 0; i < chain_.common; ++i) places_[arcs_.vertex[chain_.labels[at(i)]]] = i;
    const int32_t first = chain_.first_end, last = chain_.size();
    from_.emplace(metric_, source, chain_, source == top ? chain_.common - 1 : first - 1, false);
    to_.emplace(metric_, target, chain_, target == top ? chain_.common - 1 : last - 1, true);
    if (!shortest()) return found_;
    if (wanted_.routes > 1) {
      over_one();
      over_several();
    }
    std::stable_sort(found_.begin() + 1, found_.end(),
                     [](const Found& a, const Found& b) { return a.length < b.length; });
    return found_;
  }
  const std::vector<int32_t>& edges() const { return edges_; }

 private:
  using Node = typename Opened<Value>::Node;
  // An unpacked path from or to a label of a fan.
  struct Piece {
    std::size_t begin, end;  // in nodes_
    Value weight = 0, best = 0;
    uint64_t hash = 0;
    std::size_t count = 0;  // number of edges
  };
  struct Via {
    Value length;
    int32_t place;
  };

  // Builds the chain, with labels of the ends only if routes may share nearly everything.
  void make_chain(int32_t top, int32_t source, int32_t target) {
    auto& labels = chain_.labels;
    const auto add = [&](int32_t v, int32_t stop) {
      const auto before = static_cast<std::ptrdiff_t>(labels.size());
      for (; v != stop; v = arcs_.parent[v]) labels.push_back(v);
      std::reverse(labels.begin() + before, labels.end());
      return chain_.size();
    };
    chain_.common = chain_.first_end = add(top, -1);
    if (wanted_.sharing < 1) return;
    chain_.first_end = add(source, top);
    add(target, top);
  }
  double most() const { return wanted_.stretch * best_ * (1 + 1e-12); }
  bool wants_more() const {
    return static_cast<int64_t>(found_.size()) < wanted_.routes && tries_ < wanted_.tries;
  }

  // Adds the path via the common ancestor that a walk chooses.
  bool shortest() {
    Value best = far<Value>();
    int32_t meeting = -1;
    for (int32_t i = chain_.common; i-- > 0;) {
      const Value f = from_->climbed(i), b = to_->climbed(i);
      if (is_far(f) || is_far(b) || !(f + b < best)) continue;
      best = static_cast<Value>(f + b);
      meeting = i;
    }
    if (meeting < 0) return false;
    best_ = static_cast<double>(best);
    way_ = {opened(*from_, meeting), opened(*to_, meeting)};
    opened_.mark_best();
    for (Piece& piece : pieces_) sum(piece);
    accept(best);
    return true;
  }

  // Tries paths via one common ancestor, the shortest first, one of each length.
  void over_one() {
    for (int32_t i = chain_.size(); i-- > 0;) {
      const Value f = (*from_)[i], b = (*to_)[i];
      if (is_far(f) || is_far(b) || is_far(static_cast<Value>(f + b))) continue;
      const auto length = static_cast<Value>(f + b);
      if (static_cast<double>(length) <= most()) vias_.push_back({length, i});
    }
    std::stable_sort(vias_.begin(), vias_.end(),
                     [](const Via& a, const Via& b) { return a.length < b.length; });
    for (std::size_t i = 0; i < vias_.size() && wants_more(); ++i) {
      const auto [length, place] = vias_[i];
      if (i > 0 && length == vias_[i - 1].length) continue;
      if (place < chain_.common && passed_[at(place)] != 0) continue;
      over({place}, length);
    }
  }

  // Tries paths via several labels, the shortest first; none is shorter than the path without its
  // last label. Rejected paths via two or more labels are not extended.
  void over_several() {
    struct Way {
      int32_t place, before;  // last label, and the path up to the previous one
    };
    std::vector<Way> ways;
    using Entry = std::pair<Value, int32_t>;  // length, path
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    const auto add = [&](Value length, int32_t place, int32_t before) {
      queue.push({length, static_cast<int32_t>(ways.size())});
      ways.push_back({place, before});
    };
    for (const auto& [length, place] : vias_) add(length, place, -1);
    std::vector<int32_t> places, lasts;  // one path per length and last label
    for (Value before = far<Value>(); !queue.empty() && wants_more();) {
      const auto [whole, current] = queue.top();
      queue.pop();
      if (whole != std::exchange(before, whole)) lasts.clear();
      const int32_t v = ways[at(current)].place;
      if (std::find(lasts.begin(), lasts.end(), v) != lasts.end()) continue;
      lasts.push_back(v);
      places.clear();
      for (int32_t i = current; i >= 0; i = ways[at(i)].before) places.push_back(ways[at(i)].place);
      std::reverse(places.begin(), places.end());
      if (places.size() > 1 && !over(places, whole)) continue;
      const Fan<Value>& onward = fan(v);
      const Fan<Value>& previous = places.size() > 1 ? fan(places[places.size() - 2]) : *from_;
      const auto as_far = static_cast<Value>(whole - (*to_)[v]);
      interrupt_.poll(at(arcs_.height) * 8);
      for (const auto& via : vias_) {
        const int32_t w = via.place;
        const Value between = onward[w], rest = (*to_)[w];
        if (w == v || is_far(between)) continue;
        const auto length = static_cast<Value>(as_far + between + rest);
        if (is_far(static_cast<Value>(as_far + between)) || is_far(length) ||
            static_cast<double>(length) > most())
          continue;
        // Otherwise it passes one of them anyway.
        if (previous[v] + between > previous[w] && between + rest > (*to_)[v])
          add(length, w, current);
      }
    }
  }

  Fan<Value>& fan(int32_t place) {
    return fans_.try_emplace(place, metric_, chain_.labels[at(place)], chain_, place, false)
        .first->second;
  }

  // Tries the path via some labels; returns whether it is a new route.
  bool over(const std::vector<int32_t>& places, Value length) {
    ++tries_;
    way_.clear();
    lengths_.clear();
    Fan<Value>* previous = &*from_;
    Value as_far = 0;
    for (const int32_t i : places) {
      way_.push_back(opened(*previous, i));
      as_far = static_cast<Value>(as_far + (*previous)[i]);
      lengths_.push_back(as_far);
      if (i != places.back()) previous = &fan(i);
    }
    way_.push_back(opened(*to_, places.back()));
    if (!is_admissible(length)) return false;
    accept(length);
    return true;
  }

  // Returns the piece to or from the label at a place, unpacked on the first call.
  int32_t opened(Fan<Value>& fan, int32_t place) {
    int32_t& number = fan.piece(place);
    if (number >= 0) return number;
    number = static_cast<int32_t>(pieces_.size());
    steps_.clear();
    fan.follow(place, steps_);
    if (&fan != &*to_) std::reverse(steps_.begin(), steps_.end());
    const std::size_t begin = nodes_.size();
    opened_.open(steps_, nodes_);
    pieces_.push_back({begin, nodes_.size()});
    sum(pieces_.back());
    return number;
  }
  void sum(Piece& piece) {
    piece = {piece.begin, piece.end};
    for (std::size_t i = piece.begin; i < piece.end; ++i) {
      const Node& node = opened_[nodes_[i]];
      piece.weight += node.weight;
      piece.best += node.best;
      piece.hash += node.hash;
      piece.count += at(node.count);
    }
  }
  // Calls f(node) for the nodes of way_, in order, until it returns true.
  template <class F>
  bool any_node(F&& f) {
    for (const int32_t number : way_) {
      const Piece& piece = pieces_[at(number)];
      for (std::size_t i = piece.begin; i < piece.end; ++i)
        if (f(nodes_[i])) return true;
    }
    return false;
  }
  // Calls f(node) for the edges of way_.
  template <class F>
  void each_edge(F&& f) {
    any_node([&](int32_t i) {
      opened_.edges(i, f);
      return false;
    });
  }

  // Whether way_ is a new route; lengths_ are the distances to its vertices.
  bool is_admissible(Value length) {
    interrupt_.poll(at(arcs_.height) * 8);
    const auto total = static_cast<double>(length);
    Value shared = 0;
    uint64_t hash = 0;
    for (const int32_t i : way_) {
      shared += pieces_[at(i)].best;
      hash += pieces_[at(i)].hash;
    }
    const auto same = static_cast<double>(shared);
    if (total - same > wanted_.stretch * (best_ - same) * (1 + 1e-12)) return false;
    if (hashes_.contains(hash) || !shares_little(same)) return false;
    for (const Value along : lengths_)
      if (!is_local(static_cast<double>(along))) return false;
    return is_simple();
  }

  bool shares_little(double same) {
    if (wanted_.sharing >= 1) return true;
    const double limit = wanted_.sharing * best_;
    if (same > limit) return false;
    if (found_.size() == 1) return true;
    Value common = 0;
    each_edge([&](const Node& node) { common += node.taken ? node.weight : 0; });
    return static_cast<double>(common) <= limit;
  }

  // Whether the piece around a vertex of a route is a shortest path (the T-test).
  bool is_local(double along) {
    const double reach = wanted_.local * best_;
    const auto [begin, from] = vertex_before(along - reach);
    const auto [end, to] = vertex_after(along + reach);
    const uint64_t key = (at(begin) << 32) | at(end);
    auto [between, fresh] = distances_.try_emplace(key, 0);
    if (fresh) {
      int32_t meeting;
      between->second = static_cast<double>(
          NEARFAR_PICK_ISA(distance<Value>)(metric_, rows_, arcs_.label[begin], arcs_.label[end],
                                            space_.forward(), space_.backward(), meeting));
    }
    return to - from <= between->second * (1 + 1e-6);
  }

  struct Place {
    int32_t vertex;
    double along;
  };
  // The first edge of way_ that does not pass, or null; nodes that pass are not opened.
  template <class Passes>
  const Node* first_edge(Passes&& passes) {
    const Node* found = nullptr;
    any_node([&](int32_t i) {
      if (passes(opened_[i])) return false;
      while (!opened_[i].is_edge())
        i = passes(opened_[opened_[i].first]) ? opened_[i].second : opened_[i].first;
      found = &opened_[i];
      return true;
    });
    return found;
  }
  // Returns the last vertex of way_ at distance `most` or less.
  Place vertex_before(double most) {
    Place place{source_, 0};
    Value along = 0;
    const auto passes = [&](const Node& node) {
      const auto sum = static_cast<Value>(along + node.weight);
      if (static_cast<double>(sum) > most) return false;
      along = sum;
      place.vertex = node.end;
      return true;
    };
    if (most >= 0) first_edge(passes);
    place.along = static_cast<double>(along);
    return place;
  }
  // Returns the first vertex of way_ at distance `least` or more, or its end.
  Place vertex_after(double least) {
    Place place{target_, 0};
    Value along = 0;
    const auto passes = [&](const Node& node) {
      const auto sum = static_cast<Value>(along + node.weight);
      if (static_cast<double>(sum) >= least) return false;
      along = sum;
      return true;
    };
    if (const Node* last = first_edge(passes)) {
      place.vertex = last->end;
      along = static_cast<Value>(along + last->weight);
    }
    place.along = static_cast<double>(along);
    return place;
  }

  bool is_simple() {
    std::size_t count = 0, size = 64;
    for (const int32_t i : way_) count += pieces_[at(i)].count;
    while (size < 2 * (count + 1)) size *= 2;
    seen_.assign(size, -1);
    const auto is_new = [&](int32_t v) {
      std::size_t slot = (at(v) * generators::golden >> 32) & (size - 1);
      for (; seen_[slot] >= 0; slot = (slot + 1) & (size - 1))
        if (seen_[slot] == v) return false;
      seen_[slot] = v;
      return true;
    };
    is_new(source_);
    return !any_node([&](int32_t i) {
      for (const auto& edge : opened_.list(i))
        if (!is_new(edge.end)) return true;
      return false;
    });
  }

  void accept(Value length) {
    uint64_t hash = 0;
    for (const int32_t i : way_) hash += pieces_[at(i)].hash;
    const std::size_t first = edges_.size();
    any_node([&](int32_t i) {
      for (const auto& edge : opened_.list(i)) edges_.push_back(edge.position);
      return false;
    });
    hashes_.insert(hash);
    found_.push_back({length, first, edges_.size() - first});
    passed_.resize(at(chain_.common));
    const auto pass = [&](int32_t v) {
      if (const auto place = places_.find(v); place != places_.end())
        passed_[at(place->second)] = 1;
    };
    pass(source_);
    if (wanted_.sharing >= 1) return;
    each_edge([&](Node& node) {
      node.taken = true;
      pass(node.end);
    });
  }

  const Metric<Value>& metric_;
  const Arcs& arcs_;
  const WalkRows<Value>& rows_;
  const Wanted wanted_;
  Opened<Value> opened_;
  WalkSpace<Value> space_;
  Interrupt interrupt_;
  int32_t source_ = -1, target_ = -1;
  Chain chain_;
  std::optional<Fan<Value>> from_, to_;
  std::unordered_map<int32_t, Fan<Value>> fans_;  // by place
  double best_ = 0;
  std::vector<Via> vias_;
  int64_t tries_ = 0;
  std::vector<Found> found_;
  std::vector<int32_t> edges_;                   // edges of the routes found, concatenated
  std::unordered_set<uint64_t> hashes_;          // hashes of the routes found
  std::unordered_map<int32_t, int32_t> places_;  // places of common ancestors, by vertex
  std::vector<uint8_t> passed_;                  // common ancestors on routes found, by place
  std::unordered_map<uint64_t, double> distances_;
  std::vector<Piece> pieces_;
  std::vector<int32_t> way_;           // pieces of the current route
  std::vector<int32_t> nodes_, seen_;  // nodes of pieces; slots of visited vertices
  std::vector<Value> lengths_;
  std::vector<Step> steps_;
};

// Returns (offsets, edges, lengths) of the shortest route and alternatives, in units of the
// weights; None without a path. The ends must differ.
nb::object routes(const Walks& walks, const Ints& origin, const Ints& heads, int64_t source,
                  int64_t target, const Wanted& wanted) {
  std::vector<int64_t> offsets{0}, edges;
  std::vector<double> lengths;
  walks.visit([&](const auto& metric, const auto& rows) {
    using Value = typename std::decay_t<decltype(metric)>::Value;
    if (origin.size() != at(2 * metric.sides * metric.arcs.n_arcs))
      throw nb::type_error("origins: wrong size");
    const int64_t ends[2] = {source, target};
    const auto labels = labels_of(metric.arcs, ends, 2);
    nb::gil_scoped_release release;
    Routes<Value> search(metric, rows, reinterpret_cast<const Origin*>(origin.data()), heads.data(),
                         wanted);
    const auto& found = search.find(labels[0], labels[1]);
    edges.reserve(search.edges().size());
    for (const auto& one : found) {
      const auto begin = search.edges().begin() + static_cast<std::ptrdiff_t>(one.first);
      edges.insert(edges.end(), begin, begin + static_cast<std::ptrdiff_t>(one.count));
      offsets.push_back(static_cast<int64_t>(edges.size()));
      lengths.push_back(distance_of<double>(one.length, metric.step));
    }
  });
  if (lengths.empty()) return nb::none();
  return arrays(std::move(offsets), std::move(edges), std::move(lengths));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  using namespace prepared;
  m.def(
      "prepared_routes",
      [](const Walks& walks, const Ints& origins, const Ints& heads, int64_t source, int64_t target,
         int64_t routes, int64_t tries, double stretch, double sharing, double local) {
        return prepared::routes(walks, origins, heads, source, target,
                                {routes, tries, stretch, sharing, local});
      },
      arg("walks"), arg("origins"), arg("heads"), arg("source"), arg("target"), arg("routes"),
      arg("tries"), arg("stretch"), arg("sharing"), arg("local"));
}
}  // namespace nearfar
