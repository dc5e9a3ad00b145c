// Shared by the text parsers: a cursor over a byte buffer, errors with a line number, progress, and
// columns that become NumPy arrays.
//
// A parser reads one contiguous buffer (a memory-mapped file or the output of a decompressor) line
// by line and field by field with std::from_chars; only numbers are copied. No count in a header is
// used for an allocation before it was compared with the size of the file. The GIL is released
// while parsing and taken every few megabytes to report progress and to handle Ctrl-C.
#pragma once

#include <nanobind/stl/optional.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/bindings/errors.hpp"
#include "formats/text/float_text.hpp"

namespace nearfar::text {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Progress = std::optional<nb::typed<nb::callable, void(int64_t, int64_t)>>;

// Quotes a part of the file for an error message: at most 40 characters, printable.
inline std::string quoted(std::string_view piece) {
  std::string shown = "'";
  for (char c : piece.substr(0, 40)) shown += (c >= 32 && c < 127) ? c : '?';
  return shown + (piece.size() > 40 ? "...'" : "'");
}

// Calls progress(done, total) in bytes and polls for Ctrl-C.
class Ticker {
 public:
  Ticker(Progress progress, const char* begin, const char* end)
      : progress_(std::move(progress)), begin_(begin), end_(end), next_(begin + kStep) {}

  void at(const char* position) {
    if (position >= next_) [[unlikely]]
      tick(position);
  }
  void finish() { report(end_); }

 private:
  static constexpr std::ptrdiff_t kStep = 4 << 20;

  void tick(const char* position) {
    next_ = position + kStep;
    report(position);
  }
  void report(const char* position) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (progress_)
      (*progress_)(static_cast<int64_t>(position - begin_), static_cast<int64_t>(end_ - begin_));
  }

  Progress progress_;
  const char* begin_;
  const char* end_;
  const char* next_;
};

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Iterates over lines and blank-separated fields.
class Cursor {
 public:
  explicit Cursor(const Bytes& data)
      : p_(reinterpret_cast<const char*>(data.data())), end_(p_ + data.size()) {}
  Cursor(const char* begin, const char* end, int64_t line) : p_(begin), end_(end), line_(line) {}

  const char* position() const { return p_; }
  const char* end() const { return end_; }
  int64_t line() const { return line_; }
  bool done() const { return p_ == end_; }

  void skip_blanks() {
    while (p_ != end_ && is_blank(*p_)) ++p_;
  }
  // Returns true at a newline or the end of the file, after blanks.
  bool at_line_end() {
    skip_blanks();
    return p_ == end_ || *p_ == '\n';
  }
  char peek() const { return p_ == end_ ? '\0' : *p_; }

  // Advances to the first byte of the next line.
  void next_line() {
    const void* newline = p_ == end_ ? nullptr : std::memchr(p_, '\n', size_t(end_ - p_));
    p_ = newline ? static_cast<const char*>(newline) + 1 : end_;
    ++line_;
  }
  // Returns the rest of this line without its newline; does not advance.
  std::string_view rest() const {
    const void* newline = p_ == end_ ? nullptr : std::memchr(p_, '\n', size_t(end_ - p_));
    const char* stop = newline ? static_cast<const char*>(newline) : end_;
    return {p_, size_t(stop - p_)};
  }
  // Returns the next field of this line; empty at its end.
  std::string_view field() {
    skip_blanks();
    const char* start = p_;
    while (p_ != end_ && *p_ != '\n' && !is_blank(*p_)) ++p_;
    return {start, size_t(p_ - start)};
  }

  [[noreturn]] void fail(const std::string& message) const { throw FormatError(line_, message); }

  // Checks that only blanks follow, and advances to the next line.
  void end_line(const char* what) {
    if (!at_line_end()) fail(std::string(what) + ": unexpected " + quoted(field()) + " at its end");
    if (p_ != end_) ++p_;
    ++line_;
  }

  int64_t integer(const char* what) {
    skip_blanks();
    int64_t value = 0;
    const char* start = p_ + (p_ + 1 < end_ && *p_ == '+' && p_[1] != '-');
    const auto [stop, error] = std::from_chars(start, end_, value);
    if (error != std::errc() || (stop != end_ && *stop != '\n' && !is_blank(*stop))) [[unlikely]]
      not_integer(what, error);
    p_ = stop;
    return value;
  }

  // Reads the next field as an integer; returns false if it is not one, at an unspecified position
  // in the line.
  bool try_integer(int64_t& value, char separator = ' ') {
    skip_blanks();
    const auto [stop, error] = std::from_chars(p_, end_, value);
    if (error != std::errc()) return false;
    p_ = stop;
    return stop == end_ || *stop == '\n' || is_blank(*stop) || *stop == separator;
  }
  // Skips a separator that is not a blank.
  bool try_separator(char separator) {
    if (separator == ' ') return true;
    skip_blanks();
    if (p_ == end_ || *p_ != separator) return false;
    ++p_;
    return true;
  }

