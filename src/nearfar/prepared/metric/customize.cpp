// Customization on several workers, and the arrays that queries read.
#include "prepared/metric/customize.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/memory/aligned.hpp"
#include "cpu/threads/spread.hpp"
#include "prepared/metric/metric_view.hpp"
#include "prepared/metric/value.hpp"
#include "prepared/metric/with_value.hpp"
#include "prepared/order/structure.hpp"

namespace nearfar::prepared {
namespace {

template <class Value>
struct Scratch {
  Scratch(int threads, std::size_t size) : size_((size + 64) & ~std::size_t{31}) {
    values_.assign(at(threads) * size_, far<Value>());
  }
  Value* of(int worker) { return values_.data() + at(worker) * size_; }

 private:
  std::size_t size_;
  std::vector<Value> values_;
};

// Path rows of one worker, allocated when first needed.
template <class Value>
class WorkerRows {
 public:
  // Provides rows down to a depth, far() where there is no arc.
  PathRows<Value> of(const std::vector<int64_t>& start, int32_t depth) {
    const PathRows<Value> rows = any(start);
    if (depth >= ready_) {
      std::fill(rows.value + start[at(ready_)], rows.value + start[at(depth) + 1], far<Value>());
      ready_ = depth + 1;
    }
    return rows;
  }
  // Provides rows with arbitrary contents.
  PathRows<Value> any(const std::vector<int64_t>& start) {
    if (!block_) {
      block_ = std::make_unique_for_overwrite<int32_t[]>(start.size() + 1);
      value_.reset(static_cast<Value*>(aligned_block(at(start.back()) * sizeof(Value) + 64)));
    }
    return {value_.get(), start.data(), block_.get()};
  }

