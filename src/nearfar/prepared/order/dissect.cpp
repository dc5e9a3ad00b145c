// Nested dissection on all cores, without another package: split the graph by a small separator,
// order the separator last, and repeat with both sides.
//
// A cut is found on a coarse image of the piece. Vertices are matched along heavy edges and each
// pair is merged, level by level, until some hundred are left (Karypis and Kumar 1998). On that
// level a separator is grown from each of a few vertices and the best is kept. On the way back each
// level moves single vertices out of the separator, their neighbours on the other side into it, and
// keeps the best state (Fiduccia and Mattheyses 1982; for vertex separators, Hendrickson and
// Rothberg 1998). Pieces of at most 128 vertices are ordered by minimum degree.
//
// A pair is matched if both vertices choose each other, and ties are broken by a hash of the edge,
// so a matching does not depend on the order of evaluation: the order is the same for every number
// of threads. Large pieces are matched and contracted by all workers together, small ones by one
// each.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/interrupt.hpp"
#include "cpu/threads/spread.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

constexpr int32_t kLeaf = 128;
constexpr int32_t kCoarsest = 60;        // vertices of the coarsest graph
constexpr int kCuts = 2;                 // cuts whose separators are compared
constexpr int kTries = 5;                // cuts tried on the coarsest graph
constexpr double kMostOfSides = 0.65;    // size of the larger side
constexpr int32_t kBlock = 8192;         // vertices of a block of a loop over all workers
constexpr int kPasses = 8;               // passes over a separator, per level
constexpr int kRounds = 4;               // rounds of choosing partners, per level
constexpr int64_t kShared = 4 * kBlock;  // least vertices of a piece for all workers

uint64_t mixed(uint64_t x) {
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44d;
  return x ^ x >> 33;
}

// Compressed rows of a piece, or of its image on a coarser level. Rows have fewer than 2^32
// entries.
struct Rows {
  std::vector<uint32_t> first{0};
  std::vector<int32_t> neighbour;
  std::vector<int32_t> edge_weight;    // edges of the piece that an edge represents; empty: 1 each
  std::vector<int32_t> vertex_weight;  // vertices of the piece; empty: 1 each

  int32_t n() const { return static_cast<int32_t>(first.size()) - 1; }
  int32_t weight(int32_t v) const { return vertex_weight.empty() ? 1 : vertex_weight[at(v)]; }
  int32_t edge(uint32_t e) const { return edge_weight.empty() ? 1 : edge_weight[e]; }
  Structure::Row of(int32_t v) const {
    return {neighbour.data() + first[at(v)], neighbour.data() + first[at(v) + 1]};
  }
};

// The workers that share a loop: the caller, or several of the pool.
struct Workers {
  int threads;
  Interrupt& interrupt;

  // Calls work(block, from, to) for blocks of kBlock of n.
  template <class Work>
  void blocks(int32_t n, Work&& work) {
    const int32_t count = (n + kBlock - 1) / kBlock;
    auto one = [&](int32_t b) { work(b, b * kBlock, std::min(n, (b + 1) * kBlock)); };
    if (threads == 1 || count < 4) {
      for (int32_t b = 0; b < count; ++b) {
        interrupt.poll(kBlock);
        one(b);
      }
      return;
    }
    spread_blocks(count, 1, threads, [&](const auto& each_block, Interrupt& mine) {
      each_block([&](int64_t b, int64_t) {
        mine.poll(kBlock);
        one(static_cast<int32_t>(b));
      });
    });
  }
  static int32_t n_blocks(int32_t n) { return (n + kBlock - 1) / kBlock; }
};

enum Side : unsigned char { left, right, between };

int64_t allowed(int64_t total) {
  return static_cast<int64_t>(kMostOfSides * static_cast<double>(total));
}

// Passes of moves of single vertices over two heaps, each ending in its best state, while they
// improve. Derived, a Cut or a Separator, has the vertices that passes begin with, their gains, and
// the moves, each of which it logs.
template <class Derived, class Change>
class Refined {
 public:
  std::vector<unsigned char> side;