  // Reads a vertex id from first to first + n - 1 and returns it 0-based.
  int64_t vertex(const char* what, int64_t first, int64_t n) {
    const int64_t id = integer(what);
    if (id < first || id - first >= n) [[unlikely]]
      fail(std::string(what) + " " + std::to_string(id) + " is outside " + std::to_string(first) +
           " to " + std::to_string(n - 1 + first));
    return id - first;
  }

 private:
  [[noreturn]] void not_integer(const char* what, std::errc error) {
    const std::string_view token = field();
    if (token.empty()) fail(std::string("the line ends before the ") + what);
    if (error == std::errc::result_out_of_range)
      fail(std::string(what) + " " + quoted(token) + " does not fit 64 bits");
    fail(std::string(what) + " " + quoted(token) + " is not an integer");
  }

  const char* p_;
  const char* end_;
  int64_t line_ = 1;
};

// Returns nullptr if the whole token is one finite number, else the error.
inline const char* parse_real(std::string_view token, double& value) {
  const char* first = token.data();
  const char* last = first + token.size();
  if (first != last && *first == '+') ++first;
  const auto [stop, error] = float_from_chars(first, last, value);
  if (error == std::errc::result_out_of_range) return "does not fit a 64-bit float";
  if (error != std::errc() || stop != last) return "is not a number";
  if (!(value - value == 0)) return "is not a finite number";
  return nullptr;
}

// Returns nullptr if the whole token is one 64-bit integer, else the error.
inline const char* parse_whole(std::string_view token, int64_t& value) {
  const char* first = token.data();
  const char* last = first + token.size();
  if (token.size() > 1 && *first == '+' && first[1] != '-') ++first;
  const auto [stop, error] = std::from_chars(first, last, value);
  if (stop != last || error == std::errc::invalid_argument) return "is not an integer";
  return error == std::errc() ? nullptr : "does not fit 64 bits";
}

// One weight per edge: 64-bit integers until the first token that is not an integer, 64-bit floats
// after.
class WeightColumn {
 public:
  void reserve(size_t size) { whole_.reserve(size); }
  size_t size() const { return real_ ? reals_.size() : whole_.size(); }

  // Returns nullptr or the error of the token.
  const char* add(std::string_view token) {
    if (!real_) {
      int64_t value = 0;
      const char* first = token.data();
      const char* last = first + token.size();
      if (token.size() > 1 && *first == '+' && first[1] != '-') ++first;
      const auto [stop, error] = std::from_chars(first, last, value);
      if (error == std::errc() && stop == last) [[likely]] {
        whole_.push_back(value);
        return nullptr;
      }
      if (error == std::errc::result_out_of_range && stop == last) return "does not fit 64 bits";
      double probe = 0;
      if (const char* wrong = parse_real(token, probe)) return wrong;
      reals_.reserve(whole_.capacity());
      reals_.assign(whole_.begin(), whole_.end());
      whole_ = {};
      real_ = true;
    }
    double value = 0;
    if (const char* wrong = parse_real(token, value)) return wrong;
    reals_.push_back(value);
    return nullptr;
  }

  // Returns int32 if every weight fits, else int64, or float64. Needs the GIL.
  nb::object take();

 private:
  bool real_ = false;
  std::vector<int64_t> whole_;
  std::vector<double> reals_;
};

template <class To, class From>
std::vector<To> narrowed(const std::vector<From>& values) {
  return std::vector<To>(values.begin(), values.end());
}

inline nb::object WeightColumn::take() {
  if (real_) return nb::cast(as_numpy(std::move(reals_)));
  bool small = true;
  for (int64_t w : whole_) small &= w == static_cast<int32_t>(w);
  return small ? nb::cast(as_numpy(narrowed<int32_t>(whole_)))
               : nb::cast(as_numpy(std::move(whole_)));
}

// Rejects a vertex count that is implausible for the file's size: more than 16 million vertices of
// which nearly all would be isolated mean a damaged header, and allocating for them may exhaust the
// machine's memory.
inline void check_vertex_count(int64_t line, int64_t n, size_t file_bytes) {
  if (n < 0) throw FormatError(line, "negative number of vertices");
  if (n > (int64_t(1) << 24) && static_cast<uint64_t>(n) / 64 > file_bytes)
    throw FormatError(line, "the header promises " + std::to_string(n) +
                                " vertices, but the whole file has only " +
                                std::to_string(file_bytes) + " bytes");
}

// Rejects an edge count that needs more bytes than the file has.
inline void check_edge_count(int64_t line, int64_t m, int64_t bytes_each, size_t file_bytes) {
  if (m < 0) throw FormatError(line, "negative number of edges");
  if (static_cast<uint64_t>(m) > (file_bytes + 2) / static_cast<uint64_t>(bytes_each))
    throw FormatError(line, "the header promises " + std::to_string(m) +
                                " edges, but the whole file has only " +
                                std::to_string(file_bytes) + " bytes");
}

}  // namespace nearfar::text
