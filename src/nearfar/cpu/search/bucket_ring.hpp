// The bucket queue of delta-stepping: a ring of buckets for the nearest distances, and a far pile
// for the rest.
//
// The bucket number of a distance is (distance - base) / delta, rounded down. The ring holds the
// numbers from the current one up to current + kSlots - 1, and a bitmap finds the next nonempty
// bucket, so thousands of empty ones cost nothing. Entries beyond the ring wait in the far pile and
// are distributed when the ring is empty; base then moves to the least of them, so a gap of any
// size is skipped at once. Rounding may put an entry into a neighbouring bucket. That is harmless:
// the mapping stays monotone, and a stale entry is recognised by its distance, not by its bucket.
// The buffer of a finished bucket goes to a stack of spares, and the next bucket reuses the one
// that is still in cache.
#pragma once

#include <algorithm>

#include "cpu/memory/buffer.hpp"

namespace nearfar {

template <class C>
class BucketRing {
 public:
  using Weight = typename C::Weight;
  struct Entry {
    Index vertex;
    Weight distance;
  };
  using Bucket = Buffer<Entry>;

  static constexpr uint64_t kSlots = 512;
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  explicit BucketRing(double delta) : delta_(delta), inverse_(1 / delta) {}
  ~BucketRing() {
    for (std::size_t i = 0; i < spare_.size; ++i) std::free(spare_.data[i].data);
  }

  static Weight least(const Bucket& bucket) {
    Weight low = bucket.data[0].distance;
    for (std::size_t i = 1; i < bucket.size; ++i)
      low = bucket.data[i].distance < low ? bucket.data[i].distance : low;
    return low;
  }

  double delta() const { return delta_; }
  uint64_t current() const { return current_; }

  // Returns the greatest distance at which a current bucket ended, up to rounding: every entry that
  // was taken, or pushed to `fresh`, is below it.
  double reach() const { return reach_; }

  // Returns the bucket number, at least the current one; kSlots or more beyond it means the far
  // pile.
  NEARFAR_INLINE uint64_t bucket_of(Weight d) const {
    const double x = static_cast<double>(d - base_) * inverse_;
    if (!(x < end_)) return kEmpty;
    const auto number = static_cast<int64_t>(x);
    return number < static_cast<int64_t>(current_) ? current_ : static_cast<uint64_t>(number);
  }

  NEARFAR_INLINE void push(Entry entry) {
    const uint64_t number = bucket_of(entry.distance);
    if (number == kEmpty) [[unlikely]] {
      put_far(entry);
      return;
    }
    const uint64_t slot = number & (kSlots - 1);
    Bucket& bucket = slots_[slot];
    if (bucket.size == bucket.capacity) [[unlikely]]
      grow(bucket, slot);
    bucket.data[bucket.size++] = entry;
  }

  // The same, but entries for the current bucket go to `fresh`. A branch on that would often be
  // mispredicted.
  NEARFAR_INLINE void push(Entry entry, Bucket& fresh) {
    const uint64_t number = bucket_of(entry.distance);
    if (number == kEmpty) [[unlikely]] {
      put_far(entry);
      return;
    }
    const uint64_t slot = number & (kSlots - 1);
    Bucket* const bucket = select(number == current_, &fresh, &slots_[slot]);
    if (bucket->size < bucket->capacity) [[likely]]
      bucket->data[bucket->size++] = entry;
    else if (bucket == &fresh)
      fresh.push(entry);
    else
      push(entry);
  }

  // Returns the number of the next nonempty bucket, or kEmpty if the ring is empty. Far entries
  // that are now within the window are moved into the ring first, so no pending entry is nearer.
  uint64_t next() {
    const uint64_t found = first();
    if (found == kEmpty || far_.size == 0 || static_cast<double>(found) < far_first_) return found;
    advance(static_cast<uint64_t>(far_first_));
    draw();
    return first();
  }

  // Returns the number of the first nonempty bucket from the current one on, or kEmpty if there is
  // none.
  uint64_t first() const {
    const uint64_t at = current_ & (kSlots - 1);
    uint64_t word = at / 64;
    uint64_t bits = used_[word] & (~uint64_t{0} << (at % 64));
    for (uint64_t i = 0; i <= kWords; ++i) {
      if (bits != 0) {
        const uint64_t slot = word * 64 + static_cast<uint64_t>(__builtin_ctzll(bits));
        return current_ + ((slot - at) & (kSlots - 1));
      }
      word = (word + 1) % kWords;
      bits = used_[word];
    }
    return kEmpty;
  }

  // Returns the number of entries in the ring, and in the far pile, including stale ones; for
  // counters.
  std::size_t near_size() const {
    std::size_t all = 0;
    for (uint64_t word = 0; word < kWords; ++word)
      for (uint64_t bits = used_[word]; bits != 0; bits &= bits - 1)
        all += slots_[word * 64 + static_cast<uint64_t>(__builtin_ctzll(bits))].size;
    return all;
  }
  std::size_t far_size() const { return far_.size; }

  // Makes `number` the current bucket and moves its entries into `out`, which must be empty.
  void take(uint64_t number, Bucket& out) {
    advance(number);
    const uint64_t slot = number & (kSlots - 1);
    used_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    out.swap(slots_[slot]);
    if (slots_[slot].capacity != 0) recycle(slots_[slot]);
  }

  // Returns the distance at which bucket `number` begins, up to rounding.
  Weight begin_of(uint64_t number) const {
    const double low = static_cast<double>(base_) + static_cast<double>(number) * delta_;
    return low < static_cast<double>(unreached<Weight>()) ? static_cast<Weight>(low) : base_;
  }

  bool empty() const { return far_.size == 0 && first() == kEmpty; }

