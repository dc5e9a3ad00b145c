// A large block of memory on huge pages, where the system grants them.
#pragma once

#include <cstddef>
#include <utility>

namespace nearfar {

// Large blocks are separate mappings that request huge pages. Rows are read in random order, and
// with small pages nearly every access to a large graph misses the TLB. Memory from malloc does not
// serve: blocks that the program freed before keep their small pages, and requesting huge ones has
// no effect.
class HugeBlock {
 public:
  HugeBlock() = default;
  // Not initialised; throws std::bad_alloc. Aligned to 64 bytes.
  explicit HugeBlock(std::size_t bytes);
  ~HugeBlock() { release(); }
  HugeBlock(HugeBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        mapped_(std::exchange(other.mapped_, false)) {}
  HugeBlock& operator=(HugeBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }  // memory taken, in full pages

 private:
  void release();

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool mapped_ = false;  // otherwise from aligned_block
};

}  // namespace nearfar
