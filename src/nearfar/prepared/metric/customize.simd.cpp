// Customization: weights of the arcs, triangle by triangle.
//
// Lower triangles (basic customization): eliminating v joins its upper neighbours x and y, so the
// arc x - y weighs at most the path through v. Labels are a postorder: in ascending order they are
// a traversal of the tree in which everything that v can change is on the path from v to the root.
// The values of that path's arcs are in rows indexed by depth, one per label, so the third side of
// a triangle needs no search, and the arcs of v are added to a row one register at a time, skipping
// registers without an arc of v. When the traversal reaches a label, its row is finished. A worker
// that has finished its part of the tree passes the rows above it to the worker of the next part.
//
// Upper triangles (perfect customization): from the roots down, the distance between the ends of x
// - y is the least of its weight and of the paths x - z - y through another ancestor, where z - y
// already has its distance. The rows of the path hold those distances. An arc whose weight exceeds
// its distance is on no shortest path that queries look for. Nor is one whose weight equals a
// detour, if no edge weighs 0: of all shortest paths between two vertices, the one through the
// highest vertices uses none of them.
//
// Dibbelt, Strasser and Wagner 2016, "Customizable contraction hierarchies", sections 6 and 7. The
// rows by depth and the rule for ties are new.
#include "prepared/metric/customize.hpp"

#include "prepared/metric/loops.hpp"
#include "prepared/order/arcs.hpp"

