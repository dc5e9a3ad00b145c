// Rows of distances and predecessors over a small SciPy matrix, in one call.
//
// A search of some hundred vertices takes microseconds, and choosing a method for it, validating a
// Graph and making Paths take a hundred. This file checks the arrays in one pass and searches with
// a heap, or by levels if every edge counts 1. Distances and predecessors are those of every other
// method: the least fixed point of rounded sums, and the tight-edge rule of tight_edges.hpp.
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpu/bindings/call.hpp"
#include "cpu/distances/tight_edges.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/memory/fill.hpp"
#include "solve/matrix/check_matrix.hpp"
#include "solve/matrix/columns.hpp"
#include "solve/matrix/roots.hpp"

namespace nearfar {
namespace {

using Sources = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

enum class Edges { along, both, against };

struct SmallCsr {
  using Weight = double;
  int32_t n = 0, m = 0;
  const int32_t* indptr = nullptr;
  const int32_t* indices = nullptr;
  const double* weights = nullptr;
};

// The rows of a matrix, its columns, or both.
class SmallRows {
 public:
  // Returns false if an array has another dtype, or an edge is negative or infinite or leads
  // nowhere. Unless `all`, the search checks the edges that it reads along the rows.
  bool read(const ConstArray& indptr, const ConstArray& indices,
            const std::optional<ConstArray>& weights, Edges edges, bool all) {
    const std::size_t n = indptr.size() - 1, m = indices.size();
    constexpr std::size_t kMost = std::numeric_limits<int32_t>::max() / 2;
    if (n >= kMost || m >= kMost) return false;
    rows_.n = static_cast<int32_t>(n), rows_.m = static_cast<int32_t>(m);
    rows_.indptr = narrow(indptr, indptr_);
    rows_.indices = narrow(indices, indices_);
    rows_.weights = weights ? static_cast<const double*>(weights->data()) : nullptr;
    if (rows_.indptr == nullptr || rows_.indices == nullptr) return false;
    const bool turned = edges != Edges::along;
    EdgeFacts facts;
    if (weights && all && !turned) {
      BareCsr bare;
      bare.n = rows_.n, bare.m = rows_.m;
      bare.indptr = rows_.indptr, bare.indices = rows_.indices, bare.weights = rows_.weights;
      facts = NEARFAR_PICK_ISA(check_edges(bare));
    } else if (weights) {
      facts = NEARFAR_PICK_ISA(check_weights)(rows_.weights, m);
    } else if (!turned) {
      for (std::size_t e = 0; e < m; ++e)
        facts.top = std::max(facts.top, static_cast<uint32_t>(rows_.indices[e]));
    }
    if (facts.least < 0 || !std::isfinite(facts.greatest * static_cast<double>(n))) return false;
    bool rising = (m == 0 || facts.top < n) && rows_.indptr[0] == 0 && rows_.indptr[n] == rows_.m;
    if (all || turned)
      for (std::size_t v = 0; v < n; ++v) rising &= rows_.indptr[v] <= rows_.indptr[v + 1];
    if (!rising || !turned) return rising;
    parts_ = {edges == Edges::both ? &rows_ : nullptr, &columns_.csr};
    return columns_.write(rows_, false);
  }

  int32_t n() const { return rows_.n; }
  // One or two lists of edges from each vertex, or null.
  const std::array<const SmallCsr*, 2>& parts() const { return parts_; }

  // Returns all edges in one list.
  const SmallCsr& whole() {
    if (parts_[1] == nullptr) return *parts_[0];
    if (parts_[0] == nullptr) return *parts_[1];
    if (whole_.csr.indptr == nullptr) whole_.write(rows_, true);
    return whole_.csr;
  }

