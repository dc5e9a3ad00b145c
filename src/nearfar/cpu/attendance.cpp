// When a helper is let go.
#include "cpu/attendance.hpp"

#include <algorithm>

namespace nearfar {
namespace {

constexpr int64_t kBearable = 6'000'000;  // ns of all helpers: a time slice or two, now and then
constexpr int64_t kForget = 4;  // a quarter of the time may be lost for ever to an only helper,
                                // an eighth to each of several
constexpr int64_t kPause = 8;   // times what was lost
constexpr int64_t kFirst = 32'000'000;  // ns; one long absence says little about the next
constexpr int64_t kSpared = 500'000, kSparedMost = 16'000'000;  // ns
constexpr int64_t kLongest = 1'000'000'000;                     // ns of a pause

}  // namespace

bool Attendance::late(int64_t now, int64_t waited, int64_t owed, int helpers) {
  lost_ = std::max<int64_t>(0, lost_ - (now - forgotten_) / (helpers == 1 ? kForget : 2 * kForget));
  forgotten_ = now;
  lost_ += std::max<int64_t>(0, waited - owed);
  if (lost_ <= kBearable / helpers) return false;  // the more there are, the less one brings
  left(now);
  const int64_t grown = 2 * std::max<int64_t>(0, pause_ - served_);
  pause_ = std::min(kLongest, std::max(std::min(kPause * lost_, kFirst), grown));
  back_ = now + pause_;
  served_ = 0;
  lost_ = 0;
  return true;
}

void Attendance::declined(int64_t now) {
  spared_ = std::min(kSparedMost, std::max(kSpared, 2 * spared_));
  back_ = std::max(back_, now + spared_);
}

}  // namespace nearfar
