// Formats CSR rows as text for the writers of all text formats. Numbers use std::to_chars, so a
// float has the fewest digits that read back as the same value.
#include <nanobind/stl/string.h>

#include "formats/text/text.hpp"

namespace nearfar::text {
namespace {

// Which of the stored edges to write: all, or each undirected edge once.
enum class Keep { all = 0, upper = 1, lower = 2 };

class Sink {
 public:
  void reserve(size_t bytes) { text_.reserve(bytes); }
  void put(std::string_view piece) { text_.append(piece); }
  void put(char c) { text_.push_back(c); }
  template <class T>
  void number(T value) {
    char digits[32];
    const auto [stop, error] = std::to_chars(digits, digits + sizeof digits, value);
    (void)error;  // 32 characters are enough for any 64-bit number
    text_.append(digits, size_t(stop - digits));
  }
  nb::bytes take() const { return nb::bytes(text_.data(), text_.size()); }

 private:
  std::string text_;
};

struct Names {
  const int64_t* offsets = nullptr;  // null: write the index plus the base
  const char* bytes = nullptr;
};

struct Style {
  std::string prefix, separator;
  int64_t base = 0;
  Keep keep = Keep::all;
  bool weights = true;
  Names names;
};

template <class Index>
void put_vertex(Sink& sink, const Style& style, Index v) {
  if (style.names.offsets != nullptr) {
    const auto* at = style.names.offsets + v;
    sink.put({style.names.bytes + at[0], size_t(at[1] - at[0])});
  } else {
    sink.number(static_cast<int64_t>(v) + style.base);
  }
}

nb::bytes format_rows(const GraphView& view, int64_t first, int64_t last, const std::string& prefix,
                      const std::string& separator, int64_t base, int keep, bool weights,
                      const std::optional<Ids>& name_offsets,
                      const std::optional<Bytes>& name_bytes) {
  Style style;
  style.prefix = prefix;
  style.separator = separator;
  style.base = base;
  style.keep = static_cast<Keep>(keep);
  style.weights = weights;
  if (name_offsets && name_bytes)
    style.names = {name_offsets->data(), reinterpret_cast<const char*>(name_bytes->data())};
  Sink sink;
  {
    nb::gil_scoped_release release;
    view.visit([&](const auto& csr) {
      sink.reserve(size_t(csr.indptr[last] - csr.indptr[first]) * 24);
      for (auto u = first; u < last; ++u)
        for (auto e = csr.indptr[u]; e < csr.indptr[u + 1]; ++e) {
          const auto v = static_cast<int64_t>(csr.indices[e]);
          if (style.keep == Keep::upper && v < u) continue;
          if (style.keep == Keep::lower && v > u) continue;
          sink.put(style.prefix);
          put_vertex(sink, style, u);
          sink.put(style.separator);
          put_vertex(sink, style, v);
          if (style.weights) {
            sink.put(style.separator);
            sink.number(csr.weights[e]);
          }
          sink.put('\n');
        }
    });
  }
  return sink.take();
}

// METIS: one line per vertex, its 1-based neighbours, each followed by the weight of the edge.
nb::bytes format_adjacency(const GraphView& view, int64_t first, int64_t last, bool weights) {
  Sink sink;
  {
    nb::gil_scoped_release release;
    view.visit([&](const auto& csr) {
      sink.reserve(size_t(csr.indptr[last] - csr.indptr[first]) * 12);
      for (auto u = first; u < last; ++u) {
        for (auto e = csr.indptr[u]; e < csr.indptr[u + 1]; ++e) {
          if (e != csr.indptr[u]) sink.put(' ');
          sink.number(static_cast<int64_t>(csr.indices[e]) + 1);
          if (weights) {
            sink.put(' ');
            sink.number(csr.weights[e]);
          }
        }
        sink.put('\n');
      }
    });
  }
  return sink.take();
}

// `v id x y` lines.
nb::bytes format_coordinates(
    nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> xy, int64_t first,
    int64_t last) {
  Sink sink;
  for (int64_t v = first; v < last; ++v) {
    sink.put("v ");
    sink.number(v + 1);
    for (int axis = 0; axis < 2; ++axis) {
      sink.put(' ');
      const double value = xy(size_t(v), size_t(axis));
      if (value == static_cast<double>(static_cast<int64_t>(value)))
        sink.number(static_cast<int64_t>(value));  // 1e15 as digits, which other readers expect
      else
        sink.number(value);
    }
    sink.put('\n');
  }
  return sink.take();
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("format_rows", &format_rows, nb::arg("view"), nb::arg("first"), nb::arg("last"),
        nb::arg("prefix"), nb::arg("separator"), nb::arg("base"), nb::arg("keep"),
        nb::arg("weights"), nb::arg("name_offsets") = nb::none(),
        nb::arg("name_bytes") = nb::none());
  m.def("format_adjacency", &format_adjacency, nb::arg("view"), nb::arg("first"), nb::arg("last"),
        nb::arg("weights"));
  m.def("format_coordinates", &format_coordinates, nb::arg("xy"), nb::arg("first"),
        nb::arg("last"));
}

}  // namespace nearfar::text
