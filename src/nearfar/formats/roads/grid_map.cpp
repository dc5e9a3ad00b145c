// MovingAI grid maps: passable cells become vertices in row-major order, moves between the eight
// neighbours become edges of weight 1 and sqrt(2).
//
// Rules: https://movingai.com/benchmarks/formats.html. A diagonal move needs both adjacent cells to
// be passable, so no corner is cut. '.', 'G' and 'S' are passable; '@', 'O', 'T' and 'W' are not.
#include <cmath>

#include "formats/text/text.hpp"

namespace nearfar::text {
namespace {

struct Grid {
  int64_t height = -1, width = -1;
  std::vector<int32_t> vertex;  // id by cell with a border of blocked cells around; -1 blocked
  std::vector<double> xy;
  int32_t n = 0;

  int64_t stride() const { return width + 2; }
  size_t cell(int64_t x, int64_t y) const { return size_t((y + 1) * stride() + x + 1); }
};

void parse_header(Cursor& cursor, Grid& grid, size_t bytes) {
  bool typed = false;
  for (;;) {
    if (cursor.done()) cursor.fail("the file ends before the line 'map'");
    const std::string_view word = cursor.field();
    if (word == "map") {
      if (!typed || grid.height < 0 || grid.width < 0)
        cursor.fail("'map' comes before type, height and width");
      cursor.end_line("map");
      return;
    }
    if (word == "type") {
      const std::string_view kind = cursor.field();
      if (kind != "octile") cursor.fail("map type " + quoted(kind) + ": only octile is known");
      typed = true;
    } else if (word == "height" || word == "width") {
      const int64_t value = cursor.integer("size");
      if (value < 1 || static_cast<uint64_t>(value) > bytes)
        cursor.fail("a size of " + std::to_string(value) + " does not fit a file of " +
                    std::to_string(bytes) + " bytes");
      (word == "height" ? grid.height : grid.width) = value;
    } else {
      cursor.fail("the line starts with " + quoted(word) + ": expected type, height, width or map");
    }
    cursor.end_line("header");
  }
}

void parse_cells(Cursor& cursor, Grid& grid, size_t bytes, Ticker& ticker) {
  if (grid.height > int64_t(bytes) / grid.width + 1 ||
      grid.height * grid.width >= (int64_t(1) << 31))
    cursor.fail("height times width is more than the file can hold");
  grid.vertex.assign(size_t(grid.stride() * (grid.height + 2)), -1);
  for (int64_t y = 0; y < grid.height; ++y) {
    ticker.at(cursor.position());
    if (cursor.done())
      cursor.fail("the file ends after " + std::to_string(y) + " of " +
                  std::to_string(grid.height) + " map lines: it may be cut short");
    std::string_view row = cursor.rest();
    while (!row.empty() && is_blank(row.back())) row.remove_suffix(1);
    if (int64_t(row.size()) != grid.width)
      cursor.fail("the map line has " + std::to_string(row.size()) + " cells, but width is " +
                  std::to_string(grid.width));
    for (int64_t x = 0; x < grid.width; ++x) switch (row[size_t(x)]) {
        case '.':
        case 'G':
        case 'S':
          grid.vertex[grid.cell(x, y)] = grid.n++;
          grid.xy.push_back(double(x));
          grid.xy.push_back(double(y));
          break;
        case '@':
        case 'O':
        case 'T':
        case 'W':
          break;
        default:
          cursor.fail("cell " + quoted(row.substr(size_t(x), 1)) + " in column " +
                      std::to_string(x + 1) + " is none of . G S @ O T W");
      }
    cursor.next_line();
  }
  while (!cursor.done()) {
    if (!cursor.at_line_end())
      cursor.fail("more map lines than the height of " + std::to_string(grid.height));
    cursor.next_line();
  }
}

Fields parse_grid_map(const Bytes& data, bool diagonal, Progress progress) {
  Cursor cursor(data);
  Ticker ticker(std::move(progress), cursor.position(), cursor.end());
  Grid grid;
  std::vector<int64_t> indptr;
  std::vector<int32_t> indices;
  std::vector<double> weights;
  {
    nb::gil_scoped_release release;
    parse_header(cursor, grid, data.size());
    parse_cells(cursor, grid, data.size(), ticker);
    indptr.reserve(size_t(grid.n) + 1);
    indices.reserve(size_t(grid.n) * (diagonal ? 8 : 4));
    weights.reserve(indices.capacity());
    indptr.push_back(0);
    const double root = std::sqrt(2.0);
    for (int64_t y = 0; y < grid.height; ++y)
      for (int64_t x = 0; x < grid.width; ++x) {
        if (grid.vertex[grid.cell(x, y)] < 0) continue;
        for (int64_t dy = -1; dy <= 1; ++dy)
          for (int64_t dx = -1; dx <= 1; ++dx) {
            const int32_t to = grid.vertex[grid.cell(x + dx, y + dy)];
            const bool slanted = dx != 0 && dy != 0;
            if (to < 0 || (dx == 0 && dy == 0) || (slanted && !diagonal)) continue;
            if (slanted &&
                (grid.vertex[grid.cell(x + dx, y)] < 0 || grid.vertex[grid.cell(x, y + dy)] < 0))
              continue;
            indices.push_back(to);
            weights.push_back(slanted ? root : 1.0);
          }
        indptr.push_back(int64_t(indices.size()));
      }
    ticker.finish();
  }
  nb::dict out;
  out["height"] = grid.height;
  out["width"] = grid.width;
  out["indptr"] = as_numpy(std::move(indptr));
  out["indices"] = as_numpy(std::move(indices));
  out["weights"] = as_numpy(std::move(weights));
  out["coordinates"] = as_numpy(std::move(grid.xy));
  return out;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("parse_grid_map", &parse_grid_map, nb::arg("data"), nb::arg("diagonal"),
        nb::arg("progress") = nb::none());
}

}  // namespace nearfar::text
