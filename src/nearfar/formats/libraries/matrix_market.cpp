// Matrix Market `.mtx`: a banner, comment lines, a line of sizes, then one entry per line -
// `row column value` with ids from 1 (coordinate) or values column by column (array).
//
// Format: https://math.nist.gov/MatrixMarket/formats.html. The sizes must be exact, so the entries
// are counted first: every block of lines then has its position in the result and its first line
// number, and blocks are parsed on all threads.
#include <mutex>
#include <thread>
#include <type_traits>

#include "cpu/threads/spread.hpp"
#include "formats/text/text.hpp"

namespace nearfar::text {
namespace {

struct Header {
  bool array = false, pattern = false, whole = false;
  bool symmetric = false, skew = false;
  int64_t n = 0, entries = 0, line = 0;
};

std::string lower(std::string_view word) {
  std::string small(word);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return small;
}

void parse_banner(Cursor& cursor, Header& header) {
  if (lower(cursor.field()) != "%%matrixmarket" || lower(cursor.field()) != "matrix")
    cursor.fail("the first line is not '%%MatrixMarket matrix ...'");
  const std::string_view layout = cursor.field(), field = cursor.field(), symmetry = cursor.field();
  header.array = lower(layout) == "array";
  if (!header.array && lower(layout) != "coordinate")
    cursor.fail("layout " + quoted(layout) + ": expected coordinate or array");
  const std::string kind = lower(field);
  if (kind == "complex") cursor.fail("complex entries cannot be weights");
  header.pattern = kind == "pattern";
  header.whole = kind == "integer" || kind == "unsigned-integer";
  if (!header.pattern && !header.whole && kind != "real" && kind != "double")
    cursor.fail("field " + quoted(field) + ": expected real, integer or pattern");
  const std::string mirror = lower(symmetry);
  if (mirror == "hermitian") cursor.fail("hermitian matrices are complex, which weights cannot be");
  header.symmetric = mirror == "symmetric";
  header.skew = mirror == "skew-symmetric";
  if (!header.symmetric && !header.skew && mirror != "general")
    cursor.fail("symmetry " + quoted(symmetry) + ": expected general, symmetric or skew-symmetric");
  if (header.pattern && (header.array || header.skew))
    cursor.fail("a pattern has no values: expected coordinate, general or symmetric");
  cursor.end_line("banner");
}

void parse_sizes(Cursor& cursor, Header& header, size_t bytes) {
  while (cursor.at_line_end() || cursor.peek() == '%') {
    if (cursor.done()) cursor.fail("there is no size line: the file is cut short");
    cursor.next_line();
  }
  header.line = cursor.line();
  const int64_t rows = cursor.integer("number of rows");
  const int64_t columns = cursor.integer("number of columns");
  if (rows != columns)
    cursor.fail("the matrix is " + std::to_string(rows) + " x " + std::to_string(columns) +
                ": an adjacency matrix is square");
  const int64_t n = header.n = rows;
  check_vertex_count(header.line, n, bytes);
  if (!header.array) {
    header.entries = cursor.integer("number of entries");
    check_edge_count(header.line, header.entries, header.pattern ? 4 : 6, bytes);
  } else {
    if (n > int64_t{1} << 31) cursor.fail("the array is too large");
    header.entries =
        !header.symmetric && !header.skew ? n * n : n * (header.skew ? n - 1 : n + 1) / 2;
    check_edge_count(header.line, header.entries, 2, bytes);
  }
  cursor.end_line("size line");
}

// A block of full lines of the file, with the number of entries and lines before it.
struct Block {
  const char* begin;
  const char* end;
  int64_t entry = 0, line = 0;
};

constexpr std::ptrdiff_t kBlock = 1 << 20;

std::vector<Block> blocks_of(const Cursor& cursor) {
  std::vector<Block> blocks;
  for (const char* begin = cursor.position(); begin != cursor.end();) {
    const char* end = cursor.end();
    if (end - begin > kBlock) {
      const void* newline = std::memchr(begin + kBlock, '\n', size_t(end - begin - kBlock));
      if (newline) end = static_cast<const char*>(newline) + 1;
    }
    blocks.push_back({begin, end});
    begin = end;
  }
  return blocks;
}

// Counts the lines of a block and those that are not blank.
void count_lines(Block& block) {
  Cursor cursor(block.begin, block.end, 0);
  for (; !cursor.done(); cursor.next_line()) block.entry += !cursor.at_line_end();
  block.line = cursor.line();
}

// Replaces the counts of every block by the counts before it.
int64_t add_up(std::vector<Block>& blocks, int64_t line) {
  int64_t entries = 0;
  for (Block& block : blocks) {
    std::swap(block.entry, entries);
    std::swap(block.line, line);
    entries += block.entry;
    line += block.line;
  }
  return entries;
}

[[noreturn]] void refuse_surplus(const std::vector<Block>& blocks, int64_t entries) {
  auto block = blocks.end();
  while (block[-1].entry > entries) --block;
  Cursor cursor(block[-1].begin, block[-1].end, block[-1].line);
  for (int64_t at = block[-1].entry;; cursor.next_line()) {
    if (cursor.at_line_end() || at++ < entries) continue;
    cursor.fail("more entries than the " + std::to_string(entries) + " of the size line");
  }
}

template <class Index, class Value>
struct Entries {
  std::vector<Index> rows, columns;  // empty for an array
  std::vector<Value> values;         // empty for a pattern
};

template <class Value>
Value value_of(const Cursor& cursor, std::string_view token) {
  Value value = 0;
  if (token.empty()) cursor.fail("the line ends before the value");
  const char* wrong = nullptr;
  if constexpr (std::is_integral_v<Value>)
    wrong = parse_whole(token, value);
  else
    wrong = parse_real(token, value);
  if (wrong) cursor.fail("value " + quoted(token) + " " + wrong);
  return value;
}

template <class Index, class Value>
void parse_block(const Block& block, const Header& header, Entries<Index, Value>& entries) {
  Cursor cursor(block.begin, block.end, block.line);
  for (auto at = size_t(block.entry); !cursor.done();) {
    if (cursor.at_line_end()) {
      cursor.next_line();
      continue;
    }
    if (!header.array) {
      const int64_t row = cursor.vertex("row", 1, header.n);
      const int64_t column = cursor.vertex("column", 1, header.n);
      if (header.skew && row == column)
        cursor.fail("a skew-symmetric matrix has no entries on its diagonal");
      entries.rows[at] = static_cast<Index>(row);
      entries.columns[at] = static_cast<Index>(column);
    }
    if (!header.pattern) entries.values[at] = value_of<Value>(cursor, cursor.field());
    cursor.end_line("entry");
    ++at;
  }
}

// Calls work(block) for every block; if several fail, the first error in the file is thrown.
template <class Work>
void for_each_block(std::vector<Block>& blocks, int threads, Work&& work) {
  std::optional<FormatError> first;
  std::mutex mutex;
  spread(int64_t(blocks.size()), threads, [&](BatchCounter& counter, Interrupt& interrupt) {
    for (int64_t at; (at = counter.take()) >= 0;) {
      try {
        work(blocks[size_t(at)]);
      } catch (const FormatError& error) {
        counter.stop();  // earlier blocks were taken before this one, and are finished
        const std::lock_guard lock(mutex);
        if (!first || error.line < first->line) first = error;
      }
      interrupt.poll(uint64_t(kBlock));
    }
  });
  if (first) throw *first;
}

// Keeps the nonzero values of an array as entries.
template <class Index, class Value>
void drop_zeros(const Header& header, Entries<Index, Value>& entries) {
  std::vector<Value> kept;
  size_t at = 0;
  for (int64_t column = 0; column < header.n; ++column)
    for (int64_t row = header.symmetric ? column
                       : header.skew    ? column + 1
                                        : 0;
         row < header.n; ++row) {
      const Value value = entries.values[at++];
      if (value == 0) continue;
      entries.rows.push_back(static_cast<Index>(row));
      entries.columns.push_back(static_cast<Index>(column));
      kept.push_back(value);
    }
  entries.values = std::move(kept);
}

template <class Index, class Value>
void parse_entries(Cursor& cursor, const Header& header, int threads, Ticker& ticker,
                   nb::dict& out) {
  Entries<Index, Value> entries;
  {
    nb::gil_scoped_release release;
    std::vector<Block> blocks = blocks_of(cursor);
    for_each_block(blocks, threads, count_lines);
    const int64_t found = add_up(blocks, cursor.line());
    if (found > header.entries) refuse_surplus(blocks, header.entries);
    if (found < header.entries)
      throw FormatError(header.line, "the size line promises " + std::to_string(header.entries) +
                                         " entries, but the file has " + std::to_string(found) +
                                         ": it may be cut short");
    if (!header.array) {
      entries.rows.resize(size_t(found));
      entries.columns.resize(size_t(found));
    }
    if (!header.pattern) entries.values.resize(size_t(found));
    const auto caller = std::this_thread::get_id();
    for_each_block(blocks, threads, [&](const Block& block) {
      if (std::this_thread::get_id() == caller) ticker.at(block.begin);
      parse_block(block, header, entries);
    });
    if (header.array) drop_zeros(header, entries);
    ticker.finish();
  }
  out["sources"] = as_numpy(std::move(entries.rows));
  out["targets"] = as_numpy(std::move(entries.columns));
  out["weights"] = header.pattern ? nb::none() : nb::cast(as_numpy(std::move(entries.values)));
}

Fields parse_matrix_market(const Bytes& data, int threads, Progress progress) {
  Cursor cursor(data);
  Ticker ticker(std::move(progress), cursor.position(), cursor.end());
  Header header;
  parse_banner(cursor, header);
  parse_sizes(cursor, header, data.size());
  nb::dict out;
  out["n"] = header.n;
  out["symmetric"] = header.symmetric;
  out["skew"] = header.skew;
  const bool wide = header.n > std::numeric_limits<int32_t>::max();
  if (wide && header.whole)
    parse_entries<int64_t, int64_t>(cursor, header, threads, ticker, out);
  else if (wide)
    parse_entries<int64_t, double>(cursor, header, threads, ticker, out);
  else if (header.whole)
    parse_entries<int32_t, int64_t>(cursor, header, threads, ticker, out);
  else
    parse_entries<int32_t, double>(cursor, header, threads, ticker, out);
  return out;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("parse_matrix_market", &parse_matrix_market, nb::arg("data"), nb::arg("threads"),
        nb::arg("progress") = nb::none());
}

}  // namespace nearfar::text
