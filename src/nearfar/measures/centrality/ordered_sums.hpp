// Sums over many sources that are the same on any number of threads.
//
// Sources are divided into blocks whose size depends only on the number of sources. A worker sums a
// whole block in its own memory, and blocks are added to the total in their order: a block that is
// finished early waits. So all additions happen in the same order on any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace nearfar::measures {

// Sources per block: enough blocks for many cores, few enough that summing them costs little.
inline int64_t block_size(std::size_t sources) {
  return std::clamp<int64_t>(static_cast<int64_t>(sources) / 128, 1, 256);
}

template <class Number>
class OrderedSums {
 public:
  OrderedSums(Number* total, std::size_t size) : total_(total), size_(size) {}

  // Returns zeroed memory for the sum of a block.
  std::vector<Number> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        std::vector<Number> found = std::move(spare_.back());
        spare_.pop_back();
        return found;
      }
    }
    return std::vector<Number>(size_);
  }

  // Reports block `number` as finished; called once per block.
  void give(int64_t number, std::vector<Number>&& sums) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(number, std::move(sums));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
         first = waiting_.begin()) {
      std::vector<Number>& block = first->second;
      for (std::size_t i = 0; i < size_; ++i) total_[i] += block[i];
      std::fill(block.begin(), block.end(), Number{0});
      spare_.push_back(std::move(block));
      waiting_.erase(first);
      ++next_;
    }
  }

 private:
  Number* const total_;
  const std::size_t size_;
  std::mutex mutex_;
  int64_t next_ = 0;
  std::map<int64_t, std::vector<Number>> waiting_;
  std::vector<std::vector<Number>> spare_;
};

}  // namespace nearfar::measures
