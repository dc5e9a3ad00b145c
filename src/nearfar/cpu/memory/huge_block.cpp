// HugeBlock: an anonymous mapping aligned to huge pages, or a mapping of a file.
#include "cpu/memory/huge_block.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <system_error>
#include <utility>
#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "cpu/memory/aligned.hpp"
#include "cpu/memory/blocks_in_file.hpp"

namespace nearfar {
namespace {

constexpr std::size_t kHuge = std::size_t{1} << 21;

std::size_t rounded(std::size_t bytes, std::size_t to) {
  if (bytes > SIZE_MAX - 2 * to) throw std::bad_alloc();
  return (bytes + to - 1) / to * to;
}

thread_local std::string in_folder;

#if defined(__linux__)
// Reserves disk space now: writing to a mapping on a full disk would kill the process.
std::byte* map_file(const std::string& folder, std::size_t bytes) {
  std::string name = folder + "/.nearfar-XXXXXX";  // mkstemp replaces the Xs
  const int file = ::mkstemp(name.data());
  if (file < 0) throw std::system_error(errno, std::generic_category(), folder);
  ::unlink(name.c_str());  // the file disappears with the process
  int failed = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* found = MAP_FAILED;
  if (failed == 0) {
    found = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (found == MAP_FAILED) failed = errno;
  }
  ::close(file);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), folder);
  // Rows are read in random order: the system's read-ahead would read the file many times over.
  ::madvise(found, bytes, MADV_RANDOM);
  return static_cast<std::byte*>(found);
}
#endif

}  // namespace

BlocksInFile::BlocksInFile(std::string folder) : before_(std::exchange(in_folder, folder)) {}
BlocksInFile::~BlocksInFile() {
  in_folder = before_;
}

HugeBlock::HugeBlock(std::size_t bytes) {
#if defined(__linux__)
  if (bytes >= 2 * kHuge && !in_folder.empty()) {
    data_ = map_file(in_folder, bytes);
    bytes_ = bytes;
    mapped_ = true;
    return;
  }
  if (bytes >= 2 * kHuge) {
    const std::size_t wanted = rounded(bytes, kHuge);
    void* found =
        ::mmap(nullptr, wanted + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
    // The system aligns mappings to small pages: unmap what is before and after the huge pages.
    auto* first = static_cast<std::byte*>(found);
    const std::size_t before = (kHuge - reinterpret_cast<std::uintptr_t>(first) % kHuge) % kHuge;
    if (before != 0) ::munmap(first, before);
    ::munmap(first + before + wanted, kHuge - before);
    data_ = first + before;
    bytes_ = wanted;
    mapped_ = true;
    ::madvise(data_, bytes_, MADV_HUGEPAGE);
    return;
  }
#else
  if (bytes >= 2 * kHuge && !in_folder.empty())
    throw std::system_error(ENOTSUP, std::generic_category(), in_folder);
#endif
  bytes_ = rounded(bytes | 1, 64);
  data_ = static_cast<std::byte*>(aligned_block(bytes_));
}

void HugeBlock::release() {
#if defined(__linux__)
  if (mapped_) {
    ::munmap(data_, bytes_);
    return;
  }
#endif
  AlignedDelete<>()(data_);
}

}  // namespace nearfar
