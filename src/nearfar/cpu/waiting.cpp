// Spin, then sleep on a futex.
#include "cpu/waiting.hpp"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <chrono>
#include <climits>
#include <thread>

namespace nearfar {
namespace {

constexpr int kSpins = 400;            // a few microseconds: longer than busy workers need to meet
constexpr int64_t kPatience = 30'000;  // ns; a sleep and a wake-up cost about as much

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns at once when the value is no longer `old`, and now and then without a reason.
void sleep_while(const uint32_t* value, uint32_t old) {
#if defined(__linux__)
  ::syscall(SYS_futex, value, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
#else
  static_cast<void>(value), static_cast<void>(old);
  std::this_thread::sleep_for(std::chrono::microseconds(50));
#endif
}

}  // namespace

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool Signal::replace(uint32_t old, uint32_t value) {
  return __atomic_compare_exchange_n(&value_, &old, value, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

bool Signal::spin_for(uint32_t value) const {
  for (int i = 0; i < kSpins; ++i) {
    if (read() == value) return true;
    pause();
  }
  return false;
}

uint32_t Signal::wait_change(uint32_t old) {
  uint32_t now = read();
  for (int i = 0; i < kSpins && now == old; ++i) {
    pause();
    now = read();
  }
  if (now != old) return now;
  for (const int64_t until = steady_ns() + kPatience; steady_ns() < until;) {
    for (int i = 0; i < 32; ++i) {
      now = read();
      if (now != old) return now;
      pause();
    }
  }
  __atomic_fetch_add(&sleepers_, 1, __ATOMIC_SEQ_CST);
  full_fence();
  while ((now = read()) == old) sleep_while(&value_, old);
  __atomic_fetch_sub(&sleepers_, 1, __ATOMIC_RELAXED);
  return now;
}

void Signal::wake() {
#if defined(__linux__)
  ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#endif
}

}  // namespace nearfar