 private:
  struct Columns {
    bool write(const SmallCsr& rows, bool after_rows) {
      const auto n = static_cast<std::size_t>(rows.n);
      const auto m = static_cast<std::size_t>(rows.m) * (after_rows ? 2 : 1);
      indptr.reset(new int32_t[n + 1]);
      indices.reset(new int32_t[m]);
      if (rows.weights != nullptr) weights.reset(new double[m]);
      csr = {rows.n, static_cast<int32_t>(m), indptr.get(), indices.get(), weights.get()};
      return write_columns(n, rows.indptr, rows.indices, rows.weights, after_rows, indptr.get(),
                           indices.get(), weights.get());
    }
    SmallCsr csr;
    std::unique_ptr<int32_t[]> indptr, indices;
    std::unique_ptr<double[]> weights;
  };

  // Returns the values as int32; null if they do not fit or have another dtype.
  static const int32_t* narrow(const ConstArray& given, std::vector<int32_t>& own) {
    if (given.dtype() == nb::dtype<int32_t>()) {
      static constexpr int32_t kNone = 0;
      return given.size() == 0 ? &kNone : static_cast<const int32_t*>(given.data());
    }
    if (given.dtype() != nb::dtype<int64_t>()) return nullptr;
    own.resize(given.size() + 1);
    const auto bits = NEARFAR_PICK_ISA(narrow_indices)(static_cast<const int64_t*>(given.data()),
                                                       given.size(), own.data());
    return bits <= std::numeric_limits<int32_t>::max() ? own.data() : nullptr;
  }

  SmallCsr rows_;
  std::vector<int32_t> indptr_, indices_;
  Columns columns_, whole_;
  std::array<const SmallCsr*, 2> parts_{&rows_, nullptr};
};

class SmallSearch {
 public:
  // `edges`: the most that all searches look at.
  SmallSearch(const SmallRows& rows, double limit, int64_t edges)
      : parts_(rows.parts()), n_(rows.n()), limit_(limit), edges_left_(edges), heap_(n_) {}

  // Writes the distances from the nearest of the sources and, unless null, the predecessors of
  // reached vertices. Returns false if it would look at too many edges, or at a wrong one.
  bool by_heap(std::span<const int32_t> sources, double* d, int32_t* before) {
    fill_numbers(d, static_cast<std::size_t>(n_), unreached<double>());
    heap_.clear();
    level_ = false;
    for (const int32_t source : sources) d[source] = 0, heap_.insert(source, 0);
    int32_t u;
    double here;
    while (heap_.pop(u, here)) {
      if (here != d[u]) continue;
      const bool fits = each_edge<true>(u, [&](int32_t v, double weight) {
        const double sum = here + weight;
        if (sum < d[v] && sum <= limit_) {
          d[v] = sum, heap_.insert(v, sum);
          if (before != nullptr) before[v] = u, level_ |= sum == here;
        } else if (before != nullptr && sum == d[v] && u < before[v] && here < sum) {
          before[v] = u;
        }
      });
      if (!fits) return false;
    }
    return true;
  }

  // The same where every edge counts 1.
  bool by_levels(std::span<const int32_t> sources, double* d, int32_t* before) {
    fill_numbers(d, static_cast<std::size_t>(n_), unreached<double>());
    queue_.assign(sources.begin(), sources.end());
    for (const int32_t source : sources) d[source] = 0;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const int32_t u = queue_[at];
      const double sum = d[u] + 1;
      if (sum > limit_) return true;
      const bool fits = each_edge<false>(u, [&](int32_t v, double) {
        if (d[v] == unreached<double>()) {
          d[v] = sum, queue_.push_back(v);
          if (before != nullptr) before[v] = u;
        } else if (before != nullptr && sum == d[v] && u < before[v]) {
          before[v] = u;
        }
      });
      if (!fits) return false;
    }
    return true;
  }

  // Whether the last search reached a vertex from one that is no nearer, so that the rule for
  // predecessors needs a pass over all edges.
  bool on_a_level() const { return level_; }

