// A large block of memory on huge pages, where the system grants them.
#pragma once

#include <cstddef>
#include <utility>

namespace nearfar {

// Large blocks are mapped on their own and ask for huge pages: rows are visited in no order, and
// with small pages nearly every visit to a graph of some size misses the processor's table of
// address translations. Memory from malloc would not do: what a program has freed before comes back
// with the small pages that it had, and asking for huge ones then changes nothing.
class HugeBlock {
 public:
  HugeBlock() = default;
  // Not initialised; throws std::bad_alloc. Begins at a multiple of 64 bytes.
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
  std::size_t bytes() const { return bytes_; }  // that it takes of memory: whole pages

 private:
  void release();

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool mapped_ = false;  // or from aligned_block
};

}  // namespace nearfar