  void refine(const Rows& graph, int64_t total) {
    Derived& self = static_cast<Derived&>(*this);
    const std::vector<int32_t>& open = self.open();
    for (int pass = 0; pass < kPasses && !open.empty(); ++pass) {
      begin_pass(graph.n());
      for (const int32_t v : open) self.weigh(graph, v);
      const auto before = self.score(total);
      auto best = before;
      std::size_t best_at = 0;
      const auto limit = std::min<std::size_t>(2 * open.size() + 20, 100);
      for (std::size_t since = 0; since < limit && self.move_best(graph, total); ++since)
        if (const auto now = self.score(total); now < best)
          best = now, best_at = log_.size(), since = 0;
      self.undo(graph, best_at);
      self.end_pass(graph);
      if (!(best < before)) break;
    }
  }

  struct Score {
    int64_t excess, cost, difference;
    friend auto operator<=>(const Score&, const Score&) = default;
  };

 protected:
  void begin_pass(int32_t n) {
    static_cast<Derived*>(this)->resize(at(n));
    if (moved_.size() < at(n)) moved_.resize(at(n), 0);
    ++round_;
    log_.clear();
    for (auto& heap : heap_) heap.clear();
    age_ = 0;
  }
  void push(unsigned char which, int64_t gain, int32_t v) {
    auto& heap = heap_[which];
    heap.push_back({gain, age_++, v});
    std::push_heap(heap.begin(), heap.end());
  }
  // The vertex of the greatest gain in a heap for which holds(v, gain), or -1.
  template <class Holds>
  int32_t top_of(unsigned char which, Holds&& holds) {
    for (auto& heap = heap_[which]; !heap.empty(); heap.pop_back()) {
      const Entry& entry = heap.front();
      if (moved_[at(entry.vertex)] != round_ && holds(at(entry.vertex), entry.gain))
        return entry.vertex;
      std::pop_heap(heap.begin(), heap.end());
    }
    return -1;
  }

  std::vector<uint32_t> moved_;  // the last round in which a vertex moved
  std::vector<Change> log_;
  uint32_t round_ = 0;

 private:
  struct Entry {
    int64_t gain;
    uint32_t age;  // the latest first among equals
    int32_t vertex;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.gain != b.gain ? a.gain < b.gain : a.age < b.age;
    }
  };
  std::array<std::vector<Entry>, 2> heap_;
  uint32_t age_ = 0;
};

// The two sides of a graph, improved by moves of single vertices that cut fewer edges.
class Cut : public Refined<Cut, int32_t> {
 public:
  std::vector<int32_t> border;  // includes all vertices with a neighbour on the other side

  // Grows the left side from a vertex until it is the heavier one, and restores the best state.
  void grow(const Rows& graph, int64_t total, uint64_t seed) {
    const int32_t n = graph.n();
    side.assign(at(n), right);
    border.clear();
    weight_ = {0, total};
    cut_ = 0;
    begin_pass(n);
    Score best = score(total);
    std::size_t best_at = 0;
    auto fresh = static_cast<int32_t>(seed % static_cast<uint64_t>(n));
    for (int32_t tried = 0; 2 * weight_[left] < total;) {
      int32_t v = top(right);
      if (v < 0) {  // the next component
        for (; tried < n && side[at(fresh)] == left; ++tried)
          fresh = fresh + 1 == n ? 0 : fresh + 1;
        if (tried == n) break;
        v = fresh;
        weigh(graph, v);
      }
      move(graph, v);
      if (const Score now = score(total); now < best) best = now, best_at = log_.size();
    }
    undo(graph, best_at);
    end_pass(graph);
  }

  // Copies the sides of the coarser level.
  void project(const Cut& coarse, const std::vector<int32_t>& image, int32_t n, Workers workers) {
    side.resize(at(n));
    std::vector<unsigned char> at_border(coarse.side.size(), 0);
    for (const int32_t v : coarse.border) at_border[at(v)] = 1;
    std::vector<std::vector<int32_t>> some(at(Workers::n_blocks(n)));
    workers.blocks(n, [&](int32_t b, int32_t from, int32_t to) {
      for (int32_t v = from; v < to; ++v) {
        const std::size_t c = at(image[at(v)]);
        side[at(v)] = coarse.side[c];
        if (at_border[c]) some[at(b)].push_back(v);
      }
    });
    border.clear();
    for (const auto& part : some) border.insert(border.end(), part.begin(), part.end());
    weight_ = coarse.weight_;
    cut_ = coarse.cut_;
  }

