// Allocation behind Buffer.
#include "cpu/memory/buffer.hpp"

namespace nearfar {

void* grow_block(void* block, std::size_t bytes) {
  void* grown = std::realloc(block, bytes);
  if (grown == nullptr) throw std::bad_alloc();
  return grown;
}

}  // namespace nearfar