 private:
  std::unique_ptr<Value[], AlignedDelete<>> value_;
  std::unique_ptr<int32_t[]> block_;
  int32_t ready_ = 0;  // number of initialised rows
};

template <class Value>
std::vector<int64_t> row_starts(int32_t height, int sides) {
  std::vector<int64_t> start(at(height) + 1, 0);
  for (int32_t d = 0; d < height; ++d)
    start[at(d) + 1] = start[at(d)] + path_row_size<Value>(d, sides);
  return start;
}

// Work, about a value per arc and other arc of a label, between two checks for Ctrl-C.
constexpr int64_t kPiece = int64_t{1} << 24;

// Calls pass(first, last) for consecutive labels from `from` to `to`, which may be less, so that
// Ctrl-C is noticed where labels have very many arcs.
template <class Pass>
void in_pieces(const Arcs& arcs, int32_t from, int32_t to, Interrupt& interrupt, Pass&& pass) {
  const int32_t step = from <= to ? 1 : -1;
  int64_t work = 0;
  for (int32_t x = from, first = from;; x += step) {
    const int64_t count = arcs.first[x + 1] - arcs.first[x];
    work += count * count;
    if (x != to && work < kPiece) continue;
    pass(first, x);
    if (x == to) return;
    interrupt.poll(static_cast<uint64_t>(work));
    first = x + step;
    work = 0;
  }
}

// Basic customization. A part merges the results of the parts below it for arcs above them, and
// leaves its own to the part above.
template <class Value, class Weight, int kSides>
void lower(const ArcsView& view, const Weight* edge_weights, Value* weights, int threads) {
  const Arcs& arcs = view.arcs();
  const TreeParts& tree = view.parts(threads);
  const auto start = row_starts<Value>(arcs.height, kSides);
  std::vector<WorkerRows<Value>> rows(at(threads));
  std::vector<std::vector<Value>> left(tree.parts.size());
  const auto pass = NEARFAR_PICK_ISA(lower_pass<Value, Weight, kSides>);
  const auto take = NEARFAR_PICK_ISA(take_rows<Value, kSides>);
  const auto add = NEARFAR_PICK_ISA(add_rows<Value, kSides>);
  bottom_up(tree, threads, [&](int worker, int32_t number, Interrupt& interrupt) {
    const TreeParts::Part& part = tree.parts[at(number)];
    const PathRows<Value> mine = rows[at(worker)].of(start, part.deepest);
    for (int32_t c = part.first_below; c >= 0; c = tree.parts[at(c)].next_beside) {
      add(arcs, tree.parts[at(c)].to, mine, left[at(c)].data());
      std::vector<Value>().swap(left[at(c)]);
    }
    in_pieces(arcs, part.from, part.to, interrupt, [&](int32_t first, int32_t last) {
      pass(arcs, edge_weights, weights, first, last, mine);
    });
    auto& out = left[at(number)];
    out.resize(at(take(arcs, part.to, mine, nullptr)));
    take(arcs, part.to, mine, out.data());
  });
}

// Perfect customization, from the roots down.
template <class Value, int kSides>
void upper(const ArcsView& view, const Value* weights, Value* distances, uint8_t* flags,
           int64_t* first, bool ties, int threads) {
  const Arcs& arcs = view.arcs();
  const TreeParts& tree = view.parts(threads);
  const auto start = row_starts<Value>(arcs.height, kSides);
  std::vector<WorkerRows<Value>> rows(at(threads));
  Scratch<Value> scratch(threads, at(3 * (kSides * arcs.height + 64)));
  const auto pass = NEARFAR_PICK_ISA(upper_pass<Value, kSides>);
  top_down(tree, threads, [&](int worker, int32_t number, Interrupt& interrupt) {
    const TreeParts::Part& part = tree.parts[at(number)];
    in_pieces(arcs, part.to, part.from, interrupt, [&](int32_t highest, int32_t lowest) {
      pass(arcs, weights, distances, flags, first, lowest, highest, ties,
           rows[at(worker)].any(start), scratch.of(worker));
    });
  });
}

int sides_of(const Arcs& arcs, std::size_t size) {
  const auto all = at(arcs.n_arcs);
  if (size != all && size != 2 * all) throw nb::type_error("weights: wrong size");
  return size == all ? 1 : 2;  // no arcs: either
}

template <class F>
void with_sides(int sides, F&& f) {
  if (sides == 1)
    f(std::integral_constant<int, 1>{});
  else
    f(std::integral_constant<int, 2>{});
}

// Calls a function with a typed pointer to the weights of edges and a value of the arcs' type.
template <class F>
void with_weights(const ConstArray& edge_weights, const nb::dlpack::dtype& type, F&& f) {
  with_value(type, [&](auto value) {
    with_edge_weights<decltype(value)>(edge_weights.dtype(), [&](auto weight) {
      f(static_cast<const decltype(weight)*>(edge_weights.data()), value);
    });
  });
}

void customize(const ArcsView& view, const ConstArray& edge_weights, const Array& weights,
               int sides, int threads) {
  const Arcs& arcs = view.arcs();
  with_weights(edge_weights, weights.dtype(), [&](const auto* from, auto value) {
    using Value = decltype(value);
    using Weight = std::remove_cvref_t<decltype(*from)>;
    Value* to = checked<Value>(weights, at(sides * arcs.n_arcs), "weights");
    nb::gil_scoped_release release;
    with_sides(sides, [&](auto count) { lower<Value, Weight, count>(view, from, to, threads); });
  });
}

// Whether every edge has a reverse edge of the same weight, so that one value per arc suffices.
// Among parallel edges the lightest counts. Checks all edges, or those that weigh the arcs of
// `labels`.
bool symmetric(const ArcsView& view, const ConstArray& edge_weights,
               const std::optional<Ints>& labels, int threads) {
  const Arcs& arcs = view.arcs();
  std::atomic<bool> same{true};
  with_weight_type(edge_weights.dtype(), [&](auto weight) {
    using Weight = decltype(weight);
    const auto* from = static_cast<const Weight*>(edge_weights.data());
    const auto count = labels ? static_cast<int64_t>(labels->size()) : int64_t{arcs.n};
    nb::gil_scoped_release release;
    constexpr int64_t block = 8192;
    spread_blocks(count, block, threads, [&](const auto& each_block, Interrupt& interrupt) {
      std::vector<Weight> least(at(2 * arcs.height), unreached<Weight>());
      each_block([&](int64_t from_label, int64_t to_label) {
        interrupt.poll(block);
        for (int64_t k = from_label; same && k < to_label; ++k) {
          const int64_t x = labels ? int64_t{labels->data()[k]} : k;
          const int64_t first = arcs.edge_first[x], last = arcs.edge_first[x + 1];
          for (int64_t i = first; i < last; ++i) {
            Weight& slot = least[at(arcs.edge_place[i])];
            slot = std::min(slot, from[arcs.edge[i]]);
          }
          for (int64_t i = first; i < last; ++i)
            if (least[at(arcs.edge_place[i])] != least[at(arcs.edge_place[i] ^ 1)]) same = false;
          for (int64_t i = first; i < last; ++i)
            least[at(arcs.edge_place[i])] = unreached<Weight>();
        }
      });
    });
  });
  return same;
}

// Divides arcs into blocks for several workers.
template <class Work>
void arc_blocks(std::size_t n_arcs, int threads, Work&& work) {
  spread_blocks(static_cast<int64_t>(n_arcs), 1 << 15, threads,
                [&](const auto& each_block, Interrupt&) { each_block(work); });
}

// Copies the weights; if `out` has twice as many values, each is written for both directions.
void copied(const ConstArray& weights, const Array& out, int threads) {
  const std::size_t count = weights.size();
  if (out.size() != count && out.size() != 2 * count) throw nb::type_error("out: wrong size");
  with_value(weights.dtype(), [&](auto value) {
    using Value = decltype(value);
    const auto* from = static_cast<const Value*>(weights.data());
    Value* to = checked<Value>(out, out.size(), "out");
    nb::gil_scoped_release release;
    arc_blocks(count, threads, [&](int64_t begin, int64_t end) {
      if (out.size() == count)
        std::copy(from + begin, from + end, to + begin);
      else
        for (int64_t j = begin; j < end; ++j) to[2 * j] = to[2 * j + 1] = from[j];
    });
  });
}

// Separates the values of the two directions.
void apart(const ConstArray& weights, const Array& up, const Array& down, int threads) {
  const std::size_t count = weights.size() / 2;
  with_value(weights.dtype(), [&](auto value) {
    using Value = decltype(value);
    const auto* from = static_cast<const Value*>(weights.data());
    Value* to_up = checked<Value>(up, count, "up");
    Value* to_down = checked<Value>(down, count, "down");
    nb::gil_scoped_release release;
    arc_blocks(count, threads, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) to_up[j] = from[2 * j], to_down[j] = from[2 * j + 1];
    });
  });
}

