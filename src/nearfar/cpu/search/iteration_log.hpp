// Counts of each iteration of a search, for stats="full".
//
// A search calls only note_iteration (cpu/search/search.hpp) and depends on nothing of Python.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cpu/bindings/bindings.hpp"

namespace nearfar {

// Per iteration: vertices processed, edges, queue entries in the near set and in the far pile.
struct IterationLog {
  std::vector<int64_t> frontier, near, far, edges;
  std::vector<double> seconds;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();

  void write_to(nb::dict stats) &&;
};

}  // namespace nearfar
