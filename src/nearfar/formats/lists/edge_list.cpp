// Edge lists: one edge per line, two endpoints and possibly a weight, separated by blanks, commas
// or semicolons.
//
// The first data line determines the layout: the separator, the number of fields, and whether
// endpoints are integers or names. Every later line must agree, so a damaged line is an error with
// its number, never a silently different graph. Names are numbered in order of appearance by a hash
// table of views into the buffer.
#include <algorithm>
#include <unordered_map>

#include "formats/text/text.hpp"

namespace nearfar::text {
namespace {

struct Layout {
  int64_t source = 0, target = 1;
  int64_t weight = -2;  // column; -1 none, -2 the third if there is one
  int names = -1;       // 1 endpoints are names, 0 integers, -1 decided by the first data line
  bool padded = false;  // whether integers may have leading zeros, which a number would lose
  int header = -1;      // 1 the first data line is a header, 0 not, -1 decided by its contents
  char separator = ' ';
  size_t fields = 0;
};

bool whole_number(std::string_view token) {
  int64_t value = 0;
  const char* last = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), last, value);
  return error != std::errc::invalid_argument && stop == last && !token.empty();
}

// Whether an integer has leading zeros: 007 and 7 are two names.
bool is_padded(const char* p, const char* last) {
  if (p != last && *p == '-') ++p;
  return last - p > 1 && *p == '0' && p[1] >= '0' && p[1] <= '9';
}

bool number(std::string_view token) {
  double value = 0;
  return whole_number(token) || parse_real(token, value) == nullptr;
}

// Splits a line into fields; they may be empty with a separator, but not with blanks.
class Splitter {
 public:
  Splitter(std::string_view line, char separator)
      : p_(line.data()), end_(p_ + line.size()), separator_(separator) {
    trim();
    more_ = p_ != end_;
  }
  bool more() const { return more_; }
  std::string_view next() {
    while (p_ != end_ && is_blank(*p_)) ++p_;
    const char* start = p_;
    if (separator_ == ' ') {
      while (p_ != end_ && !is_blank(*p_)) ++p_;
      const std::string_view found(start, size_t(p_ - start));
      while (p_ != end_ && is_blank(*p_)) ++p_;
      more_ = p_ != end_;
      return found;
    }
    while (p_ != end_ && *p_ != separator_) ++p_;
    const char* stop = p_;
    while (stop != start && is_blank(stop[-1])) --stop;
    more_ = p_ != end_;
    if (more_) ++p_;
    return {start, size_t(stop - start)};
  }

 private:
  void trim() {
    while (end_ != p_ && is_blank(end_[-1])) --end_;
  }
  const char* p_;
  const char* end_;
  char separator_;
  bool more_ = false;
};

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  Splitter splitter(line, separator);
  while (splitter.more()) fields.push_back(splitter.next());
  return fields;
}

class EdgeList {
 public:
  EdgeList(const Bytes& data, std::string comments, Layout layout, int64_t skip)
      : cursor_(data),
        begin_(cursor_.position()),
        comments_(std::move(comments)),
        layout_(layout),
        skip_(skip) {}

  void parse(Ticker& ticker) {
    for (int64_t i = 0; i < skip_ && !cursor_.done(); ++i) cursor_.next_line();
    if (!next_data_line()) return;
    settle_layout();
    const size_t guess = size_t(cursor_.end() - cursor_.position()) / (cursor_.rest().size() + 1);
    sources_.reserve(guess + guess / 8 + 1);
    targets_.reserve(guess + guess / 8 + 1);
    if (layout_.weight >= 0) weights_.reserve(guess + guess / 8 + 1);
    const bool plain = layout_.names != 1 && layout_.source == 0 && layout_.target == 1 &&
                       (layout_.weight == -1 || layout_.weight == 2) &&
                       layout_.fields == (layout_.weight == 2 ? 3 : 2);
    while (next_data_line()) {
      ticker.at(cursor_.position());
      if (plain && parse_plain_line()) continue;
      parse_line(cursor_.rest());
      cursor_.next_line();
    }
    ticker.finish();
  }