// Recomputes the arcs of `labels` and of every label that their change can reach, lowest first. A
// label whose arcs do not change stops the propagation. Returns the number of recomputed labels.
int64_t update(const ArcsView& view, const ConstArray& edge_weights, const Array& weights,
               const Ints& labels, int threads) {
  const Arcs& arcs = view.arcs();
  const int sides = sides_of(arcs, weights.size());
  std::atomic<int64_t> count{0};
  with_weights(edge_weights, weights.dtype(), [&](const auto* from, auto value) {
    using Value = decltype(value);
    using Weight = std::remove_cvref_t<decltype(*from)>;
    auto* to = static_cast<Value*>(weights.data());
    nb::gil_scoped_release release;
    std::vector<unsigned char> waits(at(arcs.n), 0);
    for (std::size_t i = 0; i < labels.size(); ++i) waits[at(labels.data()[i])] = 1;
    // Several workers may mark a label at once; it is read after they have all finished.
    auto mark = [&](int32_t x) { __atomic_store_n(&waits[at(x)], 1, __ATOMIC_RELAXED); };
    with_sides(sides, [&](auto kSides) {
      const TreeParts& tree = view.parts(threads);
      Scratch<Value> scratch(threads, at(kSides * arcs.height));
      const auto step = NEARFAR_PICK_ISA(lower_triangles<Value, Weight, kSides>);
      bottom_up(tree, threads, [&](int worker, int32_t number, Interrupt&) {
        const TreeParts::Part& part = tree.parts[at(number)];
        const unsigned char* const end = waits.data() + part.to + 1;
        int64_t mine = 0;
        for (const unsigned char* next = waits.data() + part.from;; ++next, ++mine) {
          next = static_cast<const unsigned char*>(std::memchr(next, 1, at(end - next)));
          if (next == nullptr) break;
          const auto x = static_cast<int32_t>(next - waits.data());
          if (!step(arcs, from, to, x, scratch.of(worker))) continue;
          // The third sides of its arcs' triangles start at their upper ends.
          int64_t j = arcs.first[x + 1];
          for (int32_t a = arcs.parent[x]; j > arcs.first[x]; a = arcs.parent[a])
            if (arcs.depth[a] == arcs.head_depth[j - 1]) mark(a), --j;
        }
        count += mine;
      });
    });
  });
  return count;
}

