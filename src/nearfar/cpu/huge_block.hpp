// A large block of memory on huge pages, where the system grants them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace nearfar {

// Large blocks ask for huge pages: rows are visited in no order, and with small pages nearly every
// visit to a graph of some size misses the processor's table of address translations.
class HugeBlock {
 public:
  HugeBlock() = default;
  explicit HugeBlock(std::size_t bytes);
  std::byte* data() const { return block_.get(); }

 private:
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  std::unique_ptr<std::byte[], Free> block_;
};

}  // namespace nearfar