  Fields take() {
    nb::dict out;
    out["sources"] = as_numpy(std::move(sources_));
    out["targets"] = as_numpy(std::move(targets_));
    out["weights"] = layout_.weight >= 0 ? weights_.take() : nb::none();
    out["names"] = nb::none();
    if (layout_.names == 1) {
      nb::list names;
      for (const std::string_view name : names_) {
        PyObject* text = PyUnicode_DecodeUTF8(name.data(), Py_ssize_t(name.size()), "strict");
        if (text == nullptr) {
          PyErr_Clear();
          const int64_t line = 1 + std::count(begin_, name.data(), '\n');
          throw FormatError(
              line, "vertex name " + quoted(name) + " is not UTF-8 text: save the file as UTF-8");
        }
        names.append(nb::steal(text));
      }
      out["names"] = names;
    }
    nb::list notes;
    for (const std::string_view note : notes_) notes.append(nb::bytes(note.data(), note.size()));
    out["comments"] = notes;
    out["lines"] = cursor_.line() - 1;
    return out;
  }

 private:
  // Advances to the next line that is neither empty nor a comment.
  bool next_data_line() {
    while (!cursor_.done()) {
      if (!cursor_.at_line_end()) {
        if (comments_.find(cursor_.peek()) == std::string::npos) return true;
        if (notes_.size() < 64) notes_.push_back(cursor_.rest());
      }
      cursor_.next_line();
    }
    return false;
  }

  bool ends_are(bool (*kind)(std::string_view), const std::vector<std::string_view>& fields) const {
    return kind(fields[size_t(layout_.source)]) && kind(fields[size_t(layout_.target)]);
  }

  // Reads the first one or two data lines and determines the layout.
  void settle_layout() {
    const std::string_view first = cursor_.rest();
    for (char separator : {',', ';'})
      if (first.find(separator) != std::string_view::npos) {
        layout_.separator = separator;
        break;
      }
    const auto fields = split(first, layout_.separator);
    layout_.fields = fields.size();
    const int64_t needed = std::max({layout_.source, layout_.target, layout_.weight}) + 1;
    if (int64_t(fields.size()) < std::max<int64_t>(needed, 2))
      cursor_.fail("the line has " + count(fields.size()) + ", but an edge needs " +
                   std::to_string(std::max<int64_t>(needed, 2)));
    if (layout_.weight == -2) layout_.weight = fields.size() >= 3 ? 2 : -1;

    Cursor ahead = cursor_;
    cursor_.next_line();
    const bool has_second = next_data_line();
    const auto second =
        has_second ? split(cursor_.rest(), layout_.separator) : std::vector<std::string_view>();
    if (layout_.header < 0) {
      layout_.header = 0;
      if (has_second && second.size() == fields.size()) {
        // Endpoints such as 1.0 are not a header but an error, which reading the line reports.
        const bool ends_turn = layout_.names != 1 && ends_are(whole_number, second);
        const bool weight_turns = layout_.weight >= 0 && !number(fields[size_t(layout_.weight)]) &&
                                  number(second[size_t(layout_.weight)]);
        layout_.header = !ends_are(number, fields) && (ends_turn || weight_turns);
      }
    }
    const auto& data = layout_.header ? second : fields;
    if (layout_.names < 0)
      layout_.names = data.size() == layout_.fields && !data.empty() &&
                      !ends_are(whole_number, data) && !number(data[size_t(layout_.source)]) &&
                      !number(data[size_t(layout_.target)]);
    if (!layout_.header) cursor_ = ahead;
  }

  static std::string count(size_t fields) {
    return std::to_string(fields) + (fields == 1 ? " field" : " fields");
  }

