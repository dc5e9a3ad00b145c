// GraphView: wraps NumPy arrays, packs edges on demand.
#include "cpu/graph/graph_view.hpp"

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cpu/bindings/bindings.hpp"
#include "cpu/memory/blocks_in_file.hpp"
#include "cpu/threads/ranges.hpp"

namespace nearfar {

namespace {

// The target of a vertex's only edge: kNowhere if there is no edge, n if there are several.
template <class Index>
constexpr Index kNowhere = -1;

template <class C>
typename C::Index only_way(const C& csr, typename C::Index v) {
  const auto row = csr.indptr[v], count = csr.indptr[v + 1] - row;
  using Index = typename C::Index;
  return count == 0 ? kNowhere<Index> : count == 1 ? csr.indices[row] : csr.n;
}

// Whether an edge from u leads to a dead end, whose only edge, if any, leads back to u. Used only
// where weights are not negative, so nothing reached through a dead end is nearer than the dead
// end.
template <class Index>
bool is_dead_end(Index way, Index u) {
  return (way == kNowhere<Index>) | (way == u);
}

// Whether more than one edge in 32 leads to a dead end, by sampling. With fewer, finding the dead
// ends costs more than a few solves gain.
template <class C>
bool many_dead_ends(const C& csr) {
  using Index = typename C::Index;
  constexpr std::size_t kSample = 512;
  if (csr.m == 0) return false;
  uint64_t random = 0;  // even steps would align with the pattern of regular rows
  std::size_t found = 0;
  for (std::size_t i = 0; i < kSample; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto e = static_cast<Index>((random >> 16) % static_cast<uint64_t>(csr.m));
    const Index* above = std::upper_bound(csr.indptr, csr.indptr + csr.n + 1, e);
    const auto u = static_cast<Index>(above - csr.indptr - 1);
    found += is_dead_end(only_way(csr, csr.indices[e]), u);
  }
  return found * 32 > kSample;
}

// Packs the edges of the vertices from `first` up to `last`. With `ways`, the result of only_way
// for each vertex, dead ends are marked.
template <class C>
void pack_rows(const C& csr, const typename C::Index* ways, typename C::Index first,
               typename C::Index last, typename C::Stored* out) {
  using Index = typename C::Index;
  const auto at = [&](Index v) { return static_cast<std::size_t>(csr.indptr[v]); };
  if (ways == nullptr) {
    for (std::size_t e = at(first); e < at(last); ++e) out[e] = {csr.indices[e], csr.weights[e]};
    return;
  }
  for (Index u = first; u < last; ++u)
    for (std::size_t e = at(u); e < at(u + 1); ++e) {
      const Index v = csr.indices[e];
      const Index mark = is_dead_end(ways[v], u) ? std::numeric_limits<Index>::min() : 0;
      out[e] = {v | mark, csr.weights[e]};
    }
}

}  // namespace

void GraphView::pack(int threads) {
  std::call_once(packed_once_, [&] {
    std::visit(
        [&](auto& csr) {
          using C = std::decay_t<decltype(csr)>;
          using Index = typename C::Index;
          using Stored = typename C::Stored;
          const auto m = static_cast<std::size_t>(csr.m);
          packed_ = HugeBlock(m * sizeof(Stored));
          Stored* out = reinterpret_cast<Stored*>(packed_.data());
          std::unique_ptr<Index[]> ways;
          if (many_dead_ends(csr)) {
            ways.reset(new Index[static_cast<std::size_t>(csr.n)]);
            in_ranges(static_cast<std::size_t>(csr.n), threads,
                      [&](std::size_t, std::size_t from, std::size_t to) {
                        for (std::size_t v = from; v < to; ++v)
                          ways[v] = only_way(csr, static_cast<Index>(v));
                      });
          }
          // The rows that begin in a range of the edges.
          const auto first_from = [&](std::size_t edge) {
            const Index* row =
                std::lower_bound(csr.indptr, csr.indptr + csr.n, static_cast<Index>(edge));
            return edge == m ? csr.n : static_cast<Index>(row - csr.indptr);
          };
          in_ranges(m, threads, [&](std::size_t, std::size_t from, std::size_t to) {
            pack_rows(csr, ways.get(), first_from(from), first_from(to), out);
          });
          csr.edges = out;
          csr.has_dead_ends = ways != nullptr;
        },
        csr_);
  });
}

namespace {

template <class Index, class Weight>
AnyCsr make(const ConstArray& indptr, const ConstArray& indices, const ConstArray& weights) {
  Csr<Index, Weight> csr;
  csr.n = static_cast<Index>(indptr.size() - 1);
  csr.m = static_cast<Index>(indices.size());
  csr.indptr = static_cast<const Index*>(indptr.data());
  csr.indices = static_cast<const Index*>(indices.data());
  csr.weights = static_cast<const Weight*>(weights.data());
  return csr;
}

template <class Index>
AnyCsr with_weight(const ConstArray& indptr, const ConstArray& indices, const ConstArray& weights) {
  const auto type = weights.dtype();
  if (type == nb::dtype<int32_t>()) return make<Index, int32_t>(indptr, indices, weights);
  if (type == nb::dtype<int64_t>()) return make<Index, int64_t>(indptr, indices, weights);
  if (type == nb::dtype<float>()) return make<Index, float>(indptr, indices, weights);
  if (type == nb::dtype<double>()) return make<Index, double>(indptr, indices, weights);
  throw nb::type_error("weights: int32, int64, float32 or float64");
}

std::unique_ptr<GraphView> make_view(ConstArray indptr, ConstArray indices, ConstArray weights) {
  if (indptr.size() < 1 || indices.size() != weights.size())
    throw nb::value_error("indptr, indices and weights do not fit together");
  const auto type = indptr.dtype();
  if (indices.dtype() != type) throw nb::type_error("indptr and indices must have one dtype");
  if (type == nb::dtype<int32_t>())
    return std::make_unique<GraphView>(with_weight<int32_t>(indptr, indices, weights));
  if (type == nb::dtype<int64_t>())
    return std::make_unique<GraphView>(with_weight<int64_t>(indptr, indices, weights));
  throw nb::type_error("indptr and indices: int32 or int64");
}

}  // namespace

NEARFAR_BIND(m) {
  nb::class_<GraphView>(m, "GraphView")
      // The view has bare pointers, so the arrays must live as long as it does.
      .def(nb::new_(&make_view), nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
           nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>())
      .def(
          "pack",
          [](GraphView& view, int threads, const std::string& folder) {
            const BlocksInFile in_file(folder);  // in memory if the name is empty
            view.pack(threads);
          },
          nb::arg("threads") = 1, nb::arg("folder") = "", nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("packed_bytes", &GraphView::packed_bytes);
}

}  // namespace nearfar
