// The inner loops: adjacent cells of one row in a vector.
#include "raster/sweeps.hpp"

#include "cpu/instructions/registers.hpp"

// Marks a loop without dependences between iterations.
#if defined(__clang__)
#define NEARFAR_ANY_ORDER _Pragma("clang loop vectorize(assume_safety)")
#else
#define NEARFAR_ANY_ORDER _Pragma("GCC ivdep")
#endif

namespace nearfar::NEARFAR_ISA {
namespace {

// Data of a step's cost other than the costs of its ends, for cell x of a row.
template <class T>
struct More {
  T from = 0, to = 0;
};
template <class T, StepRule Rule>
NEARFAR_INLINE More<T> more_of(const T* c, const T* z, int at, int beside, int x) {
  if constexpr (Rule == StepRule::slope) return {(z + at)[x], z[x]};
  if constexpr (Rule == StepRule::corner) return {(c + beside)[x], (c + at - beside)[x]};
  return {};
}

// Lowers a row along itself from both ends; returns how many cells were lowered.
template <class T, StepRule Rule, int Side>
uint32_t scan(const Sweep<T>& s, T* d, const T* c, const T* z) {
  T after[Side], before[Side];  // cost of entering a cell from the one after it, and before it
  const SlopeTable<T> table = s.table;
  const T factor = s.scan_factor, inverse = s.scan_inverse;
  BitsOf<T> improves_any = 0;
  for (int x = 0; x < Side; ++x) {
    T here = 0, left = 0, right = 0;
    if constexpr (Rule == StepRule::slope) here = z[x], left = (z - 1)[x], right = (z + 1)[x];
    before[x] = step_cost<T, Rule>((c - 1)[x], c[x], left, here, factor, inverse, table);
    after[x] = step_cost<T, Rule>((c + 1)[x], c[x], right, here, factor, inverse, table);
    improves_any |= static_cast<BitsOf<T>>(improves(candidate((d - 1)[x], before[x]), d[x]));
    improves_any |= static_cast<BitsOf<T>>(improves(candidate((d + 1)[x], after[x]), d[x]));
  }
  if (!improves_any) return 0;
  // Two independent chains.
  T down[Side], up[Side];
  T from_left = d[-1], from_right = d[Side];
  for (int x = 0; x < Side; ++x) {
    from_left = lesser(from_left, before[x], d[x]);
    down[x] = from_left;
    const int y = Side - 1 - x;
    from_right = lesser(from_right, after[y], d[y]);
    up[y] = from_right;
  }
  uint32_t lowered = 0;
  for (int x = 0; x < Side; ++x) {
    const T best = down[x] < up[x] ? down[x] : up[x];
    lowered += best != d[x];
    d[x] = best;
  }
  return lowered;
}

template <class T, StepRule Rule, int Side, int Count>
uint32_t sweep(const Sweep<T>& s) {
  const SlopeTable<T> table = s.table;
  // Local copies, which no store through `d` can change.
  int at[Count], beside[Count];
  T factor[Count], inverse[Count];
  for (int k = 0; k < Count; ++k) {
    at[k] = s.at[k], beside[k] = s.beside[k];
    factor[k] = s.factor[k], inverse[k] = s.inverse[k];
  }
  // Counted per column, because a sum over each row would add a dependence.
  BitsOf<T> fell[Side] = {};
  uint32_t lowered = 0;
  const auto lower_row = [&](int plane, int row) __attribute__((always_inline)) {
    const int p = s.forward ? plane : s.planes - 1 - plane, r = s.forward ? row : Side - 1 - row;
    const int begin = s.first + p * s.plane + r * s.row;
    T* const d = s.tile.d + begin;
    const T* const c = s.tile.cost + begin;
    const T* const z = Rule == StepRule::slope ? s.tile.elevation + begin : nullptr;
    NEARFAR_ANY_ORDER
    for (int x = 0; x < Side; ++x) {
      const T before = d[x], to = c[x];
      T best = before;
#pragma GCC unroll 12
      for (int k = 0; k < Count; ++k) {
        const More<T> more = more_of<T, Rule>(c, z, at[k], beside[k], x);
        best = lesser((d + at[k])[x],
                      step_cost<T, Rule>((c + at[k])[x], to, more.from, more.to, factor[k],
                                         inverse[k], table),
                      best);
      }
      fell[x] += static_cast<BitsOf<T>>(best != before);
      d[x] = best;
    }
    if (s.scans) lowered += scan<T, Rule, Side>(s, d, c, z);
  };
  if (s.planes == 1) {
    for (int row = 0; row < Side; ++row) lower_row(0, row);
  } else {
    // Alternates between two planes, the second so far behind that its rows depend on finished rows
    // only: a row depends on the one before it.
    for (int plane = 0; plane < s.planes; plane += 2)
      for (int row = 0; row < Side + 2; ++row) {
        if (row < Side) lower_row(plane, row);
        if (row >= 2) lower_row(plane + 1, row - 2);
      }
  }
  for (int x = 0; x < Side; ++x) lowered += static_cast<uint32_t>(fell[x]);
  return lowered;
}

// A cell may read neighbours in its row before or after they were just lowered: both are lengths of
// paths, and every lowered cell is flagged.
template <class T, StepRule Rule, int Side, int Count>
uint32_t pull(const Sweep<T>& s, int begin, uint8_t* flags) {
  const SlopeTable<T> table = s.table;
  T* const d = s.tile.d + begin;
  const T* const c = s.tile.cost + begin;
  const T* const z = Rule == StepRule::slope ? s.tile.elevation + begin : nullptr;
  T before[Side];
  for (int x = 0; x < Side; ++x) before[x] = d[x];
  NEARFAR_ANY_ORDER
  for (int x = 0; x < Side; ++x) {
    T best = d[x];
#pragma GCC unroll 26
    for (int k = 0; k < Count; ++k) {
      const More<T> more = more_of<T, Rule>(c, z, s.at[k], s.beside[k], x);
      best = lesser((d + s.at[k])[x],
                    step_cost<T, Rule>((c + s.at[k])[x], c[x], more.from, more.to, s.factor[k],
                                       s.inverse[k], table),
                    best);
    }
    d[x] = best;
  }
  uint32_t lowered = 0;
  for (int x = 0; x < Side; ++x) lowered += d[x] != before[x];
  if (lowered > 0)
    for (int x = 0; x < Side; ++x) flags[x] = d[x] != before[x];
  return lowered;
}

template <class T, StepRule Rule, int Side>
uint32_t links(const Sweep<T>& s, int begin, uint8_t* out) {
  const SlopeTable<T> table = s.table;
  const T* const d = s.tile.d + begin;
  const T* const c = s.tile.cost + begin;
  const T* const z = Rule == StepRule::slope ? s.tile.elevation + begin : nullptr;
  BitsOf<T> first[Side];
  BitsOf<T> improves_any = 0;
  for (int x = 0; x < Side; ++x) first[x] = 255;
  for (int k = s.count; k-- > 0;) {
    const T* const d_from = d + s.at[k];
    const T* const c_from = c + s.at[k];
    const T factor = s.factor[k], inverse = s.inverse[k];
    for (int x = 0; x < Side; ++x) {
      const More<T> more = more_of<T, Rule>(c, z, s.at[k], s.beside[k], x);
      const T before = d_from[x], here = d[x];
      const SumOf<T> sum = candidate(
          before, step_cost<T, Rule>(c_from[x], c[x], more.from, more.to, factor, inverse, table));
      const bool tight = (sum == static_cast<SumOf<T>>(here)) & (before < here);
      first[x] = tight ? static_cast<BitsOf<T>>(k) : first[x];
      const bool lower = improves(sum, here) & !(sum > static_cast<SumOf<T>>(s.limit));
      improves_any |= static_cast<BitsOf<T>>(lower);
    }
  }
  uint32_t found = improves_any ? kImproves : 0;
  for (int x = 0; x < Side; ++x) {
    const bool reached = d[x] < unreached<T>();
    out[x] = reached ? static_cast<uint8_t>(first[x]) : 255;
    found |= (reached & (first[x] == 255)) ? kUnlinked : 0;
    found |= d[x] >= 0 ? 0 : kImpossible;
  }
  return found;
}

template <class T, StepRule Rule>
SweepFunction<T> sweep_of(int side, int count) {
  if (side == 64)
    return count == 1   ? sweep<T, Rule, 64, 1>
           : count == 3 ? sweep<T, Rule, 64, 3>
                        : sweep<T, Rule, 64, 7>;
  return count == 1   ? sweep<T, Rule, 32, 1>
         : count == 2 ? sweep<T, Rule, 32, 2>
         : count == 3 ? sweep<T, Rule, 32, 3>
         : count == 8 ? sweep<T, Rule, 32, 8>
                      : sweep<T, Rule, 32, 12>;
}

template <class T, StepRule Rule>
PullFunction<T> pull_of(int side, int count) {
  if (side == 64)
    return count == 1   ? pull<T, Rule, 64, 1>
           : count == 3 ? pull<T, Rule, 64, 3>
           : count == 4 ? pull<T, Rule, 64, 4>
           : count == 7 ? pull<T, Rule, 64, 7>
           : count == 8 ? pull<T, Rule, 64, 8>
                        : pull<T, Rule, 64, 16>;
  return count == 1    ? pull<T, Rule, 32, 1>
         : count == 5  ? pull<T, Rule, 32, 5>
         : count == 6  ? pull<T, Rule, 32, 6>
         : count == 9  ? pull<T, Rule, 32, 9>
         : count == 18 ? pull<T, Rule, 32, 18>
                       : pull<T, Rule, 32, 26>;
}

template <class T, StepRule Rule>
LinkFunction<T> links_of(int side) {
  return side == 64 ? links<T, Rule, 64> : links<T, Rule, 32>;
}

}  // namespace

// Corners are checked only for eight neighbours in two dimensions: three from each adjacent row.
template <class T>
SweepFunction<T> raster_sweep(StepRule rule, int side, int count) {
  if constexpr (std::is_floating_point_v<T>) {
    if (rule == StepRule::mean) return sweep_of<T, StepRule::mean>(side, count);
    if (rule == StepRule::slope) return sweep_of<T, StepRule::slope>(side, count);
    if (rule == StepRule::corner) return sweep<T, StepRule::corner, 64, 3>;
  }
  return sweep_of<T, StepRule::enter>(side, count);
}

template <class T>
PullFunction<T> raster_pull(StepRule rule, int side, int count) {
  if constexpr (std::is_floating_point_v<T>) {
    if (rule == StepRule::mean) return pull_of<T, StepRule::mean>(side, count);
    if (rule == StepRule::slope) return pull_of<T, StepRule::slope>(side, count);
    if (rule == StepRule::corner)
      return count == 3 ? pull<T, StepRule::corner, 64, 3> : pull<T, StepRule::corner, 64, 8>;
  }
  return pull_of<T, StepRule::enter>(side, count);
}

template <class T>
LinkFunction<T> raster_links(StepRule rule, int side) {
  if constexpr (std::is_floating_point_v<T>) {
    if (rule == StepRule::mean) return links_of<T, StepRule::mean>(side);
    if (rule == StepRule::slope) return links_of<T, StepRule::slope>(side);
    if (rule == StepRule::corner) return links<T, StepRule::corner, 64>;
  }
  return links_of<T, StepRule::enter>(side);
}

template <class T>
void raster_turn(const T* in, T* out, int side, int row) {
  typedef T Eight __attribute__((vector_size(8 * sizeof(T))));
  for (int y = 0; y < side; y += 8)
    for (int x = 0; x < side; x += 8) {
      Eight a[8], b[8];
      for (int i = 0; i < 8; ++i) __builtin_memcpy(&a[i], in + (y + i) * row + x, sizeof(Eight));
      interleave(a, b);
      interleave(b, a);
      interleave(a, b);
      for (int i = 0; i < 8; ++i) __builtin_memcpy(out + (x + i) * row + y, &b[i], sizeof(Eight));
    }
}

#define NEARFAR_SWEEPS_OF(T)                                     \
  template SweepFunction<T> raster_sweep<T>(StepRule, int, int); \
  template PullFunction<T> raster_pull<T>(StepRule, int, int);   \
  template void raster_turn<T>(const T*, T*, int, int);          \
  template LinkFunction<T> raster_links<T>(StepRule, int);
NEARFAR_SWEEPS_OF(float)
NEARFAR_SWEEPS_OF(double)
NEARFAR_SWEEPS_OF(int32_t)
NEARFAR_SWEEPS_OF(int64_t)
#undef NEARFAR_SWEEPS_OF

}  // namespace nearfar::NEARFAR_ISA
