// When to ask again for a helper that had no core of its own.
//
// Where other programs keep all other cores busy, the system wakes a helper on the core of its
// caller, and it goes again. To ask at once would wake it there again, so it is left alone for half
// a millisecond, and twice as long each time in a row that nothing has changed. One Backoff per
// helper, kept from run to run, so that short solves learn from each other. Times in nanoseconds,
// from any one clock.
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