  // Extends the ring to entries from distance `low` on, which may be less than all pending ones.
  void go_back(Weight low) {
    if (empty()) return rebase(low);
    const double number = static_cast<double>(low - base_) * inverse_;
    if (number >= static_cast<double>(current_)) return;
    if (number < 0 || static_cast<double>(highest_) >= number + static_cast<double>(kSlots) - 1)
      renumber(low, delta_);
    else
      advance(static_cast<uint64_t>(number));
  }

  // Makes `number` the current bucket without removing its entries.
  void advance(uint64_t number) {
    current_ = number;
    end_ = static_cast<double>(number + kSlots);
    note_reach();
  }

  // Returns the distance at which the current bucket begins, up to rounding.
  Weight lower_end() const { return begin_of(current_); }

  // Returns the distance at which the current bucket ends, up to rounding.
  Weight upper_end() const {
    const double end = end_of_current();
    return end < static_cast<double>(unreached<Weight>()) ? static_cast<Weight>(end)
                                                          : unreached<Weight>();
  }

  // Finds the least distance in the far pile; returns false if the pile is empty.
  bool far_least(Weight& low) const {
    if (far_.size == 0) return false;
    low = least(far_);
    return true;
  }

  // Distributes the far pile from distance `low` on, at most the least pending distance. The ring
  // must be empty.
  void deal(Weight low) {
    rebase(low);
    draw();
  }

  // Changes the width, to one whose inverse does not overflow (between denormal distances no width
  // is narrow enough). No pending entry is nearer than `low`, except by rounding.
  void widen(Weight low, double delta) {
    renumber(low, delta);
    ++changes_;
  }
  uint64_t changes() const { return changes_; }

  // Drops pending entries and starts over from distance 0 with another width, reusing the memory.
  void restart(double delta) {
    for (uint64_t word = 0; word < kWords; ++word) {
      for (uint64_t bits = used_[word]; bits != 0; bits &= bits - 1)
        recycle(slots_[word * 64 + static_cast<uint64_t>(__builtin_ctzll(bits))]);
      used_[word] = 0;
    }
    far_.size = 0;
    set_width(delta);
    rebase(0);
  }

 private:
  struct Spare {
    Entry* data;
    std::size_t capacity;
  };
  static constexpr uint64_t kWords = kSlots / 64;
  static constexpr double kLeast = 1e-300;

  void put_far(Entry entry) {
    const double number = static_cast<double>(entry.distance - base_) * inverse_;
    if (far_.size == 0 || number < far_first_) far_first_ = number;
    far_.push(entry);
  }

  // Moves entries within the window from the far pile to the ring. If they are a small part of a
  // large pile, buckets are too narrow for these distances and repeated moves would cost more than
  // the order saves, so the buckets are widened.
  void draw() {
    const std::size_t all = far_.size;
    deal_out();
    if (far_.size > 256 && (all - far_.size) * 16 < all) widen(lower_end(), 8 * delta_);
  }
  void deal_out() {
    const std::size_t all = far_.size;
    far_.size = 0;
    for (std::size_t i = 0; i < all; ++i) push(far_.data[i]);  // never overtakes its own reading
  }

  void renumber(Weight low, double delta) {
    gather();
    set_width(delta);
    rebase(low);
    deal_out();
  }

  // Moves all entries of the ring to the far pile.
  void gather() {
    for (uint64_t word = 0; word < kWords; ++word) {
      for (uint64_t bits = used_[word]; bits != 0; bits &= bits - 1) {
        Bucket& bucket = slots_[word * 64 + static_cast<uint64_t>(__builtin_ctzll(bits))];
        for (std::size_t i = 0; i < bucket.size; ++i) far_.push(bucket.data[i]);
        recycle(bucket);
      }
      used_[word] = 0;
    }
  }

  void set_width(double delta) {
    delta_ = delta < kLeast ? kLeast : delta;
    inverse_ = 1 / delta_;
  }

  void rebase(Weight low) {
    base_ = low;
    current_ = 0;
    end_ = static_cast<double>(kSlots);
    highest_ = 0;
    note_reach();
  }

  void note_reach() { reach_ = std::max(reach_, end_of_current()); }

  double end_of_current() const {
    return static_cast<double>(base_) + static_cast<double>(current_ + 1) * delta_;
  }

  NEARFAR_COLD void grow(Bucket& bucket, uint64_t slot) {
    used_[slot / 64] |= uint64_t{1} << (slot % 64);
    const uint64_t number = current_ + ((slot - current_) & (kSlots - 1));
    highest_ = number > highest_ ? number : highest_;
    if (bucket.capacity == 0 && spare_.size > 0) {
      const Spare& spare = spare_.data[--spare_.size];
      bucket.data = spare.data;
      bucket.capacity = spare.capacity;
      return;
    }
    bucket.reserve(bucket.capacity == 0 ? 128 : bucket.capacity + bucket.capacity / 2);
  }
  void recycle(Bucket& bucket) {
    spare_.push({bucket.data, bucket.capacity});
    bucket.data = nullptr;
    bucket.size = bucket.capacity = 0;
  }

  Weight base_ = 0;
  double delta_;
  double inverse_;
  double end_ = kSlots;  // of the ring, in bucket numbers
  uint64_t current_ = 0;
  uint64_t highest_ = 0;  // no bucket beyond it is used
  uint64_t changes_ = 0;
  double reach_ = 0;
  uint64_t used_[kWords] = {};
  Bucket slots_[kSlots];
  Buffer<Spare> spare_;  // not an array, which each small search would have to clear
  Bucket far_;
  double far_first_ = 0;  // least bucket number in the far pile, if it is not empty
};

}  // namespace nearfar
