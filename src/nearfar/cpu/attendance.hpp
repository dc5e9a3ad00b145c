// Whether a helper is worth waiting for.
//
// Where other programs keep the cores busy, a helper is off its core for milliseconds at a time,
// and a caller that meets it hundreds of times in a solve waits each time. So the time lost to
// waiting is counted, and a helper that costs more than it brings is let go for a while: at first
// for eight times the loss (32 ms at most), and twice as long each time that it turns out to be as
// bad again. Helpers that are there when they are needed are never let go. One Attendance per
// helper, kept from run to run, so that short solves learn from each other. Times in nanoseconds,
// from any one clock.
#pragma once

#include <cstdint>

namespace nearfar {

class Attendance {
 public:
  // Whether to ask for the helper at all.
  bool wanted(int64_t now) const { return now >= back_; }

  // It takes part from now on; and no longer, although nothing was wrong with it.
  void joined(int64_t now) { joined_ = now; }
  void left(int64_t now) {
    served_ += now - joined_;
    spared_ = 0;
  }

  // The caller waited so long for it, of which the work that it had to do explains `owed`. True
  // when it is to be let go, and then it no longer takes part. One of few helpers is worth more
  // waiting than one of many.
  bool late(int64_t now, int64_t waited, int64_t owed, int helpers);

  // It came to the core that the caller runs on, so all others are busy, and went again. It is left
  // alone for a while, longer each time in a row.
  void declined(int64_t now);

  int64_t pause() const { return pause_; }  // of the last time that it was let go

 private:
  int64_t lost_ = 0;       // waiting without a reason, forgotten over time
  int64_t forgotten_ = 0;  // when it was last forgotten
  int64_t joined_ = 0;
  int64_t served_ = 0;  // since it was last let go
  int64_t pause_ = 0;
  int64_t back_ = 0;
  int64_t spared_ = 0;  // for how long, after it had declined
};

}  // namespace nearfar
