// Windows: second copies of the rows of labels with many arcs, which walks read instead of the
// arcs.
//
// A walk spends its time on the separators above a pair: a few hundred labels on a country's roads,
// with dozens of arcs each, most of them to adjacent ancestors. A window of 64 bytes of slots takes
// one step without a branch per arc, however many arcs pruning has left, and a slot's depth takes
// two bits instead of four bytes per arc. Few labels have so many arcs: their rows are a tenth of
// all arcs.
#pragma once

#include <cstdint>
#include <new>
#include <variant>
#include <vector>

#include "prepared/cpu/walk.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {

// Allocator that aligns the vectors of windows to cache lines.
template <class T>
struct InLines {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  InLines() = default;
  template <class U>
  InLines(const InLines<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  friend bool operator==(const InLines&, const InLines&) { return true; }
};
template <class T>
using LineVector = std::vector<T, InLines<T>>;

template <class Value>
class OwnedWindows {
 public:
  OwnedWindows(const Arcs& arcs, const Upward<Value>& up) : words_(at(arcs.n) / 64 + 1), rows_(1) {
    for (int32_t v = 0; v < arcs.n; ++v) {
      Word& word = words_[at(v) / 64];
      if (v % 64 == 0) word.rows = static_cast<int32_t>(rows_.size()) - 1;
      const int64_t begin = up.first[v], end = up.first[v + 1];
      if (end - begin < kLeast || arcs.height > kHighest) continue;
      word.labels |= uint64_t{1} << (v % 64);
      for (int64_t j = begin; j < end; ++j) {
        const int32_t depth = up.head_depth[j];
        const auto window = static_cast<uint16_t>(depth / kSlots);
        if (j == begin || window != windows_.back().at) windows_.push_back({window, 0});
        windows_.back().slots |= static_cast<uint16_t>(1 << (depth % kSlots));
        weights_.push_back(up.weight[j]);
      }
      rows_.push_back(
          {static_cast<int32_t>(windows_.size()), static_cast<int32_t>(weights_.size())});
    }
    weights_.resize(weights_.size() + kSlots);
  }
  Windows<Value> view() const {
    return {words_.data(), rows_.data(), windows_.data(), weights_.data()};
  }

 private:
  using View = Windows<Value>;
  using Word = typename View::Word;
  static constexpr int kSlots = View::kSlots;
  static constexpr int kLeast = 8;               // least arcs of a row
  static constexpr int kHighest = kSlots << 16;  // greatest height whose depths fit `at`

  std::vector<Word> words_;
  std::vector<typename View::Row> rows_;
  std::vector<typename View::Window> windows_;
  std::vector<Value> weights_;
};

// The distances of one walk by depth, from both ends. Windows may reach beyond the last depth.
template <class Value>
class WalkSpace {
 public:
  explicit WalkSpace(int32_t height) : half_(at(height / 64 + 2) * 64), values_(2 * half_) {}
  Value* forward() { return values_.data(); }
  Value* backward() { return values_.data() + half_; }

 private:
  std::size_t half_;
  LineVector<Value> values_;
};

// A customized tree and the rows of its walks, for Python.
class Walks {
 public:
  explicit Walks(const MetricView& metric) : metric_(metric) {
    metric.visit([&](const auto& m) {
      using Value = typename std::decay_t<decltype(m)>::Value;
      nb::gil_scoped_release release;
      rows_ = Both<Value>{{m.arcs, m.up}, {m.arcs, m.down}};
    });
  }
  // Calls f(metric, rows).
  template <class F>
  void visit(F&& f) const {
    metric_.visit([&](const auto& m) {
      using Value = typename std::decay_t<decltype(m)>::Value;
      const auto& both = std::get<Both<Value>>(rows_);
      f(m, WalkRows<Value>{both.up.view(), both.down.view()});
    });
  }

 private:
  template <class Value>
  struct Both {
    OwnedWindows<Value> up, down;
  };
  const MetricView& metric_;  // Python keeps it alive
  std::variant<std::monostate, Both<uint32_t>, Both<uint64_t>, Both<int64_t>, Both<float>,
               Both<double>>
      rows_;
};

}  // namespace nearfar::prepared
