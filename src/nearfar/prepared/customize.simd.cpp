// Customization: what the arcs weigh, triangle by triangle.
//
// Lower triangles (basic customization): eliminating v joins its upper neighbours x and y, so the
// arc x - y weighs at most the way over v. Seen from x: every arc v - x from below brings the arcs
// of v that lead further up, and all of these end at ancestors of x. They are gathered into an
// array indexed by depth, so a label writes its own arcs only and labels without a path between
// them need no lock. Seen from v the same triangles would be scattered over many lists.
//
// Upper triangles (perfect customization): from the roots down, the distance between the ends of
// x - y is the least of its weight and of the ways x - z - y over another ancestor, where z - y
// carries its distance already. An arc whose weight is more than that is no part of a shortest path
// that queries look for; nor is one whose weight equals a detour, where no edge weighs 0: of all
// shortest ways between two vertices the one over the highest vertices uses none of them.
//
// Dibbelt, Strasser and Wagner 2016, "Customizable contraction hierarchies", sections 6 and 7. The
// gather form by depth and the rule for ties are ours.
#include "prepared/customize.hpp"

#include "prepared/arcs.hpp"
#include "prepared/loops.hpp"

namespace nearfar::prepared::NEARFAR_ISA {

template <class Value, class Weight, int kSides>
bool lower_triangles(const Arcs& arcs, const Weight* edge_weights, Value* weights, int32_t x,
                     int32_t tails_from, int32_t tails_to, bool fresh, Value* scratch) {
  using L = Lanes<Value>;
  const int64_t begin = arcs.first[x], end = arcs.first[x + 1];
  if (begin == end) return false;
  const int32_t* depths = arcs.head_depth;
  if (fresh) {
    for (int64_t j = begin; j < end; ++j)
      for (int s = 0; s < kSides; ++s) scratch[kSides * depths[j] + s] = far<Value>();
    for (int64_t i = arcs.edge_first[x]; i < arcs.edge_first[x + 1]; ++i) {
      Value& slot = scratch[kSides == 2 ? arcs.edge_place[i] : arcs.edge_place[i] >> 1];
      slot = lesser(slot, static_cast<Value>(edge_weights[arcs.edge[i]]));
    }
  } else {
    for (int64_t j = begin; j < end; ++j)
      for (int s = 0; s < kSides; ++s) scratch[kSides * depths[j] + s] = weights[kSides * j + s];
  }
  for (int64_t q = arcs.lower_first[x]; q < arcs.lower_first[x + 1]; ++q) {
    const int32_t v = arcs.lower_tail[q];
    if (v < tails_from) continue;
    if (v >= tails_to) break;
    const int64_t from = arcs.first[v], k = arcs.lower_arc[q];
    // x - v - y: down to v, then up from it; y - v - x the other way round.
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

template <class Value, int kSides>
void upper_triangles(const Arcs& arcs, const Value* weights, Value* distances, uint8_t* flags,
                     int32_t x, const int32_t* ancestor, bool ties, Value* scratch) {
  using L = Lanes<Value>;
  const int64_t begin = arcs.first[x], end = arcs.first[x + 1];
  const int32_t* depths = arcs.head_depth;
  Value* const own = scratch;                            // weights of the arcs of x, far elsewhere
  Value* const detour = scratch + kSides * arcs.height;  // least way over another ancestor
  for (int64_t j = begin; j < end; ++j)
    for (int s = 0; s < kSides; ++s) {
      own[kSides * depths[j] + s] = weights[kSides * j + s];
      detour[kSides * depths[j] + s] = far<Value>();
    }
  for (int64_t i = begin; i < end; ++i) {
    const int32_t y = ancestor[depths[i]];
    const int64_t from = arcs.first[y], count = arcs.first[y + 1] - from;
    const Value* of_y = distances + kSides * from;
    Value here[kSides], back[kSides];
    for (int s = 0; s < kSides; ++s) here[s] = weights[kSides * i + s], back[s] = far<Value>();
    const typename L::Vector wide = L::template spread<kSides>(here);
    typename L::Vector least = L::template spread<kSides>(back);
    // x - y - z goes over y to z above it; x - z - y comes back down to y.
    for_arcs<Value, kSides>(
        depths + from, count,
        [&](int64_t j, int32_t slot) {
          const typename L::Vector d = L::load(of_y + kSides * j);
          Value* to = detour + kSides * slot;
          L::store(to, lesser<typename L::Vector>(L::load(to), d + wide));
          least = lesser<typename L::Vector>(
              least, L::load(own + kSides * slot) + L::template exchanged<kSides>(d));
        },
        [&](int64_t j, int32_t slot) {
          for (int s = 0; s < kSides; ++s) {
            Value& to = detour[kSides * slot + s];
            to = lesser<Value>(to, of_y[kSides * j + s] + here[s]);
            back[s] = lesser<Value>(back[s],
                                    own[kSides * slot + s] + of_y[kSides * j + (kSides - 1 - s)]);
          }
        });
    for (int s = 0; s < kSides; ++s) {
      for (int l = s; l < L::kCount; l += kSides) back[s] = lesser<Value>(back[s], least[l]);
      Value& to = detour[kSides * depths[i] + s];
      to = lesser(to, back[s]);
    }
  }
  for (int64_t j = begin; j < end; ++j) {
    uint8_t known = 0;
    for (int s = 0; s < kSides; ++s) {
      const Value weight = weights[kSides * j + s], way = detour[kSides * depths[j] + s];
      own[kSides * depths[j] + s] = far<Value>();
      distances[kSides * j + s] = lesser(weight, way);
      if (is_far(weight) || way < weight) continue;
      known = static_cast<uint8_t>(known | kTight << s);
      if (!ties || weight < way) known = static_cast<uint8_t>(known | kNeeded << s);
    }
    flags[j] = known;
  }
}

#define NEARFAR_CUSTOMIZE(Value, Weight, kSides)                                           \
  template bool lower_triangles<Value, Weight, kSides>(const Arcs&, const Weight*, Value*, \
                                                       int32_t, int32_t, int32_t, bool, Value*);
#define NEARFAR_CUSTOMIZE_BOTH(Value, Weight) \
  NEARFAR_CUSTOMIZE(Value, Weight, 1)         \
  NEARFAR_CUSTOMIZE(Value, Weight, 2)
#define NEARFAR_PERFECT(Value)                                                                  \
  template void upper_triangles<Value, 1>(const Arcs&, const Value*, Value*, uint8_t*, int32_t, \
                                          const int32_t*, bool, Value*);                        \
  template void upper_triangles<Value, 2>(const Arcs&, const Value*, Value*, uint8_t*, int32_t, \
                                          const int32_t*, bool, Value*);
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
