#include "algorithms/delta_stepping/narrow_view.hpp"

#include <algorithm>
#include <limits>

namespace nearfar {
namespace {

// Copies the weights; returns false unless all fit.
template <class Small>
bool narrow_weights(const int32_t* weights, std::size_t m, Small* out) {
  int32_t all = 0;  // union of the bits of all weights
  for (std::size_t e = 0; e < m; ++e) {
    all |= weights[e];
    out[e] = static_cast<Small>(weights[e]);
  }
  return (all & ~int32_t{std::numeric_limits<Small>::max()}) == 0;
}

}  // namespace

std::unique_ptr<NarrowView> NarrowView::make(Ints indptr, Ints indices, Ints weights) {
  if (indptr.size() < 1 || indices.size() != weights.size())
    throw nb::value_error("indptr, indices and weights do not fit together");
  auto view = std::make_unique<NarrowView>();
  nb::gil_scoped_release release;
  if (view->fill<uint8_t>(indptr, indices, weights)) return view;
  if (view->fill<uint16_t>(indptr, indices, weights)) return view;
  return nullptr;
}

template <class Small>
bool NarrowView::fill(const Ints& indptr, const Ints& indices, const Ints& weights) {
  using C = NarrowCsr<Small>;
  const std::size_t m = indices.size();
  block_ = HugeBlock((m + C::kSpare) * sizeof(Small));
  auto* small = reinterpret_cast<Small*>(block_.data());
  if (!narrow_weights(weights.data(), m, small)) return false;
  std::fill_n(small + m, C::kSpare, Small{0});
  C csr;
  csr.n = static_cast<int32_t>(indptr.size() - 1), csr.m = static_cast<int32_t>(m);
  csr.indptr = indptr.data(), csr.indices = indices.data(), csr.small = small;
  csr_ = csr;
  return true;
}

}  // namespace nearfar
