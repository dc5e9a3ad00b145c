// METIS `.graph`: a header, then one line per vertex with its 1-based neighbours, each followed by
// the weight of the edge when the header says so. The result is the CSR of the file.
//
// Format: METIS 5 manual, section 4.1.1. Sums of hashes tell whether both directions of every edge
// are present with the same weight: an edge read at its smaller end is added and at its larger end
// subtracted, and only a symmetric file gives zero (but for one chance in 2^64).
#include "formats/text/text.hpp"
#include "generators/hash.hpp"

namespace nearfar::text {
namespace {

uint64_t edge_hash(int64_t low, int64_t high, int64_t weight) {
  using generators::mix;
  return mix(uint64_t(low) * generators::golden ^
             mix(uint64_t(high) + 0xD1B54A32D192ED03u * mix(uint64_t(weight) + 1)));
}

struct Metis {
  int64_t n = 0, m = 0, line = 0, skipped = 0, loops = 0;
  bool edge_weights = false, symmetric = true;
  std::vector<int64_t> indptr;
  std::vector<int32_t> indices;
  WeightColumn weights;
};

void skip_comments(Cursor& cursor) {
  while (!cursor.done() && cursor.peek() == '%') cursor.next_line();
}

void parse_header(Cursor& cursor, Metis& graph, size_t bytes) {
  skip_comments(cursor);
  while (!cursor.done() && cursor.at_line_end()) {
    cursor.next_line();
    skip_comments(cursor);
  }
  if (cursor.done()) cursor.fail("no header line (`vertices edges [format]`) in the file");
  graph.line = cursor.line();
  graph.n = cursor.integer("number of vertices");
  graph.m = cursor.integer("number of edges");
  check_edge_count(graph.line, graph.m, 1, bytes);
  if (graph.n < 0 || static_cast<uint64_t>(graph.n) > bytes ||
      graph.n > std::numeric_limits<int32_t>::max() - 1)
    cursor.fail("the header promises " + std::to_string(graph.n) +
                " vertices, one per line, but the whole file has only " + std::to_string(bytes) +
                " bytes");
  int64_t format = 0, constraints = 1;
  const bool has_format = !cursor.at_line_end();
  if (has_format) format = cursor.integer("format");
  if (!cursor.at_line_end()) constraints = cursor.integer("number of vertex weights");
  const int64_t digits[3] = {format / 100, format / 10 % 10, format % 10};
  for (int64_t digit : digits)
    if (digit < 0 || digit > 1)
      cursor.fail("format " + std::to_string(format) + " is not three of 0 and 1");
  if (constraints < 0 || constraints > 1000) cursor.fail("number of vertex weights out of range");
  graph.skipped = digits[0] + (digits[1] ? constraints : 0);
  graph.edge_weights = digits[2] == 1;
  cursor.end_line("header");
}

void parse_rows(Cursor& cursor, Metis& graph, Ticker& ticker) {
  graph.indptr.reserve(size_t(graph.n) + 1);
  graph.indices.reserve(size_t(graph.m) * 2);
  if (graph.edge_weights) graph.weights.reserve(size_t(graph.m) * 2);
  graph.indptr.push_back(0);
  uint64_t balance = 0;
  for (int64_t u = 0; u < graph.n; ++u) {
    skip_comments(cursor);
    ticker.at(cursor.position());
    if (cursor.done())
      cursor.fail("the file ends after " + std::to_string(u) + " of " + std::to_string(graph.n) +
                  " vertex lines: it may be cut short");
    for (int64_t i = 0; i < graph.skipped; ++i) cursor.integer("vertex weight");
    while (!cursor.at_line_end()) {
      const int64_t v = cursor.vertex("neighbour", 1, graph.n);
      int64_t weight = 1;
      if (graph.edge_weights) {
        const std::string_view token = cursor.field();
        if (token.empty()) cursor.fail("the line ends before the weight of its last neighbour");
        if (const char* wrong = graph.weights.add(token))
          cursor.fail("weight " + quoted(token) + " " + wrong);
        double value = 0;
        if (parse_real(token, value) == nullptr) std::memcpy(&weight, &value, sizeof weight);
      }
      if (u < v) balance += edge_hash(u, v, weight);
      if (u > v) balance -= edge_hash(v, u, weight);
      graph.loops += u == v;
      graph.indices.push_back(int32_t(v));
    }
    graph.indptr.push_back(int64_t(graph.indices.size()));
    cursor.next_line();
  }
  while (!cursor.done()) {
    if (!cursor.at_line_end() && cursor.peek() != '%')
      cursor.fail("more vertex lines than the " + std::to_string(graph.n) + " of the header");
    cursor.next_line();
  }
  const auto entries = int64_t(graph.indices.size());
  if (entries != 2 * graph.m && entries + graph.loops != 2 * graph.m)
    throw FormatError(graph.line, "the header promises " + std::to_string(graph.m) +
                                      " edges, that is " + std::to_string(2 * graph.m) +
                                      " neighbours, but the lines have " + std::to_string(entries));
  graph.symmetric = balance == 0;
}

Fields parse_metis(const Bytes& data, Progress progress) {
  Cursor cursor(data);
  Ticker ticker(std::move(progress), cursor.position(), cursor.end());
  Metis graph;
  {
    nb::gil_scoped_release release;
    parse_header(cursor, graph, data.size());
    parse_rows(cursor, graph, ticker);
    ticker.finish();
  }
  nb::dict out;
  out["symmetric"] = graph.symmetric;
  out["header_line"] = graph.line;
  out["indptr"] = as_numpy(std::move(graph.indptr));
  out["indices"] = as_numpy(std::move(graph.indices));
  out["weights"] = graph.edge_weights ? graph.weights.take() : nb::none();
  return out;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("parse_metis", &parse_metis, nb::arg("data"), nb::arg("progress") = nb::none());
}

}  // namespace nearfar::text
