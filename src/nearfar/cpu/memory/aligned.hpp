// Uninitialised blocks of memory aligned to a given multiple.
//
// Uses operator new, which every library has; MSVC's has neither aligned_alloc nor posix_memalign.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace nearfar {

constexpr std::size_t kCacheLine = 64;

template <std::size_t kAlignment = kCacheLine>
struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete(memory, std::align_val_t{kAlignment}); }
};

// Throws std::bad_alloc.
template <std::size_t kAlignment = kCacheLine>
void* aligned_block(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t{kAlignment});
}

}  // namespace nearfar