  Score score(int64_t total) const {
    const int64_t most = std::max(weight_[left], weight_[right]);
    return {std::max<int64_t>(0, most - allowed(total)), cut_, 2 * most - total};
  }
  const std::array<int64_t, 2>& weights() const { return weight_; }

 private:
  friend Refined;

  const std::vector<int32_t>& open() const { return border; }
  void resize(std::size_t n) {
    if (gain_.size() < n) gain_.resize(n), known_.resize(n, 0);
  }
  void end_pass(const Rows& graph) {
    // A vertex that moved may have moved its neighbours to the border.
    for (const int32_t v : log_) {
      border.push_back(v);
      for (const int32_t t : graph.of(v)) border.push_back(t);
    }
    std::sort(border.begin(), border.end());
    border.erase(std::unique(border.begin(), border.end()), border.end());
    std::erase_if(border, [&](int32_t v) {
      for (const int32_t t : graph.of(v))
        if (side[at(t)] != side[at(v)]) return false;
      return true;
    });
  }
  void offer(int32_t v) { push(side[at(v)], gain_[at(v)], v); }
  void weigh(const Rows& graph, int32_t v) {
    int64_t gain = 0;
    for (uint32_t e = graph.first[at(v)]; e < graph.first[at(v) + 1]; ++e)
      gain += side[at(graph.neighbour[e])] == side[at(v)] ? -graph.edge(e) : graph.edge(e);
    gain_[at(v)] = gain;
    known_[at(v)] = round_;
    offer(v);
  }
  // Returns the best vertex to move away from a side, or -1.
  int32_t top(Side from) {
    return top_of(from, [&](std::size_t v, int64_t gain) { return gain == gain_[v]; });
  }
  int32_t next(const Rows& graph, int64_t total) {
    const Side heavier = weight_[left] > weight_[right] ? left : right;
    const Side lighter = heavier == left ? right : left;
    const int32_t a = top(heavier), b = top(lighter);
    if (weight_[heavier] > allowed(total)) return a;
    if (b < 0 || weight_[heavier] + graph.weight(b) > allowed(total)) return a;
    if (a < 0) return b;
    return gain_[at(b)] > gain_[at(a)] ? b : a;
  }
  bool move_best(const Rows& graph, int64_t total) {
    const int32_t v = next(graph, total);
    if (v >= 0) move(graph, v);
    return v >= 0;
  }
  void move(const Rows& graph, int32_t v) {
    const unsigned char from = side[at(v)];
    cut_ -= gain_[at(v)];
    weight_[from] -= graph.weight(v);
    weight_[1 - from] += graph.weight(v);
    side[at(v)] = 1 - from;
    moved_[at(v)] = round_;
    log_.push_back(v);
    for (uint32_t e = graph.first[at(v)]; e < graph.first[at(v) + 1]; ++e) {
      const std::size_t t = at(graph.neighbour[e]);
      if (moved_[t] == round_) continue;
      if (known_[t] != round_) {
        weigh(graph, graph.neighbour[e]);
        continue;
      }
      gain_[t] += (side[t] == from ? 2 : -2) * int64_t{graph.edge(e)};
      offer(graph.neighbour[e]);
    }
  }
  void undo(const Rows& graph, std::size_t to) {
    for (std::size_t i = log_.size(); i-- > to;) {
      const int32_t v = log_[i];
      const unsigned char now = side[at(v)];
      for (uint32_t e = graph.first[at(v)]; e < graph.first[at(v) + 1]; ++e)
        cut_ += side[at(graph.neighbour[e])] == now ? graph.edge(e) : -graph.edge(e);
      weight_[now] -= graph.weight(v);
      weight_[1 - now] += graph.weight(v);
      side[at(v)] = 1 - now;
    }
    log_.resize(to);
  }

  std::array<int64_t, 2> weight_{};
  int64_t cut_ = 0;
  std::vector<int64_t> gain_;
  std::vector<uint32_t> known_;  // the last round that computed its gain
};

// What a move to a separator's side changed.
struct Change {
  int32_t vertex;
  int what;  // the side it was moved to, or kPulled and its former side
};

// A separator of a graph that is improved by moves of single vertices.
class Separator : public Refined<Separator, Change> {
 public:
  std::vector<int32_t> members;  // vertices of the separator

  int64_t weight(Side s) const { return weight_[s]; }

