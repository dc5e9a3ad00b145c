// One pass over an array by several threads, a range each.
//
// Threads of its own, not those of the pool: the pool serves one call at a time, and to build a
// graph should not wait until another thread's solve has ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace nearfar {

// Calls part(range, from, to) for as many ranges of [0, size) as there are threads, which are
// numbered from 0; small arrays are one range on the caller's thread. `part` must not throw on
// others.
template <class Part>
void in_ranges(std::size_t size, int threads, const Part& part) {
  constexpr std::size_t kWorthAThread = std::size_t{1} << 16;
  const std::size_t ranges =
      size < kWorthAThread ? 1 : static_cast<std::size_t>(std::max(1, threads));
  const auto one = [&](std::size_t range) {
    part(range, size * range / ranges, size * (range + 1) / ranges);
  };
  // Joined at the end, however this is left. std::jthread would be that; some libc++ lack it.
  struct Joined : std::vector<std::thread> {
    ~Joined() {
      for (std::thread& thread : *this) thread.join();
    }
  } others;
  others.reserve(ranges - 1);
  for (std::size_t range = 1; range < ranges; ++range) others.emplace_back(one, range);
  one(0);
}

}  // namespace nearfar
