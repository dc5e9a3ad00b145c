// graph-tool's binary `.gt`: adjacency lists and property maps of variable length, so the file can
// only be read from front to back. Format: https://graph-tool.skewed.de/static/doc/gt_format.html.
#include "formats/text/text.hpp"

namespace nearfar::text {
namespace {

class Walker {
 public:
  explicit Walker(const Bytes& data) : p_(data.data()), begin_(p_), end_(p_ + data.size()) {}

  uint64_t number(size_t width) {
    need(width);
    uint64_t value = 0;
    std::memcpy(&value, p_, width);  // little-endian, like every supported machine
    p_ += width;
    return value;
  }
  void skip(uint64_t bytes) {
    need(bytes);
    p_ += bytes;
  }
  std::string_view text() {
    const uint64_t size = number(8);
    need(size);
    const std::string_view found(reinterpret_cast<const char*>(p_), size);
    p_ += size;
    return found;
  }
  uint64_t at() const { return uint64_t(p_ - begin_); }
  uint64_t left() const { return uint64_t(end_ - p_); }

 private:
  void need(uint64_t bytes) const {
    if (bytes > left())
      throw FormatError(0, "the file ends at byte " + std::to_string(at()) +
                               " inside a value: it is cut short or damaged");
  }
  const uint8_t* p_;
  const uint8_t* begin_;
  const uint8_t* end_;
};

constexpr size_t kWidths[] = {1, 2, 4, 8, 8, 16};  // bool, int16, int32, int64, double, long double

// Skips one value; strings (6), vectors of scalars (7 to 12) and of strings (13), objects (14).
void skip_value(Walker& walker, uint64_t type) {
  if (type < 6) {
    walker.skip(kWidths[type]);
  } else if (type == 6 || type == 14) {
    walker.text();
  } else {
    const uint64_t size = walker.number(8);
    if (size > walker.left())
      throw FormatError(
          0, "a vector at byte " + std::to_string(walker.at()) + " is longer than the file");
    if (type == 13)
      for (uint64_t i = 0; i < size; ++i) walker.text();
    else
      walker.skip(size * kWidths[type - 7]);
  }
}

Fields parse_graph_tool(const Bytes& data) {
  Walker walker(data);
  walker.skip(6);  // the magic, checked by the caller
  const uint64_t version = walker.number(1);
  if (version != 1)
    throw FormatError(0, "version " + std::to_string(version) + ": only 1 is known");
  if (walker.number(1) != 0) throw FormatError(0, "big-endian files are not supported");
  const std::string_view comment = walker.text();
  const bool directed = walker.number(1) != 0;
  const uint64_t n = walker.number(8);
  if (n > walker.left() / 8)
    throw FormatError(0,
                      "it promises " + std::to_string(n) + " vertices, but is too short for them");
  const size_t width = n <= 0xFF ? 1 : n <= 0xFFFF ? 2 : n <= 0xFFFFFFFFu ? 4 : 8;
  std::vector<int64_t> sources, targets;
  for (uint64_t u = 0; u < n; ++u) {
    const uint64_t degree = walker.number(8);
    if (degree > walker.left() / width)
      throw FormatError(0, "vertex " + std::to_string(u) + " promises " + std::to_string(degree) +
                               " neighbours, but the file is too short for them");
    for (uint64_t i = 0; i < degree; ++i) {
      const uint64_t v = walker.number(width);
      if (v >= n)
        throw FormatError(0, "neighbour " + std::to_string(v) + " of vertex " + std::to_string(u) +
                                 " is outside 0 to " + std::to_string(n - 1));
      sources.push_back(int64_t(u));
      targets.push_back(int64_t(v));
    }
  }
  nb::list maps;
  const uint64_t count = walker.number(8);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t key = walker.number(1);
    const std::string_view name = walker.text();
    const uint64_t type = walker.number(1);
    if (key > 2 || type > 14) throw FormatError(0, "a property map of unknown kind: it is damaged");
    const uint64_t first = walker.at();
    const uint64_t values = key == 0 ? 1 : key == 1 ? n : sources.size();
    for (uint64_t v = 0; v < values; ++v) skip_value(walker, type);
    maps.append(nb::make_tuple(key, nb::bytes(name.data(), name.size()), type, first, walker.at()));
  }
  if (walker.left() != 0)
    throw FormatError(0, std::to_string(walker.left()) + " bytes follow the last property map");
  nb::dict out;
  out["n"] = n;
  out["directed"] = directed;
  out["comment"] = nb::bytes(comment.data(), comment.size());
  out["sources"] = as_numpy(std::move(sources));
  out["targets"] = as_numpy(std::move(targets));
  out["maps"] = maps;
  return out;
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("parse_graph_tool", &parse_graph_tool, nb::arg("data"));
}

}  // namespace nearfar::text