  // Takes the smaller border of a cut.
  void take(const Rows& graph, Cut& cut) {
    std::array<int64_t, 2> borders{};
    for (const int32_t v : cut.border) borders[cut.side[at(v)]] += graph.weight(v);
    const unsigned char from = borders[left] <= borders[right] ? left : right;
    side.swap(cut.side);
    members.clear();
    for (const int32_t v : cut.border)
      if (side[at(v)] == from) members.push_back(v);
    for (const int32_t v : members) side[at(v)] = between;
    weight_ = {cut.weights()[left], cut.weights()[right], borders[from]};
    weight_[from] -= borders[from];
  }

  Score score(int64_t total) const {
    const int64_t most = std::max(weight_[left], weight_[right]);
    return {std::max<int64_t>(0, most - allowed(total)), weight_[between],
            2 * most - weight_[left] - weight_[right]};
  }

 private:
  friend Refined;
  static constexpr int kPulled = 4;

  const std::vector<int32_t>& open() const { return members; }
  void resize(std::size_t n) {
    if (beyond_.size() < n) beyond_.resize(n);
  }
  // Lists the separator: its former vertices and those pulled into it.
  void end_pass(const Rows&) {
    for (const Change& change : log_)
      if (change.what & kPulled) members.push_back(change.vertex);
    std::erase_if(members, [&](int32_t v) { return side[at(v)] != between; });
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
  }

  int64_t gain(const Rows& graph, int32_t v, Side to) const {
    return graph.weight(v) - beyond_[at(v)][1 - to];
  }
  void offer(const Rows& graph, int32_t v, Side to) {
    if (moved_[at(v)] != round_) push(to, gain(graph, v, to), v);
  }
  // Computes the weights of a separator vertex's neighbours on both sides.
  void weigh(const Rows& graph, int32_t v) {
    auto& mine = beyond_[at(v)];
    mine = {0, 0};
    for (const int32_t t : graph.of(v))
      if (side[at(t)] != between) mine[side[at(t)]] += graph.weight(t);
    offer(graph, v, left);
    offer(graph, v, right);
  }
  // Returns the best vertex to move to a side, or -1.
  int32_t top(const Rows& graph, Side to) {
    return top_of(to, [&](std::size_t v, int64_t known) {
      return side[v] == between && known == gain(graph, static_cast<int32_t>(v), to);
    });
  }
  Side next_side(const Rows& graph, int64_t total) {
    const int64_t most = allowed(total);
    const Side lighter = weight_[left] <= weight_[right] ? left : right;
    const Side heavier = lighter == left ? right : left;
    const int32_t a = top(graph, lighter), b = top(graph, heavier);
    if (a < 0 && b < 0) return between;
    if (a < 0) return weight_[heavier] + graph.weight(b) <= most ? heavier : between;
    if (b < 0 || weight_[heavier] + graph.weight(b) > most) return lighter;
    return gain(graph, b, heavier) > gain(graph, a, lighter) ? heavier : lighter;
  }

  void pull(const Rows& graph, int32_t u, Side from) {
    side[at(u)] = between;
    weight_[from] -= graph.weight(u);
    weight_[between] += graph.weight(u);
  }
  bool move_best(const Rows& graph, int64_t total) {
    const Side to = next_side(graph, total);
    if (to != between) move(graph, top(graph, to), to);
    return to != between;
  }
  void move(const Rows& graph, int32_t v, Side to) {
    const Side other = to == left ? right : left;
    const int32_t w = graph.weight(v);
    side[at(v)] = to;
    moved_[at(v)] = round_;
    weight_[to] += w;
    weight_[between] -= w;
    log_.push_back({v, to});
    for (const int32_t u : graph.of(v)) {
      if (side[at(u)] == between) {
        beyond_[at(u)][to] += w;
        offer(graph, u, other);
      } else if (side[at(u)] == other) {
        pull(graph, u, other);
        log_.push_back({u, kPulled | other});
        for (const int32_t x : graph.of(u))
          if (side[at(x)] == between && x != u) {
            beyond_[at(x)][other] -= graph.weight(u);
            offer(graph, x, to);
          }
        weigh(graph, u);
      }
    }
  }
  void undo(const Rows& graph, std::size_t to) {
    for (std::size_t i = log_.size(); i-- > to;) {
      const auto [v, what] = log_[i];
      const int32_t w = graph.weight(v);
      if (what & kPulled) {
        const auto from = static_cast<Side>(what & 3);
        side[at(v)] = from;
        weight_[from] += w;
        weight_[between] -= w;
      } else {
        side[at(v)] = between;
        weight_[what] -= w;
        weight_[between] += w;
      }
    }
  }

