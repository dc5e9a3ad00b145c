// The number of reached entries of each row, their sum, minimum and maximum: one pass over each
// row, with rows divided among workers.
//
// Integers are added exactly (modulo 2^64: the caller sees from the extremes whether that can have
// happened). Floats are added in float64 by halves, entry i and entry i + half, until one is left,
// like the same reduction on a device.
#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/dtypes.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

template <class T>
struct RowFigures {
  int64_t count = 0;
  T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::lowest();

  void look(const T* row, std::size_t width) {
    constexpr T none = unreached<T>();
    for (std::size_t i = 0; i < width; ++i) {
      const bool reached = row[i] != none;
      count += reached;
      least = reached && row[i] < least ? row[i] : least;
      most = reached && row[i] > most ? row[i] : most;
    }
  }
};

template <class T>
double exact_sum(const T* row, std::size_t width) {
  using Sum = std::conditional_t<sizeof(T) == 8, __int128, int64_t>;
  Sum sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += row[i] == unreached<T>() ? 0 : Sum{row[i]};
  return static_cast<double>(sum);
}

template <class T>
double sum_by_halves(const T* row, std::size_t width, std::vector<double>& scratch) {
  scratch.resize(width + 1);
  double* some = scratch.data();
  for (std::size_t i = 0; i < width; ++i) some[i] = row[i] == unreached<T>() ? 0.0 : row[i];
  while (width > 1) {
    const std::size_t half = (width + 1) / 2;
    for (std::size_t i = 0; i < width - half; ++i) some[i] += some[half + i];
    width = half;
  }
  return width ? some[0] : 0.0;
}

void row_figures(const nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro>& rows,
                 const Array& counts, const Array& least, const Array& most, const Array& sums,
                 int threads) {
  const std::size_t height = rows.shape(0), width = rows.shape(1);
  auto* count_of = checked<int64_t>(counts, height, "counts");
  auto* sum_of = checked<double>(sums, height, "sums");
  with_weight_type(rows.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto* all = static_cast<const T*>(rows.data());
    T* least_of = checked<T>(least, height, "least");
    T* most_of = checked<T>(most, height, "most");
    nb::gil_scoped_release release;
    spread(static_cast<int64_t>(height), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
      std::vector<double> scratch;
      for (int64_t taken; (taken = counter.take()) >= 0;) {
        interrupt.poll(width);
        const auto i = static_cast<std::size_t>(taken);
        const T* row = all + i * width;
        RowFigures<T> found;
        found.look(row, width);
        count_of[i] = found.count;
        least_of[i] = found.least;
        most_of[i] = found.most;
        if constexpr (std::is_floating_point_v<T>)
          sum_of[i] = sum_by_halves(row, width, scratch);
        else
          sum_of[i] = exact_sum(row, width);
      }
    });
  });
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("row_figures", &row_figures, arg("rows"), arg("counts"), arg("least"), arg("most"),
        arg("sums"), arg("threads"));
}

}  // namespace nearfar