// Computes the distances between the ends of the arcs, flags per arc (see customize.hpp), and where
// the arcs that queries need begin for each label: a row of `first` per side.
void perfect(const ArcsView& view, const ConstArray& weights, const Array& distances,
             const Array& flags, const Array& first, bool ties, int threads) {
  const Arcs& arcs = view.arcs();
  const int sides = sides_of(arcs, weights.size());
  auto* known = checked<uint8_t>(flags, at(arcs.n_arcs), "flags");
  auto* starts = checked<int64_t>(first, at(sides) * (at(arcs.n) + 1), "first");
  with_value(weights.dtype(), [&](auto value) {
    using Value = decltype(value);
    const auto* from = static_cast<const Value*>(weights.data());
    Value* to = checked<Value>(distances, weights.size(), "distances");
    nb::gil_scoped_release release;
    with_sides(sides, [&](auto count) {
      upper<Value, count>(view, from, to, known, starts, ties, threads);
    });
    for (int s = 0; s < sides; ++s) {
      int64_t* row = starts + at(s) * (at(arcs.n) + 1);
      row[0] = 0;
      for (int32_t x = 0; x < arcs.n; ++x) row[x + 1] += row[x];
    }
  });
}

// Copies the arcs that queries need in one direction; `first` is the result of perfect().
void needed(const ArcsView& view, const ConstArray& weights, const ConstArray& flags, int side,
            const Longs& first, const Array& depths, const Array& values, int threads) {
  const Arcs& arcs = view.arcs();
  const int sides = sides_of(arcs, weights.size());
  const auto* known = static_cast<const uint8_t*>(flags.data());
  if (flags.size() != at(arcs.n_arcs)) throw nb::type_error("flags: wrong size");
  if (first.size() != at(arcs.n) + 1) throw nb::type_error("first: wrong size");
  const int64_t* starts = first.data();
  with_value(weights.dtype(), [&](auto value) {
    using Value = decltype(value);
    const auto* from = static_cast<const Value*>(weights.data());
    auto* to_depth = checked<int32_t>(depths, at(starts[arcs.n]), "depths");
    Value* to_value = checked<Value>(values, at(starts[arcs.n]), "values");
    nb::gil_scoped_release release;
    constexpr int64_t block = 4096;
    spread_blocks(arcs.n, block, threads, [&](const auto& each_block, Interrupt& interrupt) {
      each_block([&](int64_t first_label, int64_t last_label) {
        interrupt.poll(block * 4);
        const int64_t end = starts[last_label];
        int64_t place = starts[first_label];
        // Written unconditionally and overwritten if not needed: a branch would be mispredicted.
        for (int64_t j = arcs.first[first_label]; place < end; ++j) {
          to_depth[place] = arcs.head_depth[j];
          to_value[place] = from[sides * j + side];
          place += (known[j] & kNeeded << side) != 0;
        }
      });
    });
  });
}

}  // namespace
}  // namespace nearfar::prepared

namespace nearfar {
NEARFAR_BIND(m) {
  using nb::arg;
  m.def("prepared_customize", &prepared::customize, arg("arcs"), arg("edge_weights"),
        arg("weights"), arg("sides"), arg("threads"));
  m.def("prepared_symmetric", &prepared::symmetric, arg("arcs"), arg("edge_weights"),
        arg("labels").none(), arg("threads"));
  m.def("prepared_copied", &prepared::copied, arg("weights"), arg("out"), arg("threads"));
  m.def("prepared_apart", &prepared::apart, arg("weights"), arg("up"), arg("down"), arg("threads"));
  m.def("prepared_update", &prepared::update, arg("arcs"), arg("edge_weights"), arg("weights"),
        arg("labels"), arg("threads"));
  m.def("prepared_perfect", &prepared::perfect, arg("arcs"), arg("weights"), arg("distances"),
        arg("flags"), arg("first"), arg("ties"), arg("threads"));
  m.def("prepared_needed", &prepared::needed, arg("arcs"), arg("weights"), arg("flags"),
        arg("side"), arg("first"), arg("depths"), arg("values"), arg("threads"));
}
}  // namespace nearfar