  std::array<int64_t, 3> weight_{};
  std::vector<std::array<int64_t, 2>> beyond_;
};

// Returns the partner of each vertex, or itself. Two vertices are matched if they choose each
// other, by edge weight relative to their sizes.
std::vector<int32_t> matching(const Rows& graph, int32_t heaviest, uint64_t seed, Workers workers) {
  const int32_t n = graph.n();
  std::vector<int32_t> mate(at(n), -1), choice(at(n));
  for (int round = 0; round < kRounds; ++round) {
    workers.blocks(n, [&](int32_t, int32_t from, int32_t to) {
      for (int32_t v = from; v < to; ++v) {
        if (mate[at(v)] >= 0) continue;
        const int32_t mine = graph.weight(v);
        int32_t best = -1;
        double best_rating = 0;
        uint64_t best_hash = 0;
        for (uint32_t e = graph.first[at(v)]; e < graph.first[at(v) + 1]; ++e) {
          const int32_t u = graph.neighbour[e];
          if (mate[at(u)] >= 0 || graph.weight(u) > heaviest - mine) continue;
          const double w = graph.edge(e);
          const double rating = w * w / (static_cast<double>(mine) * graph.weight(u));
          if (best >= 0 && rating < best_rating) continue;
          const auto low = static_cast<uint64_t>(std::min(u, v));
          const auto high = static_cast<uint64_t>(std::max(u, v));
          const uint64_t hash = mixed((low << 32 | high) + seed);
          if (best >= 0 && rating == best_rating && hash < best_hash) continue;
          best = u, best_rating = rating, best_hash = hash;
        }
        choice[at(v)] = best;
      }
    });
    workers.blocks(n, [&](int32_t, int32_t from, int32_t to) {
      for (int32_t v = from; v < to; ++v) {
        if (mate[at(v)] >= 0) continue;
        const int32_t u = choice[at(v)];
        // A vertex matched in an earlier round keeps its choice, which is its partner.
        if (u < 0)
          mate[at(v)] = v;
        else if (choice[at(u)] == v)
          mate[at(v)] = u;
      }
    });
  }
  workers.blocks(n, [&](int32_t, int32_t from, int32_t to) {
    for (int32_t v = from; v < to; ++v)
      if (mate[at(v)] < 0) mate[at(v)] = v;
  });
  return mate;
}

// A coarser level: its graph, and the coarse vertex of each fine vertex.
struct Coarser {
  Rows graph;
  std::vector<int32_t> image;
};

