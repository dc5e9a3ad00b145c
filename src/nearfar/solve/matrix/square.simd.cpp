// Dijkstra's algorithm over a square of weights: settling a vertex is one pass over its row, which
// lowers the distances, finds the next vertex to settle, and has no branch. On dense matrices it
// needs no lists of edges, which take longer to build than the first searches.
#include "solve/matrix/square.hpp"

#include <algorithm>

#include "cpu/instructions/registers.hpp"

namespace nearfar::NEARFAR_ISA {
namespace {

constexpr std::size_t kWide = kRegister / sizeof(double);
typedef double Some __attribute__((vector_size(kRegister)));
constexpr double kInfinite = std::numeric_limits<double>::infinity();

NEARFAR_INLINE Some all_of(double x) {
  return Some{} + x;
}

NEARFAR_INLINE Some& some_at(double* row, std::size_t i) {
  return *reinterpret_cast<Some*>(row + i);
}

// Lowers distances by the edges of vertex u, which becomes settled; returns the next one and
// its distance. `settled` holds infinity for settled vertices and 0 for others.
template <bool kTree>
NEARFAR_INLINE std::size_t settle(const Square& square, std::size_t u, double& distance, double* d,
                                  double* settled, double* before) {
  const double* const weights = square.weights + u * square.stride;
  const Some here = all_of(distance), own = all_of(static_cast<double>(u)), step = all_of(kWide);
  Some least = all_of(kInfinite), number = {}, found = {};
  for (std::size_t i = 0; i < kWide; ++i) number[i] = static_cast<double>(i);
  for (std::size_t i = 0; i < square.stride; i += kWide) {
    const Some sum = here + *reinterpret_cast<const Some*>(weights + i);
    Some old = some_at(d, i);
    if constexpr (kTree) {
      Some& tree = some_at(before, i);
      tree = (sum < old) | ((sum == old) & (own < tree)) ? own : tree;
    }
    old = sum < old ? sum : old;
    some_at(d, i) = old;
    const Some open = old + some_at(settled, i);
    found = open < least ? number : found;
    least = open < least ? open : least;
    number += step;
  }
  std::size_t lane = 0;
  for (std::size_t i = 1; i < kWide; ++i) lane = least[i] < least[lane] ? i : lane;
  distance = least[lane];
  return static_cast<std::size_t>(found[lane]);
}

template <bool kTree>
double search(const Square& square, std::span<const int32_t> sources, double limit, double* d,
              double* settled, double* before) {
  for (std::size_t i = 0; i < square.stride; ++i) d[i] = kInfinite, settled[i] = 0, before[i] = -1;
  for (const int32_t source : sources) d[source] = 0;
  auto u = static_cast<std::size_t>(sources[0]);
  double distance = 0, farthest = 0;
  while (distance <= limit && distance < kInfinite) {
    farthest = distance;
    settled[u] = kInfinite;
    u = settle<kTree>(square, u, distance, d, settled, before);
  }
  return farthest;
}

}  // namespace

bool copy_square(const double* matrix, bool unit, Square& to) {
  const Some infinite = all_of(kInfinite), one = all_of(1);
  Some least = infinite, greatest = {};
  decltype(least < greatest) count = {}, negative = {};
  for (std::size_t v = 0; v < to.n; ++v) {
    const double* const row = matrix + v * to.n;
    double* const out = to.weights + v * to.stride;
    for (std::size_t i = 0; i < to.stride; i += kWide) {
      Some w = {};
      if (i + kWide <= to.n)
        std::memcpy(&w, row + i, sizeof(w));
      else if (i < to.n)
        std::memcpy(&w, row + i, (to.n - i) * sizeof(double));
      const auto edge = (w < infinite) & (w > -infinite) & (w != 0);
      negative |= edge & (w < 0);
      count -= edge;
      if (unit) w = one;
      greatest = edge & (w > greatest) ? w : greatest;
      w = edge ? w : infinite;
      least = w < least ? w : least;
      some_at(out, i) = w;
    }
  }
  for (std::size_t i = 0; i < kWide; ++i) {
    to.least = std::min(to.least, least[i]);
    to.greatest = std::max(to.greatest, greatest[i]);
    to.n_edges += static_cast<std::size_t>(count[i]);
  }
  return !any_lane(negative);
}

void add_reverse(Square& square) {
  constexpr std::size_t kTile = 16;
  for (std::size_t top = 0; top < square.n; top += kTile)
    for (std::size_t left = 0; left <= top; left += kTile)
      for (std::size_t u = top; u < std::min(top + kTile, square.n); ++u)
        for (std::size_t v = left; v < std::min(left + kTile, u); ++v) {
          double& along = square.weights[u * square.stride + v];
          double& against = square.weights[v * square.stride + u];
          along = against = std::min(along, against);
        }
}

double search_square(const Square& square, std::span<const int32_t> sources, double limit,
                     double* scratch, double* distances, int32_t* predecessors, int32_t none) {
  double *const d = scratch, *const settled = d + square.stride,
                *const before = settled + square.stride;
  const double farthest = predecessors == nullptr
                              ? search<false>(square, sources, limit, d, settled, before)
                              : search<true>(square, sources, limit, d, settled, before);
  for (std::size_t v = 0; v < square.n; ++v) distances[v] = d[v] <= limit ? d[v] : kInfinite;
  if (predecessors != nullptr)
    for (std::size_t v = 0; v < square.n; ++v)
      predecessors[v] = before[v] >= 0 && d[v] <= limit ? static_cast<int32_t>(before[v]) : none;
  return farthest;
}

}  // namespace nearfar::NEARFAR_ISA
