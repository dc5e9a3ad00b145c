// When whatever the workers were doing at some moment is over.
//
// The era is a number that grows. A worker notes the one that it is in between two parts of its
// work, and the era grows when every active worker has noted it. So once it has grown by three
// since a worker did something, every other worker has been between two parts after that: the era
// grows by one while the worker is still at it, by a second one only after the worker has noted the
// first, and by a third only after every worker has noted the second, which was later. Epochs of
// memory reclamation do the same (Fraser, "Practical lock-freedom", 2004); here nothing is freed,
// but distances are looked at again.
//
// Memory order. A worker notes an era by a store that releases; who raises the era has loaded all
// notes with acquire and raises it by a compare and swap that releases; who finds it raised loads
// it with acquire. So what a worker stored before it noted an era happens before what any worker
// does after the next one has begun. Between the load and the store of a distance no era is noted:
// three eras later such a pair has either been seen, or begins with the newer distance. To come is
// to store a note and then load the era again, which needs the full fence between, as does to look
// at the notes after what was done before.
#pragma once

#include "cpu/search/arithmetic.hpp"
#include "cpu/threads/waiting.hpp"

namespace nearfar::delta_stepping {

class Era {
 public:
  static constexpr uint64_t kAway = ~uint64_t{0};  // noted by who does not work
  static constexpr uint64_t kOver = 3;  // eras until others are done with what they were doing

  NEARFAR_INLINE uint64_t now() const { return __atomic_load_n(&now_, __ATOMIC_ACQUIRE); }

  // A worker begins, and reads what others write only after this; and it ends.
  NEARFAR_INLINE void come(uint64_t& noted) const {
    for (uint64_t era = now();;) {
      __atomic_store_n(&noted, era, __ATOMIC_RELAXED);
      Signal::full_fence();
      const uint64_t again = now();
      if (again == era) return;  // it cannot grow by more than one from here on
      era = again;
    }
  }
  static NEARFAR_INLINE void go(uint64_t& noted) {
    __atomic_store_n(&noted, kAway, __ATOMIC_RELEASE);
  }

  // Between two parts: notes the next era; false while there is none. Who asks for it looks whether
  // every worker, noted(0) to noted(count - 1), is in this one.
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