Coarser contracted(const Rows& fine, const std::vector<int32_t>& mate, Workers workers) {
  const int32_t n = fine.n(), n_blocks = Workers::n_blocks(n);
  Coarser out;
  out.image.resize(at(n));
  std::vector<int32_t> offset(at(n_blocks) + 1, 0);
  workers.blocks(n, [&](int32_t b, int32_t from, int32_t to) {
    for (int32_t v = from; v < to; ++v) offset[at(b) + 1] += v <= mate[at(v)];
  });
  for (int32_t b = 0; b < n_blocks; ++b) offset[at(b) + 1] += offset[at(b)];
  workers.blocks(n, [&](int32_t b, int32_t from, int32_t to) {
    int32_t next = offset[at(b)];
    for (int32_t v = from; v < to; ++v)
      if (v <= mate[at(v)]) out.image[at(v)] = next++;
  });
  workers.blocks(n, [&](int32_t, int32_t from, int32_t to) {
    for (int32_t v = from; v < to; ++v)
      if (v > mate[at(v)]) out.image[at(v)] = out.image[at(mate[at(v)])];
  });
  const int32_t count = offset[at(n_blocks)];
  Rows& graph = out.graph;
  graph.first.resize(at(count) + 1);
  graph.first[0] = 0;
  graph.vertex_weight.resize(at(count));
  struct Half {
    int32_t to, weight;
  };
  std::vector<std::vector<Half>> part(at(n_blocks));
  workers.blocks(n, [&](int32_t b, int32_t from, int32_t to) {
    auto& halves = part[at(b)];
    halves.reserve(fine.first[at(to)] - fine.first[at(from)]);
    for (int32_t v = from; v < to; ++v) {
      const int32_t u = mate[at(v)];
      if (v > u) continue;
      const int32_t me = out.image[at(v)];
      const std::size_t begin = halves.size();
      auto add = [&](int32_t x) {
        for (uint32_t e = fine.first[at(x)]; e < fine.first[at(x) + 1]; ++e) {
          const int32_t t = out.image[at(fine.neighbour[e])];
          if (t != me) halves.push_back({t, fine.edge(e)});
        }
      };
      add(v);
      if (u != v) add(u);
      // Merges parallel edges.
      const std::size_t all = halves.size() - begin;
      std::size_t kept = begin;
      if (all <= 24) {
        for (std::size_t i = begin; i < halves.size(); ++i) {
          std::size_t j = begin;
          while (j < kept && halves[j].to != halves[i].to) ++j;
          if (j < kept)
            halves[j].weight += halves[i].weight;
          else
            halves[kept++] = halves[i];
        }
      } else {
        std::sort(halves.begin() + static_cast<std::ptrdiff_t>(begin), halves.end(),
                  [](const Half& a, const Half& c) { return a.to < c.to; });
        for (std::size_t i = begin; i < halves.size(); ++i)
          if (kept > begin && halves[kept - 1].to == halves[i].to)
            halves[kept - 1].weight += halves[i].weight;
          else
            halves[kept++] = halves[i];
      }
      halves.resize(kept);
      graph.first[at(me) + 1] = static_cast<uint32_t>(kept - begin);
      graph.vertex_weight[at(me)] = fine.weight(v) + (u != v ? fine.weight(u) : 0);
    }
  });
  for (int32_t v = 0; v < count; ++v) graph.first[at(v) + 1] += graph.first[at(v)];
  graph.neighbour.resize(graph.first[at(count)]);
  graph.edge_weight.resize(graph.first[at(count)]);
  workers.blocks(n, [&](int32_t b, int32_t, int32_t) {
    std::size_t place = graph.first[at(offset[at(b)])];
    for (const Half& half : part[at(b)]) {
      graph.neighbour[place] = half.to;
      graph.edge_weight[place++] = half.weight;
    }
    std::vector<Half>().swap(part[at(b)]);
  });
  return out;
}

struct Scratch {
  Cut cut, other;
  Separator found, next;
};

// Finds a cut of a piece and leaves it in scratch.cut.
void bisect(const Rows& piece, uint64_t seed, Workers workers, Scratch& scratch) {
  std::vector<Coarser> levels;
  const int64_t total = piece.n();
  auto graph_of = [&](std::size_t level) -> const Rows& {
    return level == 0 ? piece : levels[level - 1].graph;
  };
  const auto heaviest = static_cast<int32_t>(std::max<int64_t>(2, 3 * total / (2 * kCoarsest)));
  while (graph_of(levels.size()).n() > kCoarsest) {
    const Rows& fine = graph_of(levels.size());
    Coarser made =
        contracted(fine, matching(fine, heaviest, seed + levels.size(), workers), workers);
    if (made.graph.n() > fine.n() - fine.n() / 16) break;
    levels.push_back(std::move(made));
  }
  const Rows& coarsest = graph_of(levels.size());
  Cut &best = scratch.cut, &other = scratch.other;
  for (int i = 0; i < kTries; ++i) {
    other.grow(coarsest, total, mixed(seed + static_cast<uint64_t>(i)));
    other.refine(coarsest, total);
    if (i == 0 || other.score(total) < best.score(total)) std::swap(best, other);
  }
  for (std::size_t level = levels.size(); level-- > 0;) {
    other.project(best, levels[level].image, graph_of(level).n(), workers);
    std::swap(best, other);
    best.refine(graph_of(level), total);
    levels.pop_back();
  }
}

// Finds a separator of a piece, the best of several, and leaves it in scratch.found.
void separate(const Rows& piece, uint64_t seed, Workers workers, Scratch& scratch) {
  for (int i = 0; i < kCuts; ++i) {
    bisect(piece, mixed(seed + static_cast<uint64_t>(i)), workers, scratch);
    Separator& made = i == 0 ? scratch.found : scratch.next;
    made.take(piece, scratch.cut);
    made.refine(piece, piece.n());
    if (i > 0 && made.score(piece.n()) < scratch.found.score(piece.n()))
      std::swap(scratch.found, scratch.next);
  }
}

