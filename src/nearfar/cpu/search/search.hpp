// Parameters and counters of every single-source solver on a CPU, and checks of the call from
// Python.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

// Conditions for stopping a search early. Distances beyond `limit` are not needed; once every
// target is closer than all pending vertices, neither are the rest.
template <class Weight>
struct StopRule {
  Weight limit = unreached<Weight>();
  const int64_t* targets = nullptr;
  std::size_t n_targets = 0;

  // Whether all targets are nearer than `next`, the least pending distance. A target at exactly
  // `next` does not count: a zero-weight edge may still lead to a vertex at the same distance. The
  // position advances past settled targets, so all calls together take O(targets).
  NEARFAR_INLINE bool reached_all(const Weight* distances, Weight next) {
    return reached_all(next, [&](int64_t v) { return distances[v]; });
  }
  // The same, where distance(v) must be used because other threads write.
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
  uint64_t vertices_processed = 0;  // rows relaxed; exceeds settled if work is repeated
  uint64_t edges_relaxed = 0;
  uint64_t pushes = 0;
  uint64_t stale = 0;  // queue entries dropped because a shorter distance was known
  uint64_t delta_changes = 0;
  uint64_t workers = 0;  // that took part, in parallel searches
  uint64_t steals = 0;   // times that a worker took another's entries
  uint64_t raised = 0;   // times that a worker restored a shorter distance overwritten by another
  double delta = 0;
  double last_threshold = 0;  // no distance is greater by more than an edge; 0 if not known

  // Adds another worker's counts.
  void operator+=(const SearchStats& more) {
    iterations += more.iterations;
    vertices_processed += more.vertices_processed;
    edges_relaxed += more.edges_relaxed;
    pushes += more.pushes;
    stale += more.stale;
    steals += more.steals;
    raised += more.raised;
    last_threshold = std::max(last_threshold, more.last_threshold);
  }
};

// Counts of each iteration, if requested (cpu/search/iteration_log.hpp).
struct IterationLog;
NEARFAR_COLD void note_iteration(IterationLog& log, uint64_t frontier, uint64_t near, uint64_t far,
                                 uint64_t edges);

// Returns the caller's inclusive limit in the weights' type. For floats the largest number not
// above it, so that exactly the distances within it pass; for integers never less than requested.
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
    // From 2^53 on the double may be less than the integer that the caller meant.
    if (std::abs(value) >= 9007199254740992.0)
      value = std::nextafter(value, std::numeric_limits<double>::infinity());
    if (value >= static_cast<double>(unreached<Weight>())) return unreached<Weight>();
    if (value < 0) return -1;
    return static_cast<Weight>(std::floor(value));
  }
}

}  // namespace nearfar
