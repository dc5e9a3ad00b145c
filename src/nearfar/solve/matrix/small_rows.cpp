// Rows of distances and predecessors over a small SciPy matrix, in one call.
//
// A search of some hundred vertices takes microseconds, and choosing a method for it, validating a
// Graph and making Paths take a hundred. This file checks the arrays in one pass and searches with
// a heap, or by levels if every edge counts 1. Distances and predecessors are those of every other
// method: the least fixed point of rounded sums, and the tight-edge rule of tight_edges.hpp.
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpu/bindings/call.hpp"
#include "cpu/distances/tight_edges.hpp"
#include "cpu/heaps/dary_heap.hpp"
#include "cpu/memory/fill.hpp"
#include "solve/matrix/check_matrix.hpp"
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

// The rows of a matrix, with unit weights or both directions of the edges where asked for.
class SmallRows {
 public:
  // Returns false if an array has another dtype, or an edge is negative or infinite or leads
  // nowhere. Unless `all`, the search checks the rows that it reads.
  bool read(const ConstArray& indptr, const ConstArray& indices,
            const std::optional<ConstArray>& weights, bool all) {
    const std::size_t n = indptr.size() - 1, m = indices.size();
    constexpr std::size_t kMost = std::numeric_limits<int32_t>::max() / 2;
    if (n >= kMost || m >= kMost) return false;
    csr_.n = static_cast<int32_t>(n);
    csr_.indptr = narrow(indptr, indptr_);
    csr_.indices = narrow(indices, indices_);
    if (csr_.indptr == nullptr || csr_.indices == nullptr) return false;
    if (!weights) weights_.assign(m, 1.0);
    csr_.weights = weights ? static_cast<const double*>(weights->data()) : weights_.data();
    csr_.m = static_cast<int32_t>(m);
    if (!all) return !weights || fit(NEARFAR_PICK_ISA(check_weights)(csr_.weights, m));
    bool rising = csr_.indptr[0] == 0 && csr_.indptr[n] == static_cast<int32_t>(m);
    for (std::size_t v = 0; v < n; ++v) rising &= csr_.indptr[v] <= csr_.indptr[v + 1];
    if (!rising) return false;
    BareCsr bare;
    bare.n = csr_.n, bare.m = csr_.m;
    bare.indptr = csr_.indptr, bare.indices = csr_.indices, bare.weights = csr_.weights;
    const EdgeFacts facts = NEARFAR_PICK_ISA(check_edges(bare));
    return (m == 0 || facts.top < n) && fit(facts);
  }

  // Adds the reverse of each edge, or replaces each edge by it.
  void reverse_edges(bool keeps) {
    const auto n = static_cast<std::size_t>(csr_.n), m = static_cast<std::size_t>(csr_.indptr[n]);
    std::vector<int32_t> starts(n + 1, 0), targets(keeps ? 2 * m : m);
    std::vector<double> values(targets.size());
    for (std::size_t u = 0; u < n; ++u) {
      if (keeps) starts[u + 1] += csr_.indptr[u + 1] - csr_.indptr[u];
      for (int32_t e = csr_.indptr[u]; e < csr_.indptr[u + 1]; ++e) ++starts[csr_.indices[e] + 1];
    }
    for (std::size_t u = 0; u < n; ++u) starts[u + 1] += starts[u];
    std::vector<int32_t> next(starts.begin(), starts.end() - 1);
    const auto add = [&](int32_t from, int32_t to, double weight) {
      targets[next[from]] = to, values[next[from]++] = weight;
    };
    for (int32_t u = 0; u < csr_.n; ++u)
      for (int32_t e = csr_.indptr[u]; e < csr_.indptr[u + 1]; ++e) {
        const int32_t v = csr_.indices[e];
        if (keeps) add(u, v, csr_.weights[e]);
        add(v, u, csr_.weights[e]);
      }
    indptr_ = std::move(starts), indices_ = std::move(targets), weights_ = std::move(values);
    csr_.indptr = indptr_.data(), csr_.indices = indices_.data(), csr_.weights = weights_.data();
    csr_.m = csr_.indptr[n];
  }

  const SmallCsr& csr() const { return csr_; }