class Dissection {
 public:
  Dissection(const Structure& graph, uint64_t seed, int threads)
      : graph_(graph), seed_(seed), threads_(threads), order_(at(graph.n)) {}

  std::vector<int32_t> run() {
    Piece all;
    {
      Interrupt interrupt;
      all.vertex.resize(at(graph_.n));
      for (int32_t v = 0; v < graph_.n; ++v) all.vertex[at(v)] = v;
      all.rows.first.resize(at(graph_.n) + 1);
      for (std::size_t v = 0; v <= at(graph_.n); ++v)
        all.rows.first[v] = static_cast<uint32_t>(graph_.first[v]);
      all.rows.neighbour.assign(graph_.neighbour, graph_.neighbour + graph_.first[graph_.n]);
      all.seed = mixed(seed_ + 1);
      std::vector<Piece> large;
      large.push_back(std::move(all));
      Scratch scratch;
      const int64_t share = std::max<int64_t>(kShared, graph_.n / (4 * threads_));
      while (!large.empty()) {
        Piece piece = std::move(large.back());
        large.pop_back();
        if (threads_ == 1 || piece.rows.n() < share)
          small_.push_back(std::move(piece));
        else
          split(std::move(piece), {threads_, interrupt}, scratch, large);
      }
    }
    std::stable_sort(small_.begin(), small_.end(),
                     [](const Piece& a, const Piece& b) { return a.rows.n() > b.rows.n(); });
    if (threads_ == 1) {
      Interrupt interrupt;
      Scratch scratch;
      for (Piece& piece : small_) finish(std::move(piece), interrupt, scratch);
    } else {
      spread(static_cast<int64_t>(small_.size()), threads_,
             [&](BatchCounter& counter, Interrupt& interrupt) {
               Scratch scratch;
               for (int64_t i; (i = counter.take()) >= 0;)
                 finish(std::move(small_[at(i)]), interrupt, scratch);
             });
    }
    return std::move(order_);
  }

 private:
  // A part of the graph whose vertices get the places from `from` on in the order.
  struct Piece {
    Rows rows;
    std::vector<int32_t> vertex;
    int32_t from = 0;
    uint64_t seed = 0;
  };
  void finish(Piece&& piece, Interrupt& interrupt, Scratch& scratch) {
    std::vector<Piece> stack;
    stack.push_back(std::move(piece));
    while (!stack.empty()) {
      Piece next = std::move(stack.back());
      stack.pop_back();
      split(std::move(next), {1, interrupt}, scratch, stack);
    }
  }

  void split(Piece&& piece, Workers workers, Scratch& scratch, std::vector<Piece>& out) {
    const int32_t n = piece.rows.n();
    if (n <= kLeaf) return by_least_degree(piece);
    const Separator& found = scratch.found;
    separate(piece.rows, piece.seed, workers, scratch);
    // The sides, renumbered; a vertex has neighbours on its own side and in the separator.
    const int32_t n_blocks = Workers::n_blocks(n);
    struct Count {
      std::array<int32_t, 3> vertices{};
      std::array<uint32_t, 2> entries{};
    };
    std::vector<Count> count(at(n_blocks) + 1);
    std::vector<int32_t> number(at(n));
    workers.blocks(n, [&](int32_t b, int32_t from, int32_t to) {
      Count& mine = count[at(b) + 1];
      for (int32_t v = from; v < to; ++v) {
        const unsigned char s = found.side[at(v)];
        number[at(v)] = mine.vertices[s]++;
        if (s == between) continue;
        for (const int32_t t : piece.rows.of(v)) mine.entries[s] += found.side[at(t)] == s;
      }
    });
    for (int32_t b = 0; b < n_blocks; ++b) {
      for (std::size_t s = 0; s < 3; ++s) count[at(b) + 1].vertices[s] += count[at(b)].vertices[s];
      for (std::size_t s = 0; s < 2; ++s) count[at(b) + 1].entries[s] += count[at(b)].entries[s];
    }
    const Count& all = count[at(n_blocks)];
    if (all.vertices[left] == 0 || all.vertices[right] == 0) return as_it_comes(piece);
    Piece half[2];
    for (std::size_t s = 0; s < 2; ++s) {
      half[s].rows.first.resize(at(all.vertices[s]) + 1);
      half[s].rows.first.back() = all.entries[s];
      half[s].rows.neighbour.resize(all.entries[s]);
      half[s].vertex.resize(at(all.vertices[s]));
      half[s].from = piece.from + (s == 0 ? 0 : all.vertices[left]);
      half[s].seed = mixed(piece.seed + s + 1);
    }
    int32_t* last = order_.data() + piece.from + all.vertices[left] + all.vertices[right];
    workers.blocks(n, [&](int32_t b, int32_t from, int32_t to) {
      Count place = count[at(b)];
      for (int32_t v = from; v < to; ++v) {
        const unsigned char s = found.side[at(v)];
        if (s == between) {
          last[place.vertices[s]++] = piece.vertex[at(v)];
          continue;
        }
        Piece& mine = half[s];
        mine.vertex[at(place.vertices[s])] = piece.vertex[at(v)];
        mine.rows.first[at(place.vertices[s]++)] = place.entries[s];
        for (const int32_t t : piece.rows.of(v))
          if (found.side[at(t)] == s)
            mine.rows.neighbour[place.entries[s]++] =
                number[at(t)] + count[at(t / kBlock)].vertices[s];
      }
    });
    out.push_back(std::move(half[0]));
    out.push_back(std::move(half[1]));
  }

