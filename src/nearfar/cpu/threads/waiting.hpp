// A value that one thread sets and others wait for, and a clock.
//
// The cores may be shared with other programs, so a waiter spins for some microseconds and then
// sleeps until it is woken. It never yields its time slice: on a core that another program keeps
// busy, a yield gives away some milliseconds, which add up to seconds in a solver that meets a
// thousand times. A sleeper runs again soon after it is woken, by a futex on Linux and a condition
// variable elsewhere.
#pragma once

#include <cstdint>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

int64_t steady_ns();  // monotonic, nanoseconds
int this_core();      // the core that the thread is running on; -1 if unknown
int64_t this_process();

// Tells the processor that this thread is only waiting.
NEARFAR_INLINE void pause_thread() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");  // `yield` does nothing on a core without hyper-threads
#endif
}

// The value and the number of sleepers share a cache line with the owner's adjacent data, so that a
// message arrives with its signal. No sleeper is missed: a setter stores the value and then looks
// for sleepers, a sleeper counts itself and then reads the value, each with a full fence in
// between, so one of the two sees the other. x86-64 needs the fences too, because a load may pass
// an earlier store; a release store and an acquire load would not suffice.
class Signal {
 public:
  NEARFAR_INLINE uint32_t read() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }

  // All earlier writes are visible to a reader of `value`. Without the fence a waiter that is just
  // falling asleep may be missed; then a fence and wake_sleepers() must follow.
  NEARFAR_INLINE void set(uint32_t value) {
    store(value);
    full_fence();
    wake_sleepers();
  }
  NEARFAR_INLINE void store(uint32_t value) { __atomic_store_n(&value_, value, __ATOMIC_RELEASE); }
  static NEARFAR_INLINE void full_fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
  NEARFAR_INLINE void wake_sleepers() {
    if (__atomic_load_n(&sleepers_, __ATOMIC_RELAXED) != 0) [[unlikely]]
      wake();
  }

  // Replaces `old` by `value`; returns false if it is not `old`. Wakes no thread.
  bool replace(uint32_t old, uint32_t value);

  // Waits a few microseconds for `value`; returns false if it did not appear.
  bool spin_for(uint32_t value) const;

  // Waits until the value is not `old`, and returns it.
  uint32_t wait_change(uint32_t old);

  // For waiting on more than the value: sleeps while it is `old` and idle() holds, for at most `ns`
  // nanoseconds. A setter that makes idle() false, then has a full fence and then checks
  // anybody_asleep() wakes this thread.
  template <class Idle>
  void sleep_while(uint32_t old, int64_t ns, const Idle& idle) {
    __atomic_fetch_add(&sleepers_, 1, __ATOMIC_SEQ_CST);
    full_fence();
    if (read() == old && idle()) sleep_once(old, ns);
    __atomic_fetch_sub(&sleepers_, 1, __ATOMIC_RELAXED);
  }
  NEARFAR_INLINE bool anybody_asleep() const {
    return __atomic_load_n(&sleepers_, __ATOMIC_RELAXED) != 0;
  }
  // Increments the value; several threads may call this.
  void next() {
    __atomic_fetch_add(&value_, 1, __ATOMIC_SEQ_CST);
    full_fence();  // aarch64 may load before the store of the addition is visible
    wake_sleepers();
  }

 private:
  NEARFAR_COLD void wake();
  NEARFAR_COLD void sleep_once(uint32_t old, int64_t ns) const;

  uint32_t value_ = 0;
  uint32_t sleepers_ = 0;
};

}  // namespace nearfar
