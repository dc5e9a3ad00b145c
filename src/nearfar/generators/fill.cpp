// Fills arrays with hashed random numbers (generators/random.py) and draws distinct endpoints.
#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/ranges.hpp"
#include "generators/hash.hpp"

namespace nearfar::generators {
namespace {

using Out = nb::ndarray<nb::c_contig, nb::device::cpu>;

template <class T, class Make>
void fill(const Out& out, int threads, Make make) {
  T* data = static_cast<T*>(out.data());
  nb::gil_scoped_release free;
  in_ranges(out.size(), threads, [=](std::size_t, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) data[i] = static_cast<T>(make(static_cast<uint64_t>(i)));
  });
}

void fill_integers(Out out, uint64_t key, uint64_t start, int64_t low, uint64_t range,
                   int threads) {
  auto make = [=](uint64_t i) {
    const uint64_t bits = random(key, start + i);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + (range ? below(bits, range) : bits));
  };
  if (out.dtype() == nb::dtype<int32_t>()) return fill<int32_t>(out, threads, make);
  if (out.dtype() == nb::dtype<int64_t>()) return fill<int64_t>(out, threads, make);
  if (out.dtype() == nb::dtype<uint64_t>()) return fill<uint64_t>(out, threads, make);
  throw nb::type_error("out: int32, int64 or uint64");
}

// Multiples of 2^-53 (float64) or 2^-24 (float32) in [0, 1): exact, so no rounding can differ.
void fill_unit(Out out, uint64_t key, int threads) {
  if (out.dtype() == nb::dtype<double>())
    return fill<double>(out, threads, [=](uint64_t i) {
      return static_cast<double>(random(key, i) >> 11) * 0x1p-53;
    });
  if (out.dtype() == nb::dtype<float>())
    return fill<float>(out, threads, [=](uint64_t i) {
      return static_cast<float>(random(key, i) >> 40) * 0x1p-24f;
    });
  throw nb::type_error("out: float32 or float64");
}

// Fills row v of out with k distinct vertices other than v, uniform over all such sets, by Floyd's
// method (Bentley, Floyd: "A sample of brilliance", CACM 30(9), 1987): k draws without rejection.
template <class T>
void distinct_others(T* out, int64_t rows, int64_t k, int64_t n, uint64_t key, int threads) {
  constexpr int64_t scan_limit = 48;  // up to here a scan is faster than a table
  in_ranges(static_cast<std::size_t>(rows), threads, [=](std::size_t, int64_t from, int64_t to) {
    std::vector<int64_t> stamp(k > scan_limit ? static_cast<std::size_t>(n) : 0, -1);
    for (int64_t v = from; v < to; ++v) {
      T* row = out + v * k;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t top = n - 1 - k + i;  // candidates are 0 .. top, of 0 .. n-2
        const uint64_t bits = random(key, static_cast<uint64_t>(v * k + i));
        auto pick = static_cast<int64_t>(below(bits, static_cast<uint64_t>(top) + 1));
        bool taken = false;
        if (k > scan_limit) {
          taken = stamp[static_cast<std::size_t>(pick)] == v;
          if (taken) pick = top;
          stamp[static_cast<std::size_t>(pick)] = v;
        } else {
          for (int64_t j = 0; j < i; ++j) taken |= row[j] == static_cast<T>(pick);
          if (taken) pick = top;
        }
        row[i] = static_cast<T>(pick);
      }
      for (int64_t i = 0; i < k; ++i) row[i] += row[i] >= static_cast<T>(v);  // skip v itself
    }
  });
}

void fill_distinct(Out out, int64_t rows, int64_t k, int64_t n, uint64_t key, int threads) {
  if (static_cast<int64_t>(out.size()) != rows * k || k > n - 1)
    throw nb::value_error("out must hold rows * k values, and k be at most n - 1");
  nb::gil_scoped_release free;
  if (out.dtype() == nb::dtype<int32_t>())
    return distinct_others(static_cast<int32_t*>(out.data()), rows, k, n, key, threads);
  distinct_others(static_cast<int64_t*>(out.data()), rows, k, n, key, threads);
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("generator_fill_integers", &fill_integers, nb::arg("out"), nb::arg("key"), nb::arg("start"),
        nb::arg("low"), nb::arg("range"), nb::arg("threads"));
  m.def("generator_fill_unit", &fill_unit, nb::arg("out"), nb::arg("key"), nb::arg("threads"));
  m.def("generator_fill_distinct", &fill_distinct, nb::arg("out"), nb::arg("rows"), nb::arg("k"),
        nb::arg("n"), nb::arg("key"), nb::arg("threads"));
}

}  // namespace nearfar::generators