 private:
  // Whether no weight is negative and no sum is infinite.
  bool fit(const EdgeFacts& facts) const {
    return facts.least >= 0 && std::isfinite(facts.greatest * static_cast<double>(csr_.n));
  }

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

  SmallCsr csr_;
  std::vector<int32_t> indptr_, indices_;
  std::vector<double> weights_;
};

class SmallSearch {
 public:
  // `edges`: the most that all searches look at.
  SmallSearch(const SmallCsr& csr, double limit, int64_t edges)
      : csr_(csr), limit_(limit), edges_left_(edges), heap_(csr.n) {}

  // Writes the distances from the nearest of the sources and, unless null, the predecessors of
  // reached vertices. Returns false if it would look at too many edges, or at a wrong one.
  bool by_heap(std::span<const int32_t> sources, double* d, int32_t* before) {
    fill_numbers(d, static_cast<std::size_t>(csr_.n), unreached<double>());
    heap_.clear();
    level_ = false;
    for (const int32_t source : sources) d[source] = 0, heap_.insert(source, 0);
    int32_t u;
    double here;
    while (heap_.pop(u, here)) {
      if (here != d[u]) continue;
      const int32_t first = csr_.indptr[u], last = csr_.indptr[u + 1];
      if (!looks_at(first, last)) return false;
      for (int32_t e = first; e < last; ++e) {
        const int32_t v = csr_.indices[e];
        if (static_cast<uint32_t>(v) >= static_cast<uint32_t>(csr_.n)) return false;
        const double sum = here + csr_.weights[e];
        if (sum < d[v] && sum <= limit_) {
          d[v] = sum, heap_.insert(v, sum);
          if (before != nullptr) before[v] = u, level_ |= sum == here;
        } else if (before != nullptr && sum == d[v] && u < before[v] && here < sum) {
          before[v] = u;
        }
      }
    }
    return true;
  }

  // The same where every edge counts 1.
  bool by_levels(std::span<const int32_t> sources, double* d, int32_t* before) {
    fill_numbers(d, static_cast<std::size_t>(csr_.n), unreached<double>());
    queue_.assign(sources.begin(), sources.end());
    for (const int32_t source : sources) d[source] = 0;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const int32_t u = queue_[at];
      const double sum = d[u] + 1;
      if (sum > limit_) return true;
      const int32_t first = csr_.indptr[u], last = csr_.indptr[u + 1];
      if (!looks_at(first, last)) return false;
      for (int32_t e = first; e < last; ++e) {
        const int32_t v = csr_.indices[e];
        if (static_cast<uint32_t>(v) >= static_cast<uint32_t>(csr_.n)) return false;
        if (d[v] == unreached<double>()) {
          d[v] = sum, queue_.push_back(v);
          if (before != nullptr) before[v] = u;
        } else if (before != nullptr && sum == d[v] && u < before[v]) {
          before[v] = u;
        }
      }
    }
    return true;
  }

  // Whether the last search reached a vertex from one that is no nearer, so that the rule for
  // predecessors needs a pass over all edges.
  bool on_a_level() const { return level_; }

 private:
  // Counts the edges of a row; returns false if the row is malformed or they are too many.
  bool looks_at(int32_t first, int32_t last) {
    edges_left_ -= last - first;
    return 0 <= first && first <= last && last <= csr_.m && edges_left_ >= 0;
  }

  const SmallCsr& csr_;
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
  if (!rows.read(indptr, indices, weights, !most || edges != Edges::along)) return false;
  if (edges != Edges::along) rows.reverse_edges(edges == Edges::both);
  const SmallCsr& csr = rows.csr();
  SmallSearch search(csr, limit ? *limit : unreached<double>(),
                     most ? *most : std::numeric_limits<int64_t>::max());
  for (std::size_t i = 0; i < k; ++i) {
    const std::span<const int32_t> own(from.data() + i, joined ? from.size() : 1);
    double* const row = out + i * n;
    int32_t* const tree = before == nullptr ? nullptr : before + i * n;
    if (tree != nullptr) fill_numbers(tree, n, kNoVertex);
    if (!(weights ? search.by_heap(own, row, tree) : search.by_levels(own, row, tree)))
      return false;
    if (tree == nullptr || !search.on_a_level()) continue;
    TightEdges<SmallCsr>(csr, row).predecessors(own, false, tree);
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
