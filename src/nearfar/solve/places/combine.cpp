// A table of distances between places from distances between vertices: the (min, +) product with
// the costs between places and vertices.
#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/threads/spread.hpp"

namespace nearfar {
namespace {

using Places = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Costs = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// out[i, j] = min over a, b of row_cost[i, a] + distances[rows[i, a], columns[j, b]]
//                              + column_cost[j, b]
// with infinity if there is no path; a vertex of -1 means none. A place has any number of vertices.
template <class Weight>
void combine(const Weight* distances, int64_t width, const Places& rows, const Costs& row_cost,
             const Places& columns, const Costs& column_cost, double* out, int threads) {
  const auto count = static_cast<int64_t>(rows.shape(0));
  const auto targets = static_cast<int64_t>(columns.shape(0));
  const auto out_ways = static_cast<int64_t>(rows.shape(1));
  const auto in_ways = static_cast<int64_t>(columns.shape(1));
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr int64_t block = 16;
  spread((count + block - 1) / block, threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    std::vector<double> best(static_cast<std::size_t>(width) + 1);  // the last entry is for -1
    for (int64_t b; (b = counter.take()) >= 0;)
      for (int64_t i = b * block; i < std::min(count, (b + 1) * block); ++i) {
        interrupt.poll(static_cast<uint64_t>(width + targets));
        std::fill(best.begin(), best.end(), kNone);
        for (int64_t a = 0; a < out_ways; ++a) {
          const int64_t row = rows.data()[out_ways * i + a];
          if (row < 0) continue;
          const double cost = row_cost.data()[out_ways * i + a];
          const Weight* from = distances + row * width;
          for (int64_t c = 0; c < width; ++c) {
            const double sum =
                from[c] == unreached<Weight>() ? kNone : cost + static_cast<double>(from[c]);
            best[static_cast<std::size_t>(c)] = std::min(best[static_cast<std::size_t>(c)], sum);
          }
        }
        for (int64_t j = 0; j < targets; ++j) {
          double found = kNone;
          for (int64_t k = 0; k < in_ways; ++k) {
            const int64_t column = columns.data()[in_ways * j + k];
            const auto at = static_cast<std::size_t>(column < 0 ? width : column);
            found = std::min(found, best[at] + column_cost.data()[in_ways * j + k]);
          }
          out[i * targets + j] = found;
        }
      }
  });
}

void place_table(const ConstArray& distances, const Places& rows, const Costs& row_cost,
                 const Places& columns, const Costs& column_cost, const Table& out, int threads) {
  if (distances.ndim() != 2 || row_cost.shape(1) != rows.shape(1) ||
      column_cost.shape(1) != columns.shape(1) || row_cost.shape(0) != rows.shape(0) ||
      column_cost.shape(0) != columns.shape(0) || out.shape(0) != rows.shape(0) ||
      out.shape(1) != columns.shape(0))
    throw nb::type_error("a table of places: wrong shape");
  const auto height = static_cast<int64_t>(distances.shape(0));
  const auto width = static_cast<int64_t>(distances.shape(1));
  for (const auto& [places, end] : {std::pair{&rows, height}, std::pair{&columns, width}})
    for (std::size_t i = 0; i < places->size(); ++i)
      if (places->data()[i] < -1 || places->data()[i] >= end) throw nb::index_error("place");
  const auto run = [&](auto tag) {
    using Weight = decltype(tag);
    nb::gil_scoped_release release;
    combine(static_cast<const Weight*>(distances.data()), width, rows, row_cost, columns,
            column_cost, out.data(), threads);
  };
  if (distances.dtype() == nb::dtype<int32_t>()) return run(int32_t{});
  if (distances.dtype() == nb::dtype<int64_t>()) return run(int64_t{});
  if (distances.dtype() == nb::dtype<float>()) return run(float{});
  if (distances.dtype() == nb::dtype<double>()) return run(double{});
  throw nb::type_error("distances: wrong dtype");
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("place_table", &place_table, arg("distances"), arg("rows"), arg("row_cost"), arg("columns"),
        arg("column_cost"), arg("out"), arg("threads"));
}

}  // namespace nearfar
