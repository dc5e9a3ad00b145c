// What every single-source solver on a CPU receives and reports, and the checks of the call from
// Python.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

// When a search may end early. Distances beyond `limit` need not be found; once every target is
// closer than all that is still pending, the rest need not be found either.
template <class Weight>
struct StopRule {
  Weight limit = unreached<Weight>();
  const int64_t* targets = nullptr;
  std::size_t n_targets = 0;

  // Whether all targets are nearer than `next`, the least distance still pending. A target equal to
  // it keeps the search alive: a zero-weight edge may still lead to a vertex as far as that target.
  // The position moves on over settled targets, so all calls together cost O(targets).
  NEARFAR_INLINE bool reached_all(const Weight* distances, Weight next) {
    return reached_all(next, [&](int64_t v) { return distances[v]; });
  }
  // The same where distance(v) reads it, because others may write.
  template <class Distance>
  NEARFAR_INLINE bool reached_all(Weight next, const Distance& distance) {
    if (n_targets == 0) return false;
    while (position_ < n_targets && distance(targets[position_]) < next) ++position_;
    return position_ == n_targets;
  }

 private:
  std::size_t position_ = 0;
};

struct SearchStats {
  uint64_t iterations = 0;
  uint64_t vertices_processed = 0;  // rows relaxed; more than are settled where work is repeated
  uint64_t edges_relaxed = 0;
  uint64_t pushes = 0;
  uint64_t stale = 0;  // queue entries dropped because a shorter distance was known
  uint64_t delta_changes = 0;
  uint64_t workers = 0;  // that took part, where there may be several
  uint64_t steals = 0;   // times that one took entries of another
  uint64_t raised = 0;   // times that one put right what another had stored over a lesser distance
  double delta = 0;

  // What another worker counted.
  void operator+=(const SearchStats& more) {
    iterations += more.iterations;
    vertices_processed += more.vertices_processed;
    edges_relaxed += more.edges_relaxed;
    pushes += more.pushes;
    stale += more.stale;
    steals += more.steals;
    raised += more.raised;
  }
};

// What each iteration did, where the caller wants to know (cpu/search/iteration_log.hpp).
struct IterationLog;
NEARFAR_COLD void note_iteration(IterationLog& log, uint64_t frontier, uint64_t near, uint64_t far,
                                 uint64_t edges);

// The caller's inclusive limit in the weights' type: of floats the greatest number that is not
// above it, so that exactly the distances within it pass. Of integers never smaller than asked for.
template <class Weight>
Weight limit_as(std::optional<double> limit) {
  if (!limit) return unreached<Weight>();
  double value = *limit;
  if constexpr (std::is_floating_point_v<Weight>) {
    const Weight cast = static_cast<Weight>(value);
    return static_cast<double>(cast) > value
               ? std::nextafter(cast, -std::numeric_limits<Weight>::infinity())
               : cast;
  } else {
    // From 2^53 on the double may lie below the integer that the caller meant.
    if (std::abs(value) >= 9007199254740992.0)
      value = std::nextafter(value, std::numeric_limits<double>::infinity());
    if (value >= static_cast<double>(unreached<Weight>())) return unreached<Weight>();
    if (value < 0) return -1;
    return static_cast<Weight>(std::floor(value));
  }
}

}  // namespace nearfar
