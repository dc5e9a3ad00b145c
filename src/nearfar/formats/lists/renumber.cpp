// Renumbers sparse vertex ids: ids of any range become 0 to n - 1 in order of appearance.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "formats/text/text.hpp"

namespace nearfar::text {
namespace {

// Returns the distinct values of one or two columns of ids, in order of appearance, and replaces
// the columns by positions in them. Open addressing with Fibonacci hashing: one pass, no sorting.
class Renumber {
 public:
  explicit Renumber(size_t expected) {
    size_t size = 64;
    while (size < 2 * expected) size *= 2;
    resize(size);
  }
  int64_t operator()(int64_t id) {
    if (2 * ids.size() >= slots_.size()) resize(2 * slots_.size());
    size_t at = place(id);
    while (slots_[at] >= 0 && ids[size_t(slots_[at])] != id) at = (at + 1) & mask_;
    if (slots_[at] < 0) {
      slots_[at] = int64_t(ids.size());
      ids.push_back(id);
    }
    return slots_[at];
  }
  std::vector<int64_t> ids;

 private:
  size_t place(int64_t id) const { return (uint64_t(id) * 0x9E3779B97F4A7C15u) >> shift_; }
  void resize(size_t size) {
    mask_ = size - 1;
    shift_ = 64 - std::countr_zero(size);
    slots_.assign(size, -1);
    for (size_t i = 0; i < ids.size(); ++i) {
      size_t at = place(ids[i]);
      while (slots_[at] >= 0) at = (at + 1) & mask_;
      slots_[at] = int64_t(i);
    }
  }
  std::vector<int64_t> slots_;
  size_t mask_ = 0;
  int shift_ = 0;
};

using Column = Owned<int64_t>;

std::tuple<Column, Column, Column> renumber(const Ids& sources, const Ids& targets) {
  std::vector<int64_t> s(sources.size()), t(targets.size()), ids;
  {
    nb::gil_scoped_release release;
    Renumber table(std::min<size_t>(s.size(), size_t(1) << 22));
    // The ends of an edge are processed together, so numbers follow the order of appearance in the
    // file.
    for (size_t i = 0; i < s.size(); ++i) {
      s[i] = table(sources.data()[i]);
      if (i < t.size()) t[i] = table(targets.data()[i]);
    }
    ids = std::move(table.ids);
  }
  return {as_numpy(std::move(s)), as_numpy(std::move(t)), as_numpy(std::move(ids))};
}

}  // namespace

NEARFAR_BIND(m) {
  m.def("renumber", &renumber, nb::arg("sources"), nb::arg("targets"));
}

}  // namespace nearfar::text
