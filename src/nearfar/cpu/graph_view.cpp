// GraphView: built from NumPy arrays, packs edges on demand.
#include "cpu/graph_view.hpp"

#include <nanobind/stl/unique_ptr.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "cpu/bindings.hpp"

namespace nearfar {

HugeBlock::HugeBlock(std::size_t bytes) {
  constexpr std::size_t kHuge = std::size_t{1} << 21;
  if (bytes < 2 * kHuge) {
    block_.reset(static_cast<std::byte*>(std::malloc(bytes)));
    if (block_ == nullptr) throw std::bad_alloc();
    return;
  }
  const std::size_t rounded = (bytes + kHuge - 1) / kHuge * kHuge;
  block_.reset(static_cast<std::byte*>(std::aligned_alloc(kHuge, rounded)));
  if (block_ == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  ::madvise(block_.get(), rounded, MADV_HUGEPAGE);
#endif
}

void GraphView::pack(int threads) {
  std::call_once(packed_once_, [&] {
    std::visit(
        [&](auto& csr) {
          using C = std::decay_t<decltype(csr)>;
          using E = typename C::EdgeType;
          const auto m = static_cast<std::size_t>(csr.m);
          packed_bytes_ = m * sizeof(E);
          // One spare record, so that prefetching or reading one past the end stays inside.
          packed_ = HugeBlock(packed_bytes_ + sizeof(E));
          E* out = reinterpret_cast<E*>(packed_.data());
          auto fill = [&csr, out](std::size_t from, std::size_t to) {
            for (std::size_t i = from; i < to; ++i) out[i] = E{csr.indices[i], csr.weights[i]};
          };
          const std::size_t workers = m < (1u << 18) ? 1 : std::max(1, threads);
          std::vector<std::thread> pool;
          for (std::size_t t = 1; t < workers; ++t)
            pool.emplace_back(fill, m * t / workers, m * (t + 1) / workers);
          fill(0, m / workers);
          for (auto& thread : pool) thread.join();
          out[m] = E{};
          csr.edges = out;
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
      // The view holds bare pointers: the arrays live as long as it does.
      .def(nb::new_(&make_view), nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
           nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>())
      .def("pack", &GraphView::pack, nb::arg("threads") = 1,
           nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("packed_bytes", &GraphView::packed_bytes);
}

}  // namespace nearfar
