// A growable array of trivial records, without initialisation.
#pragma once

#include <cstdlib>
#include <new>
#include <utility>

#include "cpu/search/arithmetic.hpp"

namespace nearfar {

// Grows a malloc'ed block; out of line to keep hot loops small.
void* grow_block(void* block, std::size_t bytes);

template <class Record>
struct Buffer {
  Record* data = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  NEARFAR_INLINE ~Buffer() {
    if (data != nullptr) std::free(data);  // most of a ring's buffers are never used
  }

  NEARFAR_INLINE void push(Record record) {
    if (size == capacity) [[unlikely]]
      reserve(capacity == 0 ? 256 : capacity + capacity / 2);
    data[size++] = record;
  }
  NEARFAR_INLINE void reserve(std::size_t wanted) {
    if (wanted <= capacity) return;
    data = static_cast<Record*>(grow_block(data, wanted * sizeof(Record)));
    capacity = wanted;
  }
  NEARFAR_INLINE void swap(Buffer& other) {
    std::swap(data, other.data);
    std::swap(size, other.size);
    std::swap(capacity, other.capacity);
  }
};

}  // namespace nearfar
