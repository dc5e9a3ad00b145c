// HugeBlock: a mapping that begins and ends between huge pages.
#include "cpu/huge_block.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nearfar {
namespace {

constexpr std::size_t kHuge = std::size_t{1} << 21;

std::size_t rounded(std::size_t bytes, std::size_t to) {
  if (bytes > SIZE_MAX - 2 * to) throw std::bad_alloc();
  return (bytes + to - 1) / to * to;
}

}  // namespace

HugeBlock::HugeBlock(std::size_t bytes) {
#if defined(__linux__)
  if (bytes >= 2 * kHuge) {
    const std::size_t wanted = rounded(bytes, kHuge);
    void* found =
        ::mmap(nullptr, wanted + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
    // The system maps at small pages: what lies before and behind the huge ones goes back.
    auto* first = static_cast<std::byte*>(found);
    const std::size_t before = (kHuge - reinterpret_cast<std::uintptr_t>(first) % kHuge) % kHuge;
    if (before != 0) ::munmap(first, before);
    if (before != kHuge) ::munmap(first + before + wanted, kHuge - before);
    data_ = first + before;
    mapped_ = wanted;
    ::madvise(data_, mapped_, MADV_HUGEPAGE);
    return;
  }
#endif
  data_ = static_cast<std::byte*>(std::aligned_alloc(64, rounded(bytes | 1, 64)));
  if (data_ == nullptr) throw std::bad_alloc();
}

void HugeBlock::release() {
#if defined(__linux__)
  if (mapped_ != 0) {
    ::munmap(data_, mapped_);
    return;
  }
#endif
  std::free(data_);
}

}  // namespace nearfar
