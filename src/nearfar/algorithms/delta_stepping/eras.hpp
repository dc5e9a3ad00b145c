// Eras: proof that all workers have finished what they were doing at some moment.
//
// The era is a number that grows. Between two parts of its work a worker stores the current era as
// its note, and the era grows when every active worker has noted it. Once it has grown by three
// since a worker did something, every other worker has since been between two parts: it grows by
// one while the worker is still busy, by a second only after the worker has noted the first, and by
// a third only after every worker has noted the second. Epoch-based memory reclamation works the
// same way (Fraser, "Practical lock-freedom", 2004); nothing is freed here, but distances are
// checked again.
//
// Memory order. Notes are stored with release. Raising the era loads all notes with acquire and
// then performs a compare-and-swap with release; reading the raised era is an acquire. So stores
// before a note of an era happen before everything that any worker does after the next era has
// begun. No era is noted between the load and the store of a distance: three eras later, such a
// pair is visible or starts from the newer distance. Joining stores a note and loads the era again,
// with a full fence in between. Reading the notes after earlier stores needs the same fence.
#pragma once

#include "cpu/search/arithmetic.hpp"
#include "cpu/threads/waiting.hpp"

namespace nearfar::delta_stepping {

class Era {
 public:
  static constexpr uint64_t kAway = ~uint64_t{0};  // noted by an inactive worker
  static constexpr uint64_t kOver = 3;  // eras until the others have finished what they were doing

  NEARFAR_INLINE uint64_t now() const { return __atomic_load_n(&now_, __ATOMIC_ACQUIRE); }

  // Joins; called by a worker before it reads what others write. go() leaves.
  NEARFAR_INLINE void come(uint64_t& noted) const {
    for (uint64_t era = now();;) {
      __atomic_store_n(&noted, era, __ATOMIC_RELAXED);
      Signal::full_fence();
      const uint64_t again = now();
      if (again == era) return;  // from here on it can grow by at most one
      era = again;
    }
  }
  static NEARFAR_INLINE void go(uint64_t& noted) {
    __atomic_store_n(&noted, kAway, __ATOMIC_RELEASE);
  }

  // Called between two parts: notes the next era, or returns false if there is none. When asked to
  // raise it, checks that all workers, noted(0) to noted(count - 1), are in this one.
  template <class Noted>
  NEARFAR_INLINE bool next(uint64_t& mine, bool ask, int count, const Noted& noted) {
    uint64_t era = mine;
    if (now() == era) {
      if (!ask) return false;
      Signal::full_fence();
      for (int i = 0; i < count; ++i)
        if (__atomic_load_n(noted(i), __ATOMIC_ACQUIRE) < era) return false;
      __atomic_compare_exchange_n(&now_, &era, era + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    __atomic_store_n(&mine, mine + 1, __ATOMIC_RELEASE);
    return true;
  }

 private:
  uint64_t now_ = 0;
};

}  // namespace nearfar::delta_stepping
