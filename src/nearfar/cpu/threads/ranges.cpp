// The threads behind in_ranges.
#include "cpu/threads/ranges.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace nearfar {

void in_ranges(std::size_t size, int threads,
               const std::function<void(std::size_t, std::size_t, std::size_t)>& part) {
  constexpr std::size_t kWorthAThread = std::size_t{1} << 16;
  const std::size_t ranges =
      size < kWorthAThread ? 1 : static_cast<std::size_t>(std::max(1, threads));
  const auto one = [&](std::size_t range) {
    part(range, size * range / ranges, size * (range + 1) / ranges);
  };
  // Joined on every exit. std::jthread would do that, but some libc++ lack it.
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
