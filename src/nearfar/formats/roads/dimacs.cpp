// DIMACS text: shortest-path graphs (`p sp`, with SPLIB's `t` and `n` lines), PACE topologies (`p
// tw`) and coordinates (`p aux sp co`).
//
// Format: http://www.diag.uniroma1.it/challenge9/format.shtml. Each line begins with a letter; arcs
// are `a source target weight` with 1-based ids. The counts of the `p` line must be exact.
#include "formats/text/text.hpp"

namespace nearfar::text {
namespace {

struct Problem {
  bool treewidth = false;  // PACE: lines are `u v`, undirected, no weights
  int64_t n = -1;
  int64_t m = 0;
  int64_t line = 0;
  std::string title;
  std::vector<int64_t> sources;
};

void parse_problem(Cursor& cursor, Problem& problem, size_t file_bytes) {
  if (problem.n >= 0)
    cursor.fail("a second problem line; the first is line " + std::to_string(problem.line));
  problem.line = cursor.line();
  const std::string_view kind = cursor.field();
  if (kind != "sp" && kind != "tw")
    cursor.fail("problem type " + quoted(kind) + ": expected sp (shortest paths) or tw (PACE)");
  problem.treewidth = kind == "tw";
  problem.n = cursor.integer("number of vertices");
  problem.m = cursor.integer("number of edges");
  check_vertex_count(problem.line, problem.n, file_bytes);
  check_edge_count(problem.line, problem.m, problem.treewidth ? 4 : 8, file_bytes);
  cursor.end_line("problem line");
}

template <class Index>
struct Arcs {
  std::vector<Index> sources, targets;
  WeightColumn weights;
};

template <class Index>
void parse_arcs(Cursor& cursor, Problem& problem, Arcs<Index>& arcs, Ticker& ticker) {
  const auto m = static_cast<size_t>(problem.m);
  arcs.sources.reserve(m);
  arcs.targets.reserve(m);
  if (!problem.treewidth) arcs.weights.reserve(m);
  while (!cursor.done()) {
    ticker.at(cursor.position());
    if (cursor.at_line_end()) {
      cursor.next_line();
      continue;
    }
    const char letter = cursor.peek();
    const bool topology = problem.treewidth && letter >= '0' && letter <= '9';
    if (topology || letter == 'a') [[likely]] {
      if (arcs.sources.size() == m)
        cursor.fail("more edges than the " + std::to_string(m) + " of the problem line");
      if (!topology && cursor.field() != "a") cursor.fail("the letter a must stand alone");
      arcs.sources.push_back(static_cast<Index>(cursor.vertex("source", 1, problem.n)));
      arcs.targets.push_back(static_cast<Index>(cursor.vertex("target", 1, problem.n)));
      if (!topology) {
        const std::string_view token = cursor.field();
        if (token.empty()) cursor.fail("the line ends before the weight");
        if (const char* wrong = arcs.weights.add(token))
          cursor.fail("weight " + quoted(token) + " " + wrong);
      }
      cursor.end_line("edge");
      continue;
    }
    const std::string_view word = cursor.field();
    if (word == "c" || word == "t") {
      cursor.next_line();
    } else if (word == "n") {
      problem.sources.push_back(cursor.vertex("source vertex", 1, problem.n));
      cursor.next_line();
    } else if (word == "p") {
      parse_problem(cursor, problem, 0);
    } else if (!word.empty() && word[0] == 'c' && !problem.treewidth) {
      cursor.next_line();  // "c---": a comment without a blank, which is common
    } else {
      cursor.fail("the line starts with " + quoted(word) + ": expected c, p, n, t or a");
    }
  }
  if (arcs.sources.size() != m)
    throw FormatError(problem.line, "the problem line promises " + std::to_string(m) +
                                        " edges, but the file has " +
                                        std::to_string(arcs.sources.size()) +
                                        ": it may be cut short");
}

Fields parse_dimacs(const Bytes& data, Progress progress) {
  Cursor cursor(data);
  Ticker ticker(std::move(progress), cursor.position(), cursor.end());
  Problem problem;
  Arcs<int32_t> small;
  Arcs<int64_t> large;
  bool wide = false;
  {
    nb::gil_scoped_release release;
    while (problem.n < 0) {
      if (cursor.done()) cursor.fail("no problem line (`p sp vertices edges`) in the file");
      ticker.at(cursor.position());
      if (cursor.at_line_end()) {
        cursor.next_line();
        continue;
      }
      const std::string_view word = cursor.field();
      if (word == "p") {
        parse_problem(cursor, problem, data.size());
      } else if (word == "t") {
        cursor.skip_blanks();
        std::string_view rest = cursor.rest();
        while (!rest.empty() && is_blank(rest.back())) rest.remove_suffix(1);
        problem.title = std::string(rest);
        cursor.next_line();
      } else if (word[0] == 'c') {
        cursor.next_line();
      } else if (word == "a" || word == "n" || word == "v") {
        cursor.fail("a line " + quoted(word) + " comes before the problem line");
      } else {
        cursor.fail("the line starts with " + quoted(word) + ": expected c, t or p");
      }
    }
    wide = problem.n > std::numeric_limits<int32_t>::max();
    if (wide)
      parse_arcs(cursor, problem, large, ticker);
    else
      parse_arcs(cursor, problem, small, ticker);
    ticker.finish();
  }
  nb::dict out;
  out["n"] = problem.n;
  out["treewidth"] = problem.treewidth;
  out["title"] = nb::bytes(problem.title.data(), problem.title.size());
  out["sources_named"] = as_numpy(std::move(problem.sources));
  auto fill = [&](auto& arcs) {
    out["sources"] = as_numpy(std::move(arcs.sources));
    out["targets"] = as_numpy(std::move(arcs.targets));
    out["weights"] = problem.treewidth ? nb::none() : arcs.weights.take();
  };
  if (wide)
    fill(large);
  else
    fill(small);
  return out;
}

// Reads `v id x y` lines into an (n, 2) array, returned flat; every vertex must appear once.
Owned<double> parse_dimacs_coordinates(const Bytes& data, Progress progress) {
  Cursor cursor(data);
  Ticker ticker(std::move(progress), cursor.position(), cursor.end());
  std::vector<double> xy;
  {
    nb::gil_scoped_release release;
    int64_t n = -1, header = 0, seen = 0;
    std::vector<bool> given;
    while (!cursor.done()) {
      ticker.at(cursor.position());
      if (cursor.at_line_end()) {
        cursor.next_line();
        continue;
      }
      const std::string_view word = cursor.field();
      if (word == "v") {
        if (n < 0) cursor.fail("a line 'v' comes before the problem line");
        const auto at = static_cast<size_t>(cursor.vertex("vertex", 1, n));
        if (given[at]) cursor.fail("vertex " + std::to_string(at + 1) + " appears twice");
        given[at] = true;
        ++seen;
        for (size_t axis = 0; axis < 2; ++axis) {
          const std::string_view token = cursor.field();
          if (token.empty()) cursor.fail("the line ends before both coordinates");
          if (const char* wrong = parse_real(token, xy[2 * at + axis]))
            cursor.fail("coordinate " + quoted(token) + " " + wrong);
        }
        cursor.end_line("coordinates");
      } else if (word == "p") {
        if (n >= 0)
          cursor.fail("a second problem line; the first is line " + std::to_string(header));
        if (cursor.field() != "aux" || cursor.field() != "sp" || cursor.field() != "co")
          cursor.fail("the problem line of coordinates is `p aux sp co vertices`");
        header = cursor.line();
        n = cursor.integer("number of vertices");
        if (n < 0 || static_cast<uint64_t>(n) > (data.size() + 2) / 8)
          cursor.fail("the header promises " + std::to_string(n) +
                      " vertices, but the whole file has only " + std::to_string(data.size()) +
                      " bytes");
        xy.resize(static_cast<size_t>(2 * n));
        given.resize(static_cast<size_t>(n));
        cursor.end_line("problem line");
      } else if (word[0] == 'c') {
        cursor.next_line();
      } else {
        cursor.fail("the line starts with " + quoted(word) + ": expected c, p or v");
      }
    }
    if (n < 0) cursor.fail("no problem line (`p aux sp co vertices`) in the file");
    if (seen != n)
      throw FormatError(header, "the problem line promises " + std::to_string(n) +
                                    " vertices, but the file has " + std::to_string(seen));
    ticker.finish();
  }
  return as_numpy(std::move(xy));
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("parse_dimacs", &parse_dimacs, nb::arg("data"), nb::arg("progress") = nb::none());
  m.def("parse_dimacs_coordinates", &parse_dimacs_coordinates, nb::arg("data"),
        nb::arg("progress") = nb::none());
}

}  // namespace nearfar::text