  int64_t vertex(std::string_view token, const char* what) {
    if (token.empty()) cursor_.fail(std::string("the ") + what + " is empty");
    if (layout_.names == 1) {
      const auto [place, fresh] = index_.try_emplace(token, int64_t(names_.size()));
      if (fresh) names_.push_back(token);
      return place->second;
    }
    int64_t value = 0;
    const char* last = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), last, value);
    if (error == std::errc() && stop == last) [[likely]] {
      if (!layout_.padded && is_padded(token.data(), last))
        cursor_.fail(
            std::string(what) + " " + quoted(token) +
            " begins with zeros: names=True keeps them as text, names=False reads numbers");
      return value;
    }
    if (error == std::errc::result_out_of_range && stop == last)
      cursor_.fail(std::string(what) + " " + quoted(token) + " does not fit 64 bits");
    cursor_.fail(std::string(what) + " " + quoted(token) + " is not an integer");
  }

  bool try_vertex(Cursor& line, int64_t& value) const {
    line.skip_blanks();
    return (layout_.padded || !is_padded(line.position(), line.end())) &&
           line.try_integer(value, layout_.separator);
  }

  // Parses the common case in one pass over the bytes. Returns false and changes nothing if the
  // line is unusual or wrong; the general parser then reads it or reports the error.
  bool parse_plain_line() {
    Cursor line = cursor_;
    const char separator = layout_.separator;
    int64_t source = 0, target = 0;
    if (!try_vertex(line, source) || !line.try_separator(separator) || !try_vertex(line, target))
      return false;
    std::string_view weight;
    if (layout_.weight >= 0) {
      if (!line.try_separator(separator)) return false;
      weight = line.field();
      if (weight.empty() || weight.find(separator) != std::string_view::npos) return false;
    }
    if (!line.at_line_end()) return false;
    if (layout_.weight >= 0 && weights_.add(weight) != nullptr) return false;
    sources_.push_back(source);
    targets_.push_back(target);
    line.next_line();
    cursor_ = line;
    return true;
  }

  void parse_line(std::string_view line) {
    Splitter splitter(line, layout_.separator);
    int64_t column = 0, source = 0, target = 0;
    for (; splitter.more(); ++column) {
      const std::string_view token = splitter.next();
      if (column == layout_.source) {
        source = vertex(token, "source");
      } else if (column == layout_.target) {
        target = vertex(token, "target");
      } else if (column == layout_.weight) {
        if (const char* wrong = weights_.add(token))
          cursor_.fail("weight " + quoted(token) + " " + wrong);
      }
    }
    if (size_t(column) != layout_.fields)
      cursor_.fail("the line has " + count(size_t(column)) + ", but the first data line has " +
                   std::to_string(layout_.fields));
    sources_.push_back(source);
    targets_.push_back(target);
  }

  Cursor cursor_;
  const char* begin_;
  std::string comments_;
  Layout layout_;
  int64_t skip_;
  std::vector<std::string_view> notes_;
  std::vector<int64_t> sources_, targets_;
  WeightColumn weights_;
  std::unordered_map<std::string_view, int64_t> index_;
  std::vector<std::string_view> names_;
};

Fields parse_edge_list(const Bytes& data, const nb::bytes& comments, int64_t source, int64_t target,
                       int64_t weight, std::optional<bool> names, std::optional<bool> header,
                       int64_t skip, Progress progress) {
  Layout layout;
  layout.source = source;
  layout.target = target;
  layout.weight = weight;
  layout.names = names ? *names : -1;
  layout.padded = names.has_value();
  layout.header = header ? *header : -1;
  EdgeList list(data, std::string(comments.c_str(), comments.size()), layout, skip);
  const char* begin = reinterpret_cast<const char*>(data.data());
  Ticker ticker(std::move(progress), begin, begin + data.size());
  {
    nb::gil_scoped_release release;
    list.parse(ticker);
  }
  return list.take();
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("parse_edge_list", &parse_edge_list, nb::arg("data"), nb::arg("comments"),
        nb::arg("source"), nb::arg("target"), nb::arg("weight"), nb::arg("names"),
        nb::arg("header"), nb::arg("skip"), nb::arg("progress") = nb::none());
}

}  // namespace nearfar::text
