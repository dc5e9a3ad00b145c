// GraphView: wraps NumPy arrays, packs edges on demand.
#include "cpu/graph/graph_view.hpp"

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/memory/blocks_in_file.hpp"
#include "cpu/threads/ranges.hpp"

namespace nearfar {

namespace {

// The target of a vertex's only edge: kNowhere if there is no edge, n if there are several.
constexpr Index kNowhere = -1;

template <class C>
Index only_way(const C& csr, Index v) {
  const auto row = csr.indptr[v], count = csr.indptr[v + 1] - row;
  return count == 0 ? kNowhere : count == 1 ? csr.indices[row] : csr.n;
}

// Whether an edge from u leads to a dead end, whose only edge, if any, leads back to u. Used only
// where weights are not negative, so nothing reached through a dead end is nearer than the dead
// end.
bool is_dead_end(Index way, Index u) {
  return (way == kNowhere) | (way == u);
}

// Whether more than one edge in 32 leads to a dead end, by sampling. With fewer, finding the dead
// ends costs more than a few solves gain.
template <class C>
bool many_dead_ends(const C& csr) {
  constexpr std::size_t kSample = 512;
  if (csr.m == 0) return false;
  uint64_t random = 0;  // even steps would align with the pattern of regular rows
  std::size_t found = 0;
  for (std::size_t i = 0; i < kSample; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto e = static_cast<int64_t>((random >> 16) % static_cast<uint64_t>(csr.m));
    const Index u = csr.indptr.first_above(csr.n, e) - 1;
    found += is_dead_end(only_way(csr, csr.indices[e]), u);
  }
  return found * 32 > kSample;
}

// Packs the edges of the vertices from `first` up to `last`. With `ways`, the result of only_way
// for each vertex, dead ends are marked.
template <class C>
void pack_rows(const C& csr, const Index* ways, Index first, Index last, typename C::Stored* out) {
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
            return edge == m ? csr.n
                             : csr.indptr.first_above(csr.n, static_cast<int64_t>(edge) - 1);
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

// Throws if a vertex has 2^31 edges or more: searches count those of one row in 32 bits.
void check_rows(const int64_t* starts, std::size_t n) {
  for (std::size_t v = 0; v < n; ++v)
    if (starts[v + 1] - starts[v] > std::numeric_limits<Index>::max())
      throw nb::value_error("a vertex has 2^31 edges or more: merge parallel edges");
}

// Returns the targets in 32 bits.
HugeBlock narrowed(const int64_t* indices, std::size_t m) {
  HugeBlock copy(m * sizeof(Index));
  auto* const out = reinterpret_cast<Index*>(copy.data());
  for (std::size_t e = 0; e < m; ++e) out[e] = static_cast<Index>(indices[e]);
  return copy;
}

std::unique_ptr<GraphView> make_view(ConstArray indptr, ConstArray indices, ConstArray weights) {
  if (indptr.size() < 1 || indices.size() != weights.size())
    throw nb::value_error("indptr, indices and weights do not fit together");
  if (indices.dtype() != indptr.dtype())
    throw nb::type_error("indptr and indices must have one dtype");
  const std::size_t n = indptr.size() - 1, m = indices.size();
  if (n > std::numeric_limits<Index>::max())
    throw nb::value_error("CPU searches take fewer than 2^31 vertices: use a GPU");
  return with_index_type(indptr.dtype(), [&](auto index) {
    using Given = decltype(index);
    HugeBlock targets;
    const auto* from = static_cast<const Index*>(indices.data());
    if constexpr (!std::is_same_v<Given, Index>) {
      check_rows(static_cast<const Given*>(indptr.data()), n);
      targets = narrowed(static_cast<const Given*>(indices.data()), m);
      from = reinterpret_cast<const Index*>(targets.data());
    }
    return with_weight_type(weights.dtype(), [&](auto weight) {
      Csr<decltype(weight)> csr;
      csr.n = static_cast<Index>(n);
      csr.m = static_cast<int64_t>(m);
      csr.indptr = static_cast<const Given*>(indptr.data());
      csr.indices = from;
      csr.weights = static_cast<const decltype(weight)*>(weights.data());
      return std::make_unique<GraphView>(csr, std::move(targets));
    });
  });
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
      .def_prop_ro("packed_bytes", &GraphView::packed_bytes)
      .def_prop_ro("copied_bytes", &GraphView::copied_bytes)
      .def_prop_ro("cleared_bytes", [](GraphView& view) { return view.cleared.bytes(); });
}

}  // namespace nearfar