  void as_it_comes(const Piece& piece) {
    std::copy(piece.vertex.begin(), piece.vertex.end(), order_.begin() + piece.from);
  }

  // Repeatedly eliminates the vertex with the fewest remaining neighbours, and joins these.
  void by_least_degree(const Piece& piece) {
    constexpr int kWords = kLeaf / 64;
    using Bits = std::array<uint64_t, kWords>;
    const int32_t n = piece.rows.n();
    std::array<Bits, kLeaf> row{};
    std::array<int32_t, kLeaf> outside{};
    Bits left_over{};
    for (int32_t v = 0; v < n; ++v) {
      left_over[at(v) / 64] |= uint64_t{1} << (v % 64);
      for (const int32_t t : piece.rows.of(v)) row[at(v)][at(t) / 64] |= uint64_t{1} << (t % 64);
      const Structure::Row mine = piece.rows.of(v);
      outside[at(v)] =
          graph_.degree(piece.vertex[at(v)]) - static_cast<int32_t>(mine.end() - mine.begin());
    }
    auto each = [](const Bits& bits, auto&& f) {
      for (std::size_t word = 0; word < kWords; ++word)
        for (uint64_t rest = bits[word]; rest != 0; rest &= rest - 1)
          f(static_cast<int32_t>(word) * 64 + std::countr_zero(rest));
    };
    for (int32_t k = 0; k < n; ++k) {
      int32_t best = -1, least = 0;
      each(left_over, [&](int32_t v) {
        int32_t degree = outside[at(v)];
        for (std::size_t word = 0; word < kWords; ++word)
          degree += std::popcount(row[at(v)][word] & left_over[word]);
        if (best < 0 || degree < least) best = v, least = degree;
      });
      order_[at(piece.from + k)] = piece.vertex[at(best)];
      left_over[at(best) / 64] &= ~(uint64_t{1} << (best % 64));
      Bits joined;
      for (std::size_t word = 0; word < kWords; ++word)
        joined[word] = row[at(best)][word] & left_over[word];
      each(joined, [&](int32_t v) {
        for (std::size_t word = 0; word < kWords; ++word) row[at(v)][word] |= joined[word];
        row[at(v)][at(v) / 64] &= ~(uint64_t{1} << (v % 64));
        outside[at(v)] = std::max(outside[at(v)], outside[at(best)]);
      });
    }
  }

  const Structure graph_;
  const uint64_t seed_;
  const int threads_;
  std::vector<int32_t> order_;
  std::vector<Piece> small_;
};

nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> dissect(const Longs& first, const Ints& neighbour,
                                                     uint64_t seed, int threads) {
  const Structure graph{static_cast<int32_t>(first.size()) - 1, first.data(), neighbour.data()};
  std::vector<int32_t> order;
  {
    nb::gil_scoped_release release;
    order = Dissection(graph, seed, threads).run();
  }
  return as_numpy(std::move(order));
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_dissect", &prepared::dissect, arg("first"), arg("neighbour"), arg("seed"),
        arg("threads"));
}
}  // namespace nearfar
