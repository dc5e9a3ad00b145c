// The loop shared by the compound-frontier families: relax, minimum, update, until no vertex is
// left.
//
// Martin, Torres and Gavilanes (2009), Fig. 2 (DA2CF), and Ortega-Arranz et al. (2015), Alg. 1, are
// one loop over three arrays; they differ in which unsettled vertices settle together at a given
// minimum. So a family is a policy (what the minimum computes, which vertices settle), and the
// relax step is one of four functors (relax_steps.hpp). Every step is the plain loop of the papers'
// pseudo-code without "in parallel", over all n vertices, because these forms exist to be read and
// compared.
//
// Two departures, both for graphs that the papers exclude. The update step looks for an unsettled
// vertex, which Martin's does not: with zero-weight edges a vertex may reach the current minimum
// after others settled at it; it then settles in a further iteration at the same threshold, while
// the others, whose distance is final, are not relaxed again. And integer sums saturate at the
// value for "unreached", which never enters a frontier.
//
// A policy has: begin(); see(v, d) for every unsettled v; exhausted(); settles(v, d); bound(), a
// distance up to which every tentative distance is final after update.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/bindings/bindings.hpp"
#include "cpu/graph/graph_view.hpp"
#include "cpu/threads/interrupt.hpp"

namespace nearfar {

// The papers' three arrays, owned by the caller (NumPy memory in the hybrids).
template <class W>
struct SettleState {
  std::size_t n;
  W* distance;
  uint8_t* frontier;
  uint8_t* unsettled;

  void start(std::size_t source) {
    for (std::size_t v = 0; v < n; ++v) {
      distance[v] = unreached<W>();
      frontier[v] = 0;
      unsettled[v] = 1;
    }
    distance[source] = W{0};
    frontier[source] = 1;
    unsettled[source] = 0;
  }
};

// Counts of one relax step: iterations of its outer loop that had work, and edges (matrix entries)
// read.
struct RelaxCount {
  uint64_t working = 0;
  uint64_t edges = 0;
};

struct SettleStop {
  std::optional<double> limit;
  std::vector<int64_t> targets;
};

struct SettleRun {
  uint64_t iterations = 0;
  uint64_t settled = 1;
  RelaxCount total;
  std::vector<int64_t> frontier, working, edges;
  std::vector<double> seconds;
};

template <class W, class Policy>
void settle_minimum(const SettleState<W>& s, Policy& policy) {
  const W* const distance = s.distance;
  const uint8_t* const unsettled = s.unsettled;
  // A local copy, so that stores through the policy's own pointers cannot alias the accumulator.
  Policy local = policy;
  local.begin();
  for (std::size_t v = 0; v < s.n; ++v)
    if (unsettled[v]) local.see(v, distance[v]);
  policy = local;
}

template <class W, class Policy>
uint64_t settle_update(SettleState<W>& s, const Policy& policy) {
  const W* const distance = s.distance;
  uint8_t* const frontier = s.frontier;
  uint8_t* const unsettled = s.unsettled;
  const Policy local = policy;
  uint64_t settled = 0;
  for (std::size_t v = 0; v < s.n; ++v) {
    frontier[v] = 0;
    if (unsettled[v] && local.settles(v, distance[v])) {
      unsettled[v] = 0;
      frontier[v] = 1;
      ++settled;
    }
  }
  return settled;
}

template <class W, class Relax, class Policy>
SettleRun settle_loop(SettleState<W> s, const Relax& relax, Policy policy, const SettleStop& stop,
                      bool full) {
  using Clock = std::chrono::steady_clock;
  SettleRun run;
  Interrupt interrupt;
  uint64_t frontier = 1;
  std::size_t targets_done = 0;
  W farthest = W{0};
  while (true) {
    const auto began = full ? Clock::now() : Clock::time_point{};
    const RelaxCount count = relax(s, interrupt);
    ++run.iterations;
    run.total.working += count.working;
    run.total.edges += count.edges;
    settle_minimum(s, policy);
    const bool done = policy.exhausted();
    const uint64_t next = done ? 0 : settle_update(s, policy);
    if (full) {
      run.frontier.push_back(static_cast<int64_t>(frontier));
      run.working.push_back(static_cast<int64_t>(count.working));
      run.edges.push_back(static_cast<int64_t>(count.edges));
      run.seconds.push_back(std::chrono::duration<double>(Clock::now() - began).count());
    }
    if (done) break;
    run.settled += next;
    frontier = next;
    // No open vertex can become nearer than the bound, so strictly nearer vertices are final. Not
    // those at the bound: a zero-weight edge may still reach it.
    if (stop.limit && static_cast<double>(policy.bound()) > *stop.limit) break;
    for (; targets_done < stop.targets.size(); ++targets_done) {
      const int64_t target = stop.targets[targets_done];
      if (!s.unsettled[target])
        farthest = std::max(farthest, s.distance[target]);
      else
        break;
    }
    if (!stop.targets.empty() && targets_done == stop.targets.size() && policy.bound() > farthest)
      break;
    interrupt.poll(s.n);
  }
  return run;
}

// Returns the statistics for Python. Separate from settle_run, which is compiled once per policy,
// relax step and type, because the bindings would be most of its code.
inline Fields settle_statistics(SettleRun&& run, std::size_t n, bool full) {
  nb::dict stats;
  stats["iterations"] = run.iterations;
  stats["edges_relaxed"] = run.total.edges;
  stats["vertices_settled"] = run.settled;
  if (full) {
    stats["total_threads"] = static_cast<uint64_t>(n) * run.iterations;
    stats["working_threads"] = run.total.working;
    const auto total = static_cast<double>(n) * static_cast<double>(run.iterations);
    stats["idle_share"] = 1.0 - static_cast<double>(run.total.working) / total;
    stats["frontier"] = as_numpy(std::move(run.frontier));
    stats["working"] = as_numpy(std::move(run.working));
    stats["edges"] = as_numpy(std::move(run.edges));
    stats["iteration_seconds"] = as_numpy(std::move(run.seconds));
  }
  return stats;
}

inline SettleStop settle_stop(std::optional<double> limit, const std::optional<Ids>& targets) {
  SettleStop stop{limit, {}};
  if (targets) {
    stop.targets.assign(targets->data(), targets->data() + targets->size());
  }
  return stop;
}

// Runs the loop on new flags, without the GIL.
template <class W, class Relax, class Policy>
Fields settle_run(std::size_t n, std::size_t source, const Array& distances, const Relax& relax,
                  const Policy& policy, std::optional<double> limit,
                  const std::optional<Ids>& targets, bool full) {
  W* const distance = checked<W>(distances, n, "distances");
  const SettleStop stop = settle_stop(limit, targets);
  SettleRun run;
  {
    nb::gil_scoped_release release;
    std::vector<uint8_t> frontier(n), unsettled(n);
    SettleState<W> state{n, distance, frontier.data(), unsettled.data()};
    state.start(source);
    run = settle_loop(state, relax, policy, stop, full);
  }
  return settle_statistics(std::move(run), n, full);
}

}  // namespace nearfar