 private:
  // Calls relax(target, weight) for the edges of a vertex. Returns false if its row is malformed or
  // has too many edges.
  template <bool kWeighted, class Relax>
  NEARFAR_INLINE bool each_edge(int32_t u, const Relax& relax) {
    for (const SmallCsr* const csr : parts_) {
      if (csr == nullptr) continue;
      const int32_t first = csr->indptr[u], last = csr->indptr[u + 1];
      edges_left_ -= int64_t{last} - first;
      if (first < 0 || last < first || csr->m < last || edges_left_ < 0) return false;
      for (int32_t e = first; e < last; ++e) {
        const int32_t v = csr->indices[e];
        if (static_cast<uint32_t>(v) >= static_cast<uint32_t>(n_)) return false;
        relax(v, kWeighted ? csr->weights[e] : 1);
      }
    }
    return true;
  }

  const std::array<const SmallCsr*, 2> parts_;
  const int32_t n_;
  const double limit_;
  int64_t edges_left_;
  bool level_ = false;
  DaryHeap<double, 4> heap_;
  std::vector<int32_t> queue_;
};

// Weights of None are 1. `direction` is "along" the edges, "against" them or "both". If `joined`,
// there is one row, from the nearest of the sources. Returns false if the matrix must be validated,
// or the searches would look at more than `most` edges.
bool small_rows(ConstArray indptr, ConstArray indices, std::optional<ConstArray> weights,
                const std::string& direction, Sources sources, bool joined,
                std::optional<double> limit, Array distances, std::optional<Array> predecessors,
                std::optional<Array> roots, std::optional<int64_t> most) {
  if (indptr.size() < 1) return false;
  const Edges edges = direction == "both"      ? Edges::both
                      : direction == "against" ? Edges::against
                                               : Edges::along;
  const std::size_t n = indptr.size() - 1, k = joined ? 1 : sources.size();
  if (weights && (weights->dtype() != nb::dtype<double>() || weights->size() != indices.size()))
    return false;
  auto* const out = checked<double>(distances, k * n, "distances");
  auto* const before =
      predecessors ? checked<int32_t>(*predecessors, k * n, "predecessors") : nullptr;
  auto* const top = roots ? checked<int32_t>(*roots, n, "roots") : nullptr;
  std::vector<int32_t> from;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const int64_t source = sources.data()[i];
    if (source < 0 || static_cast<std::size_t>(source) >= n)
      throw nb::index_error("source is not a vertex");
    from.push_back(static_cast<int32_t>(source));
  }
  nb::gil_scoped_release release;
  SmallRows rows;
  if (!rows.read(indptr, indices, weights, edges, !most)) return false;
  SmallSearch search(rows, limit ? *limit : unreached<double>(),
                     most ? *most : std::numeric_limits<int64_t>::max());
  for (std::size_t i = 0; i < k; ++i) {
    const std::span<const int32_t> own(from.data() + i, joined ? from.size() : 1);
    double* const row = out + i * n;
    int32_t* const tree = before == nullptr ? nullptr : before + i * n;
    if (tree != nullptr) fill_numbers(tree, n, kNoVertex);
    if (!(weights ? search.by_heap(own, row, tree) : search.by_levels(own, row, tree)))
      return false;
    if (tree == nullptr || !search.on_a_level()) continue;
    if (most) return false;  // not all rows are checked
    TightEdges<SmallCsr>(rows.whole(), row).predecessors(own, false, tree);
    for (std::size_t v = 0; v < n; ++v) tree[v] = tree[v] < 0 ? kNoVertex : tree[v];
  }
  if (top != nullptr && before != nullptr) find_roots(before, out, n, top);
  return true;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("small_rows", &small_rows, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights").none(),
        nb::arg("direction"), nb::arg("sources"), nb::arg("joined"), nb::arg("limit").none(),
        nb::arg("distances"), nb::arg("predecessors").none(), nb::arg("roots").none(),
        nb::arg("most") = nb::none());
}

}  // namespace nearfar
