// Searches from many sources, close ones together. The surroundings of a place (everything within
// the limit plus the distance of the farthest of its sources) are copied to a small graph, in which
// several sources are searched in vector lanes (together.hpp).
//
// A source is searched individually where few sources are close together, the limit reaches few
// vertices, or the surroundings are large.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "algorithms/bounded/search.hpp"
#include "algorithms/bounded/together.hpp"

namespace nearfar::bounded {

template <class C>
class Neighbours {
 public:
  using Weight = typename C::Weight;

  // Some sources and their surroundings.
  struct Group {
    const std::size_t* positions;  // positions of the sources, one per lane
    std::size_t count;
    const typename Search<C>::Settled* around;  // n vertices in order of distance from a place
    std::size_t n;
    const Weight* lanes;  // [n][kLanes], above the limit where a source does not reach
    bool first;           // first group with the same surroundings
  };

  explicit Neighbours(const C& csr) : csr_(csr), around_(csr, kAll) {}

  // For ascending sources, calls alone(position, search), ordered by distance only, or
  // together(group).
  void run(const int64_t* sources, std::size_t count, Weight limit, Interrupt& interrupt,
           const std::function<void(std::size_t, const Search<C>&)>& alone,
           const std::function<void(const Group&)>& together) {
    done_.assign(count, 0);
    const Weight twice = farther(limit, limit);
    for (std::size_t first = 0; first < count; ++first) {
      if (done_[first]) continue;
      const auto place = static_cast<Index>(sources[first]);
      const bool tries = twice > 0 && (misses_ == 0 || --misses_ == 0);
      positions_.assign(1, first);
      around_.begin(place, tries ? twice : limit, interrupt);
      if (tries) {
        around_.settle(limit, kNear, interrupt);
        if (around_.size() >= kFew) gather(sources, count, first);
      }
      if (positions_.size() >= kTogether) {
        around_.settle(farther(limit, members_.back().distance), kAround + 1, interrupt);
        if (around_.size() <= kAround) {
          lay_out(limit);
          for (std::size_t low = 0; low < positions_.size(); low += kLanes)
            together(settle(low, limit, interrupt));
          for (const std::size_t position : positions_) done_[position] = 1;
          continue;
        }
        misses_ = kMisses;
        around_.begin(place, limit, interrupt);
      }
      around_.settle(limit, kAll, interrupt);
      alone(first, around_);
    }
  }

  uint64_t edges() const { return around_.edges() + edges_; }

 private:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kMembers = 2 * kLanes;
  static constexpr std::size_t kNear = 3 * kMembers;  // vertices searched for members
  static constexpr std::size_t kFew = 24, kTogether = 8;
  static constexpr std::size_t kAround = 1 << 14;  // their lanes take a few megabytes
  static constexpr int kMisses = 64;               // sources before the next attempt
  using Settled = typename Search<C>::Settled;

  // Returns limit + more plus the possible rounding of a sum, or 0 if such sums could leave the
  // dtype.
  static Weight farther(Weight limit, Weight more) {
    if constexpr (std::is_floating_point_v<Weight>) {
      const Weight sum = (limit + more) * (1 + 4 * static_cast<Weight>(kAround) *
                                                   std::numeric_limits<Weight>::epsilon());
      return sum < std::numeric_limits<Weight>::max() / 4 ? sum : 0;
    } else {
      return limit > unreached<Weight>() / 8 ? 0 : limit + more;
    }
  }

  // Collects the pending sources nearest to the first pending one, itself first.
  void gather(const int64_t* sources, std::size_t count, std::size_t first) {
    positions_.clear();
    members_.clear();
    for (const Settled& one : around_) {
      // If all vertices are sources, the position follows from the id.
      auto position = first + static_cast<std::size_t>(one.vertex - sources[first]);
      if (position < first || position >= count || sources[position] != one.vertex) {
        const int64_t* at = std::lower_bound(sources + first, sources + count, one.vertex);
        position = static_cast<std::size_t>(at - sources);
        if (position == count || *at != one.vertex) continue;
      }
      if (done_[position]) continue;
      positions_.push_back(position);
      members_.push_back(one);
      if (members_.size() == kMembers) return;
    }
  }

  // Copies the edges among the surroundings.
  void lay_out(Weight limit) {
    rank_.assign(around_.ids(), -1);
    int32_t rank = 0;
    for (const Settled& one : around_) rank_[one.id] = rank++;
    indptr_.size = edges_around_.size = 0;
    for (const Settled& one : around_) {
      indptr_.push(static_cast<int32_t>(edges_around_.size));
      const auto end = static_cast<std::size_t>(csr_.indptr[one.vertex + 1]);
      for (auto e = static_cast<std::size_t>(csr_.indptr[one.vertex]); e < end; ++e) {
        const auto edge = csr_.edge(e);
        if (edge.weight > limit) continue;
        const uint32_t id = around_.id_of(edge.target);
        if (id == Search<C>::kNone || rank_[id] < 0 || id == one.id) continue;
        edges_around_.push({rank_[id], edge.weight});
      }
    }
    indptr_.push(static_cast<int32_t>(edges_around_.size));
  }

  // Searches from the members from number `low` on.
  Group settle(std::size_t low, Weight limit, Interrupt& interrupt) {
    const std::size_t n = around_.size(),
                      some = std::min<std::size_t>(kLanes, members_.size() - low);
    lanes_.resize(n * kLanes + 64 / sizeof(Weight));
    auto* const lanes = reinterpret_cast<Weight*>(
        (reinterpret_cast<uintptr_t>(lanes_.data()) + 63) & ~uintptr_t{63});
    // The least distance that no search needs.
    Weight beyond;
    if constexpr (std::is_floating_point_v<Weight>)
      beyond = std::nextafter(limit, unreached<Weight>());
    else
      beyond = limit + 1;
    std::fill_n(lanes, n * kLanes, beyond);
    marks_.assign((n + 63) / 64, 0);
    for (std::size_t k = 0; k < some; ++k) {
      const auto v = static_cast<std::size_t>(rank_[members_[low + k].id]);
      lanes[v * kLanes + k] = 0;
      marks_[v / 64] |= uint64_t{1} << (v % 64);
    }
    const Surroundings<Weight> graph{static_cast<int32_t>(n), indptr_.data, edges_around_.data};
    const uint64_t edges = NEARFAR_PICK_ISA(settle_together<Weight>)(graph, lanes, marks_.data());
    edges_ += edges;
    interrupt.poll(edges);
    return {positions_.data() + low, some, around_.begin(), n, lanes, low == 0};
  }

  const C& csr_;
  Search<C> around_;
  std::vector<std::size_t> positions_;
  std::vector<Settled> members_;
  std::vector<uint8_t> done_;
  std::vector<int32_t> rank_;  // rank by distance of each id of the search, or -1
  Buffer<int32_t> indptr_;
  Buffer<EdgeAround<Weight>> edges_around_;
  std::vector<Weight> lanes_;
  std::vector<uint64_t> marks_;
  uint64_t edges_ = 0;
  int misses_ = 0;
};

}  // namespace nearfar::bounded
