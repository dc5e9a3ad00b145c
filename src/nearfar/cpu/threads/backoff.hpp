// Delays between attempts to wake a helper that had no core of its own.
//
// If other programs keep all other cores busy, the system wakes a helper on its caller's core, and
// the helper goes back to sleep. Waking it again at once would have the same result, so it is left
// asleep for half a millisecond, and twice as long each further time. There is one Backoff per
// helper, kept between runs, so that short solves benefit from earlier ones. Times are nanoseconds
// of any one clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nearfar {

class Backoff {
 public:
  bool over(int64_t now) const { return now >= until_; }
  void declined(int64_t now) {
    pause_ = std::clamp(2 * pause_, kFirst, kLongest);
    until_ = now + pause_;
  }
  void reset() { pause_ = 0; }  // it had a core

 private:
  static constexpr int64_t kFirst = 500'000, kLongest = 16'000'000;
  int64_t pause_ = 0;
  int64_t until_ = 0;
};

}  // namespace nearfar
