// Edge lists of the two skewed families, where a value takes several dependent draws: Kronecker
// (generators/kronecker.py) and preferential attachment (generators/preferential_attachment.py).
#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/ranges.hpp"
#include "generators/hash.hpp"

namespace nearfar::generators {
namespace {

using Out = nb::ndarray<nb::c_contig, nb::device::cpu>;

// A keyed bijection of 0 .. 2^scale-1: odd multiplications and xor-shifts, each invertible.
struct Scramble {
  uint64_t mask, multiply[3], add[3];
  int shift;

  Scramble(uint64_t key, int scale)
      : mask(scale >= 64 ? ~0ull : (1ull << scale) - 1), shift(std::max(1, (scale + 1) / 2)) {
    for (int i = 0; i < 3; ++i) {
      multiply[i] = random(key, 2 * i) | 1;
      add[i] = random(key, 2 * i + 1);
    }
  }

  uint64_t operator()(uint64_t x) const {
    for (int i = 0; i < 3; ++i) {
      x = (x * multiply[i] + add[i]) & mask;
      x ^= x >> shift;
    }
    return x;
  }
};

// Draws the quadrant of each of the scale levels with 32 bits against the cumulative thresholds a,
// a + b, a + b + c (times 2^32): the source bit is set in quadrants C and D, the target bit in B
// and D.
template <class T>
void kronecker(T* sources, T* targets, int64_t m, int scale, uint64_t key, uint64_t scramble_key,
               const uint64_t (&limits)[3], bool scrambled, int threads) {
  const Scramble scramble(scramble_key, scale);
  const uint64_t hashes = static_cast<uint64_t>(scale + 1) / 2;
  in_ranges(static_cast<std::size_t>(m), threads,
            [=, &limits](std::size_t, int64_t from, int64_t to) {
              for (int64_t e = from; e < to; ++e) {
                uint64_t s = 0, t = 0;
                for (uint64_t h = 0; h < hashes; ++h) {
                  const uint64_t bits = random(key, static_cast<uint64_t>(e) * hashes + h);
                  const int levels = (h + 1 == hashes && (scale & 1)) ? 1 : 2;
                  for (int half = 0; half < levels; ++half) {
                    const uint64_t draw = half ? bits >> 32 : bits & 0xffffffffu;
                    const uint64_t past_a = draw >= limits[0], past_b = draw >= limits[1];
                    const uint64_t past_c = draw >= limits[2];
                    s = (s << 1) | past_b;
                    t = (t << 1) | ((past_a ^ past_b) | past_c);
                  }
                }
                sources[e] = static_cast<T>(scrambled ? scramble(s) : s);
                targets[e] = static_cast<T>(scrambled ? scramble(t) : t);
              }
            });
}

void kronecker_edges(Out sources, Out targets, int scale, uint64_t key, uint64_t scramble_key,
                     uint64_t a, uint64_t b, uint64_t c, bool scrambled, int threads) {
  const auto m = static_cast<int64_t>(sources.size());
  if (sources.size() != targets.size() || sources.dtype() != targets.dtype())
    throw nb::value_error("sources and targets must be of one size and dtype");
  const uint64_t limits[3] = {a, b, c};
  nb::gil_scoped_release free;
  if (sources.dtype() == nb::dtype<int32_t>())
    return kronecker(static_cast<int32_t*>(sources.data()), static_cast<int32_t*>(targets.data()),
                     m, scale, key, scramble_key, limits, scrambled, threads);
  kronecker(static_cast<int64_t*>(sources.data()), static_cast<int64_t*>(targets.data()), m, scale,
            key, scramble_key, limits, scrambled, threads);
}

// Edge e belongs to vertex e / k + 1 and points to a uniform draw from the ends of all edges of
// earlier vertices: position 2j is the source of edge j, position 2j + 1 its target, which is found
// by drawing edge j's number again. That chain is O(log m) long with high probability and needs no
// memory, so edges are independent of each other. The edges of vertex 1 point to vertex 0.
template <class T>
void preferential(T* targets, int64_t m, int64_t k, uint64_t key, int threads) {
  const auto width = static_cast<uint64_t>(k);
  in_ranges(static_cast<std::size_t>(m), threads, [=](std::size_t, int64_t from, int64_t to) {
    for (int64_t e = from; e < to; ++e) {
      auto edge = static_cast<uint64_t>(e);
      uint64_t found = 0;
      while (edge >= width) {
        const uint64_t position = below(random(key, edge), 2 * width * (edge / width));
        edge = position >> 1;
        if (!(position & 1)) {
          found = edge / width + 1;
          break;
        }
      }
      targets[e] = static_cast<T>(found);
    }
  });
}

void preferential_targets(Out targets, int64_t k, uint64_t key, int threads) {
  const auto m = static_cast<int64_t>(targets.size());
  nb::gil_scoped_release free;
  if (targets.dtype() == nb::dtype<int32_t>())
    return preferential(static_cast<int32_t*>(targets.data()), m, k, key, threads);
  preferential(static_cast<int64_t*>(targets.data()), m, k, key, threads);
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("generator_kronecker_edges", &kronecker_edges, nb::arg("sources"), nb::arg("targets"),
        nb::arg("scale"), nb::arg("key"), nb::arg("scramble_key"), nb::arg("a"), nb::arg("b"),
        nb::arg("c"), nb::arg("scrambled"), nb::arg("threads"));
  m.def("generator_preferential_targets", &preferential_targets, nb::arg("targets"), nb::arg("k"),
        nb::arg("key"), nb::arg("threads"));
}

}  // namespace nearfar::generators
