// Spins, then sleeps on a futex, or on a condition variable where there are no futexes.
#include "cpu/threads/waiting.hpp"

#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__linux__) && !defined(NEARFAR_WITHOUT_FUTEX)  // a test builds it without
#define NEARFAR_FUTEX
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include <array>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <ctime>
#include <mutex>

namespace nearfar {
namespace {

constexpr int kSpins = 400;            // a few microseconds: longer than busy workers need to meet
constexpr int64_t kPatience = 30'000;  // ns; about the cost of a sleep and a wake-up

#if !defined(NEARFAR_FUTEX)
// Where threads sleep on some addresses. Waking locks the guard after the value was stored, so a
// thread that still read the old value under the guard is already waiting and is woken.
struct Bed {
  std::mutex guard;
  std::condition_variable woken;
};

Bed& bed_of(const void* address) {
  static auto* const beds = new std::array<Bed, 64>;  // helpers sleep until the process ends
  return (*beds)[reinterpret_cast<std::uintptr_t>(address) / 64 % beds->size()];
}
#endif

// Returns at once if the value is no longer `old`, and sometimes spuriously. `limit`: the longest
// time to sleep, or null.
void sleep_on(const uint32_t* value, uint32_t old, const timespec* limit) {
#if defined(NEARFAR_FUTEX)
  ::syscall(SYS_futex, value, FUTEX_WAIT_PRIVATE, old, limit, nullptr, 0);
#else
  Bed& bed = bed_of(value);
  std::unique_lock<std::mutex> lock(bed.guard);
  if (__atomic_load_n(value, __ATOMIC_ACQUIRE) != old) return;
  if (limit == nullptr)
    bed.woken.wait(lock);
  else
    bed.woken.wait_for(
        lock, std::chrono::seconds(limit->tv_sec) + std::chrono::nanoseconds(limit->tv_nsec));
#endif
}

}  // namespace

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int this_core() {
#if defined(__linux__)
  return ::sched_getcpu();
#else
  return -1;
#endif
}

int64_t this_process() {
#if defined(_WIN32)
  return ::_getpid();
#else
  return ::getpid();
#endif
}

bool Signal::replace(uint32_t old, uint32_t value) {
  return __atomic_compare_exchange_n(&value_, &old, value, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

bool Signal::spin_for(uint32_t value) const {
  for (int i = 0; i < kSpins; ++i) {
    if (read() == value) return true;
    pause_thread();
  }
  return false;
}

uint32_t Signal::wait_change(uint32_t old) {
  uint32_t now = read();
  for (int i = 0; i < kSpins && now == old; ++i) {
    pause_thread();
    now = read();
  }
  if (now != old) return now;
  for (const int64_t until = steady_ns() + kPatience; steady_ns() < until;) {
    for (int i = 0; i < 32; ++i) {
      now = read();
      if (now != old) return now;
      pause_thread();
    }
  }
  __atomic_fetch_add(&sleepers_, 1, __ATOMIC_SEQ_CST);
  full_fence();
  while ((now = read()) == old) sleep_on(&value_, old, nullptr);
  __atomic_fetch_sub(&sleepers_, 1, __ATOMIC_RELAXED);
  return now;
}

void Signal::sleep_once(uint32_t old, int64_t ns) const {
  const timespec limit{static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
  sleep_on(&value_, old, &limit);
}

void Signal::wake() {
#if defined(NEARFAR_FUTEX)
  ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#else
  Bed& bed = bed_of(&value_);
  const std::lock_guard<std::mutex> lock(bed.guard);
  bed.woken.notify_all();
#endif
}

}  // namespace nearfar
