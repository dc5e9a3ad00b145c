// breadth_first@cpu: direction-optimising breadth-first search on one core.
//
// Beamer, Asanovic and Patterson 2012, with their two thresholds: go over to pulling when the
// frontier's edges exceed the unexplored ones / kAlpha (and n / kBeta), and back when the frontier
// is smaller than n / kBeta. Departs in that the distances tell the frontier (a vertex is in it
// when its distance is the last level), so there is no bitmap to fill and empty.
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "cpu/call.hpp"

namespace nearfar {
namespace {

constexpr uint64_t kAlpha = 14;
constexpr uint64_t kBeta = 24;
constexpr std::size_t kRowAhead = 8;
constexpr std::size_t kTargetAhead = 3;

template <class C>
class BreadthFirst {
 public:
  using Index = typename C::Index;

  BreadthFirst(const C& out, const C* in, int32_t* distances, Interrupt& interrupt)
      : out_(out), in_(in), distances_(distances), interrupt_(interrupt) {}

  SearchStats run(Index source, StopRule<int32_t> stop) {
    const auto n = static_cast<std::size_t>(out_.n);
    std::fill_n(distances_, n, unreached<int32_t>());
    queue_.reset(new Index[n]);
    queue_[0] = source;
    distances_[source] = 0;
    std::size_t begin = 0, end = 1;  // the frontier is queue_[begin..end)
    uint64_t unexplored = static_cast<uint64_t>(out_.m);
    uint64_t ahead = degree(source);
    bool pulling = false;
    for (int32_t level = 1; begin < end && level <= stop.limit; ++level) {
      if (stop.reached_all(distances_, level)) break;
      const std::size_t size = end - begin;
      // A pull goes over all vertices, which the last levels of a road are too small for.
      const bool dense = ahead > n / kBeta && ahead > unexplored / kAlpha;
      pulling = in_ != nullptr && (pulling ? size >= n / kBeta : dense);
      unexplored -= std::min(unexplored, ahead);
      const std::size_t fresh = pulling ? pull(level, end) : push(level, begin, end);
      ahead = 0;
      if (in_ != nullptr)
        for (std::size_t i = end; i < fresh; ++i) ahead += degree(queue_[i]);
      begin = end;
      end = fresh;
      ++stats_.iterations;
    }
    stats_.pushes = end;
    return stats_;
  }

 private:
  uint64_t degree(Index v) const {
    return static_cast<uint64_t>(out_.indptr[v + 1] - out_.indptr[v]);
  }

  std::size_t push(int32_t level, std::size_t begin, std::size_t end) {
    std::size_t fresh = end;
    uint64_t edges = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kRowAhead < end) prefetch(out_.indptr + queue_[i + kRowAhead]);
      if (i + kTargetAhead < end) prefetch(out_.indices + out_.indptr[queue_[i + kTargetAhead]]);
      const Index v = queue_[i];
      const auto row = static_cast<std::size_t>(out_.indptr[v]);
      const auto row_end = static_cast<std::size_t>(out_.indptr[v + 1]);
      edges += row_end - row;
      for (std::size_t e = row; e < row_end; ++e) {
        const Index t = out_.indices[e];
        if (distances_[t] != unreached<int32_t>()) continue;
        distances_[t] = level;
        queue_[fresh++] = t;
      }
      interrupt_.poll(row_end - row + 8);
    }
    stats_.edges_relaxed += edges;
    stats_.vertices_processed += end - begin;
    return fresh;
  }

  std::size_t pull(int32_t level, std::size_t end) {
    std::size_t fresh = end;
    const auto n = static_cast<std::size_t>(in_->n);
    for (std::size_t v = 0; v < n; ++v) {
      if (distances_[v] != unreached<int32_t>()) continue;
      const auto row = static_cast<std::size_t>(in_->indptr[v]);
      const auto row_end = static_cast<std::size_t>(in_->indptr[v + 1]);
      std::size_t e = row;
      while (e < row_end && distances_[in_->indices[e]] != level - 1) ++e;
      stats_.edges_relaxed += std::min(e + 1, row_end) - row;
      interrupt_.poll(e - row + 1);
      if (e == row_end) continue;
      distances_[v] = level;
      queue_[fresh++] = static_cast<Index>(v);
    }
    stats_.vertices_processed += n;
    return fresh;
  }

  const C& out_;
  const C* in_;  // the transposed graph, or null when it is not at hand
  int32_t* distances_;
  Interrupt& interrupt_;
  SearchStats stats_;
  std::unique_ptr<Index[]> queue_;
};

}  // namespace

NEARFAR_BIND(m) {
  m.def(
      "breadth_first",
      [](GraphView& view, GraphView* reverse, int64_t source, Array distances,
         std::optional<double> limit, const Targets& targets) {
        return call_search(
            view, false, source, distances, limit, targets, 1,
            [&](const auto& csr, auto from, auto* out, auto stop, Interrupt& poll) -> SearchStats {
              using C = std::decay_t<decltype(csr)>;
              if constexpr (std::is_same_v<typename C::Weight, int32_t>) {
                const C* in = nullptr;
                if (reverse != nullptr)
                  in = reverse->visit([&](const auto& other) -> const C* {
                    if constexpr (std::is_same_v<std::decay_t<decltype(other)>, C>)
                      return other.n == csr.n ? &other : nullptr;
                    else
                      return nullptr;
                  });
                return BreadthFirst<C>(csr, in, out, poll).run(from, stop);
              } else {
                throw std::invalid_argument("breadth-first search counts edges: int32 ones");
              }
            });
      },
      nb::arg("view"), nb::arg("reverse").none(), nb::arg("source"), nb::arg("distances"),
      nb::arg("limit") = nb::none(), nb::arg("targets") = nb::none());
}

}  // namespace nearfar