namespace nearfar::prepared::NEARFAR_ISA {

template <class Value, class Weight, int kSides>
bool lower_triangles(const Arcs& arcs, const Weight* edge_weights, Value* weights, int32_t x,
                     Value* scratch) {
  using L = Lanes<Value>;
  const int64_t begin = arcs.first[x], end = arcs.first[x + 1];
  if (begin == end) return false;
  const int32_t* depths = arcs.head_depth;
  for (int64_t j = begin; j < end; ++j)
    for (int s = 0; s < kSides; ++s) scratch[kSides * depths[j] + s] = far<Value>();
  for (int64_t i = arcs.edge_first[x]; i < arcs.edge_first[x + 1]; ++i) {
    Value& slot = scratch[kSides == 2 ? arcs.edge_place[i] : arcs.edge_place[i] >> 1];
    slot = lesser(slot, static_cast<Value>(edge_weights[arcs.edge[i]]));
  }
  for (int64_t q = arcs.lower_first[x]; q < arcs.lower_first[x + 1]; ++q) {
    const int64_t from = arcs.first[arcs.lower_tail[q]], k = arcs.lower_arc[q];
    // x - v - y: down to v, then up from it; y - v - x in the opposite direction.
    Value other[kSides];
    for (int s = 0; s < kSides; ++s) other[s] = weights[kSides * k + (kSides - 1 - s)];
    const typename L::Vector wide = L::template spread<kSides>(other);
    const Value* of_v = weights + kSides * from;
    for_arcs<Value, kSides>(
        depths + from, k - from,
        [&](int64_t j, int32_t slot) {
          Value* to = scratch + kSides * slot;
          L::store(to, lesser<typename L::Vector>(L::load(to), L::load(of_v + kSides * j) + wide));
        },
        [&](int64_t j, int32_t slot) {
          for (int s = 0; s < kSides; ++s) {
            Value& to = scratch[kSides * slot + s];
            to = lesser<Value>(to, of_v[kSides * j + s] + other[s]);
          }
        });
  }
  bool changed = false;
  for (int64_t j = begin; j < end; ++j)
    for (int s = 0; s < kSides; ++s) {
      const Value now = scratch[kSides * depths[j] + s];
      changed |= weights[kSides * j + s] != now;
      weights[kSides * j + s] = now;
    }
  return changed;
}

namespace {

// Labels with at most this many arcs process their triangles one by one.
constexpr int64_t kFew = 12;

// Lists the registers of a path row that contain arcs with these depths, in ascending order.
template <class Value, int kSides>
NEARFAR_INLINE int blocks_of(const int32_t* depths, int64_t count, int32_t* block) {
  constexpr int kBlock = Lanes<Value>::kCount / kSides;
  int found = 0;
  int32_t last = -1;
  for (int64_t j = 0; j < count; ++j) {
    const int32_t b = depths[j] / kBlock;
    block[found] = b;
    found += b != last;
    last = b;
  }
  return found;
}

}  // namespace

template <class Value, class Weight, int kSides>
void lower_pass(const Arcs& arcs, const Weight* edge_weights, Value* weights, int32_t from,
                int32_t to, const PathRows<Value>& rows) {
  using L = Lanes<Value>;
  using Vector = typename L::Vector;
  constexpr int kBlock = L::kCount / kSides;
  const Vector nothing = Vector{} + far<Value>();
  for (int32_t x = from; x <= to; ++x) {
    const int64_t begin = arcs.first[x], count = arcs.first[x + 1] - begin;
    const int32_t* depths = arcs.head_depth + begin;
    Value* mine = weights + kSides * begin;
    Value* row = rows.value + rows.start[arcs.depth[x]];
    for (int64_t i = arcs.edge_first[x]; i < arcs.edge_first[x + 1]; ++i) {
      Value& slot = row[kSides == 2 ? arcs.edge_place[i] : arcs.edge_place[i] >> 1];
      slot = lesser(slot, static_cast<Value>(edge_weights[arcs.edge[i]]));
    }
    for (int64_t j = 0; j < count; ++j)
      for (int s = 0; s < kSides; ++s) mine[kSides * j + s] = row[kSides * depths[j] + s];
    if (count <= kFew) {
      for (int64_t j = 0; j < count; ++j)
        for (int s = 0; s < kSides; ++s) row[kSides * depths[j] + s] = far<Value>();
      for (int64_t i = count - 1; i > 0; --i) {
        Value* above = rows.value + rows.start[depths[i]];
        for (int64_t j = 0; j < i; ++j)
          for (int s = 0; s < kSides; ++s) {
            Value& slot = above[kSides * depths[j] + s];
            slot = lesser<Value>(slot, mine[kSides * j + s] + mine[kSides * i + (kSides - 1 - s)]);
          }
      }
      continue;
    }
    const int blocks = blocks_of<Value, kSides>(depths, count, rows.block);
    for (int64_t i = count - 1; i > 0; --i) {
      Value other[kSides];
      for (int s = 0; s < kSides; ++s) other[s] = mine[kSides * i + (kSides - 1 - s)];
      const Vector wide = L::template spread<kSides>(other);
      Value* above = rows.value + rows.start[depths[i]];
      for (int b = 0; b < blocks && rows.block[b] * kBlock < depths[i]; ++b) {
        Value* to_block = above + rows.block[b] * L::kCount;
        const Vector way = L::load(row + rows.block[b] * L::kCount) + wide;
        L::store(to_block, lesser<Vector>(L::load(to_block), way));
      }
    }
    for (int b = 0; b < blocks; ++b) L::store(row + rows.block[b] * L::kCount, nothing);
  }
}

namespace {

// Calls f(register of a path row) where two ancestors are joined to which x has arcs.
template <class Value, int kSides, class F>
NEARFAR_INLINE void for_rows_above(const Arcs& arcs, int32_t x, const PathRows<Value>& rows,
                                   F&& f) {
  constexpr int kBlock = Lanes<Value>::kCount / kSides;
  const int64_t begin = arcs.first[x], count = arcs.first[x + 1] - begin;
  const int32_t* depths = arcs.head_depth + begin;
  const int blocks = blocks_of<Value, kSides>(depths, count, rows.block);
  for (int64_t i = 1; i < count; ++i)
    for (int b = 0; b < blocks && rows.block[b] * kBlock < depths[i]; ++b)
      f(rows.value + rows.start[depths[i]] + rows.block[b] * Lanes<Value>::kCount);
}

}  // namespace

template <class Value, int kSides>
int64_t take_rows(const Arcs& arcs, int32_t x, const PathRows<Value>& rows, Value* out) {
  using L = Lanes<Value>;
  const typename L::Vector nothing = typename L::Vector{} + far<Value>();
  int64_t count = 0;
  for_rows_above<Value, kSides>(arcs, x, rows, [&](Value* from) {
    if (out != nullptr) {
      L::store(out + count, L::load(from));
      L::store(from, nothing);
    }
    count += L::kCount;
  });
  return count;
}

template <class Value, int kSides>
void add_rows(const Arcs& arcs, int32_t x, const PathRows<Value>& rows, const Value* in) {
  using L = Lanes<Value>;
  for_rows_above<Value, kSides>(arcs, x, rows, [&](Value* to) {
    L::store(to, lesser<typename L::Vector>(L::load(to), L::load(in)));
    in += L::kCount;
  });
}

template <class Value, int kSides>
void upper_pass(const Arcs& arcs, const Value* weights, Value* distances, uint8_t* flags,
                int64_t* first, int32_t from, int32_t to, bool ties, const PathRows<Value>& rows,
                Value* scratch) {
  using L = Lanes<Value>;
  using Vector = typename L::Vector;
  constexpr int kBlock = L::kCount / kSides;
  const Vector nothing = Vector{} + far<Value>();
  auto fill = [&](int32_t x) {
    const int64_t begin = arcs.first[x], count = arcs.first[x + 1] - begin;
    const int32_t depth = arcs.depth[x];
    Value* row = rows.value + rows.start[depth];
    for (int64_t i = 0; i < (int64_t{depth} + 1) * kSides; i += L::kCount)
      L::store(row + i, nothing);
    for (int64_t j = 0; j < count; ++j)
      for (int s = 0; s < kSides; ++s)
        row[kSides * arcs.head_depth[begin + j] + s] = distances[kSides * (begin + j) + s];
  };
  // Values above `to` and below no other label: the ancestors to which its arcs lead.
  for (int64_t j = arcs.first[to + 1], a = arcs.parent[to]; j > arcs.first[to]; a = arcs.parent[a])
    if (arcs.depth[a] == arcs.head_depth[j - 1]) fill(static_cast<int32_t>(a)), --j;
  const int32_t height = arcs.height;
  Value* const own = scratch;                            // weights of the arcs of x by depth
  Value* const over_upper = own + kSides * height + 64;  // shortest paths downwards, by depth
  Value* const over_lower = over_upper + kSides * height + 64;  // shortest paths upwards, by arc
  for (int32_t x = to; x >= from; --x) {
    const int64_t begin = arcs.first[x], count = arcs.first[x + 1] - begin;
    const int32_t* depths = arcs.head_depth + begin;
    const Value* mine = weights + kSides * begin;
    const Value* found = over_lower;
    if (count <= kFew) {
      for (int64_t j = 0; j < kSides * count; ++j) over_lower[j] = far<Value>();
      for (int64_t i = 1; i < count; ++i) {
        const Value* above = rows.value + rows.start[depths[i]];
        for (int64_t j = 0; j < i; ++j)
          for (int s = 0; s < kSides; ++s) {
            // x - y - z, and x - z - y, where y is the end of arc i, and z, above y, that of arc j.
            const Value up = above[kSides * depths[j] + s];
            const Value down = above[kSides * depths[j] + (kSides - 1 - s)];
            Value& z = over_lower[kSides * j + s];
            z = lesser<Value>(z, mine[kSides * i + s] + up);
            Value& y = over_lower[kSides * i + s];
            y = lesser<Value>(y, mine[kSides * j + s] + down);
          }
      }
    } else {
      const int blocks = blocks_of<Value, kSides>(depths, count, rows.block);
      for (int b = 0; b < blocks; ++b) {
        L::store(over_upper + rows.block[b] * L::kCount, nothing);
        L::store(own + rows.block[b] * L::kCount, nothing);
      }
      for (int64_t j = 0; j < count; ++j)
        for (int s = 0; s < kSides; ++s) own[kSides * depths[j] + s] = mine[kSides * j + s];
      for (int64_t i = 0; i < count; ++i) {
        const Value* above = rows.value + rows.start[depths[i]];
        const Vector here = L::template spread<kSides>(mine + kSides * i);
        Vector least = nothing;
        for (int b = 0; b < blocks && rows.block[b] * kBlock < depths[i]; ++b) {
          const int64_t at = int64_t{rows.block[b]} * L::kCount;
          const Vector d = L::load(above + at);
          L::store(over_upper + at, lesser<Vector>(L::load(over_upper + at), d + here));
          least = lesser<Vector>(least, L::load(own + at) + L::template exchanged<kSides>(d));
        }
        for (int s = 0; s < kSides; ++s) {
          Value back = least[s];
          for (int l = s + kSides; l < L::kCount; l += kSides) back = lesser<Value>(back, least[l]);
          over_lower[kSides * i + s] = back;
        }
      }
      for (int64_t j = 0; j < count; ++j)
        for (int s = 0; s < kSides; ++s) {
          Value& way = over_lower[kSides * j + s];
          way = lesser(way, over_upper[kSides * depths[j] + s]);
        }
    }
    Value* row = rows.value + rows.start[arcs.depth[x]];
    // The row stays empty beyond the label's own depth: only labels above it count.
    if (x > from)
      for (int64_t i = 0; i < (int64_t{arcs.depth[x]} + 1) * kSides; i += L::kCount)
        L::store(row + i, nothing);
    int64_t kept[kSides] = {};
    for (int64_t j = 0; j < count; ++j) {
      uint8_t known = 0;
      for (int s = 0; s < kSides; ++s) {
        const Value weight = mine[kSides * j + s], way = found[kSides * j + s];
        const Value distance = lesser(weight, way);
        distances[kSides * (begin + j) + s] = distance;
        row[kSides * depths[j] + s] = distance;
        const bool tight = !is_far(weight) && !(way < weight);
        const bool needed = tight && (!ties || weight < way);
        known = static_cast<uint8_t>(known | (kTight * tight | kNeeded * needed) << s);
        kept[s] += needed;
      }
      flags[begin + j] = known;
    }
    for (int s = 0; s < kSides; ++s) first[s * (int64_t{arcs.n} + 1) + x + 1] = kept[s];
  }
}

#define NEARFAR_CUSTOMIZE(Value, Weight, kSides)                                               \
  template bool lower_triangles<Value, Weight, kSides>(const Arcs&, const Weight*, Value*,     \
                                                       int32_t, Value*);                       \
  template void lower_pass<Value, Weight, kSides>(const Arcs&, const Weight*, Value*, int32_t, \
                                                  int32_t, const PathRows<Value>&);
#define NEARFAR_CUSTOMIZE_BOTH(Value, Weight) \
  NEARFAR_CUSTOMIZE(Value, Weight, 1)         \
  NEARFAR_CUSTOMIZE(Value, Weight, 2)
#define NEARFAR_ROWS_ABOVE(Value, kSides)                                                          \
  template int64_t take_rows<Value, kSides>(const Arcs&, int32_t, const PathRows<Value>&, Value*); \
  template void add_rows<Value, kSides>(const Arcs&, int32_t, const PathRows<Value>&, const Value*);
#define NEARFAR_PERFECT(Value)                                                                \
  NEARFAR_ROWS_ABOVE(Value, 1)                                                                \
  NEARFAR_ROWS_ABOVE(Value, 2)                                                                \
  template void upper_pass<Value, 1>(const Arcs&, const Value*, Value*, uint8_t*, int64_t*,   \
                                     int32_t, int32_t, bool, const PathRows<Value>&, Value*); \
  template void upper_pass<Value, 2>(const Arcs&, const Value*, Value*, uint8_t*, int64_t*,   \
                                     int32_t, int32_t, bool, const PathRows<Value>&, Value*);
NEARFAR_CUSTOMIZE_BOTH(uint32_t, int32_t)
NEARFAR_CUSTOMIZE_BOTH(uint64_t, int64_t)
NEARFAR_CUSTOMIZE_BOTH(int64_t, int32_t)
NEARFAR_CUSTOMIZE_BOTH(int64_t, int64_t)
NEARFAR_CUSTOMIZE_BOTH(float, float)
NEARFAR_CUSTOMIZE_BOTH(double, double)
NEARFAR_PERFECT(uint32_t)
NEARFAR_PERFECT(uint64_t)
NEARFAR_PERFECT(int64_t)
NEARFAR_PERFECT(float)
NEARFAR_PERFECT(double)

}  // namespace nearfar::prepared::NEARFAR_ISA
