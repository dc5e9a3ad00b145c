// The out-of-line part of IterationLog.
#include "cpu/search/iteration_log.hpp"

#include <utility>

#include "cpu/search/search.hpp"

namespace nearfar {

void note_iteration(IterationLog& log, uint64_t frontier, uint64_t near, uint64_t far,
                    uint64_t edges) {
  const auto now = std::chrono::steady_clock::now();
  log.frontier.push_back(static_cast<int64_t>(frontier));
  log.near.push_back(static_cast<int64_t>(near));
  log.far.push_back(static_cast<int64_t>(far));
  log.edges.push_back(static_cast<int64_t>(edges));
  log.seconds.push_back(std::chrono::duration<double>(now - log.last).count());
  log.last = now;
}

void IterationLog::write_to(nb::dict stats) && {
  stats["frontier"] = as_numpy(std::move(frontier));
  stats["near"] = as_numpy(std::move(near));
  stats["far"] = as_numpy(std::move(far));
  stats["edges"] = as_numpy(std::move(edges));
  stats["seconds"] = as_numpy(std::move(seconds));
}

}  // namespace nearfar
