// Large blocks in a file instead of memory.
#pragma once

#include <string>

namespace nearfar {

// While one lives, a HugeBlock that its thread makes lies in a file without a name in a folder, so
// that the system can write it out and read it again when memory is short.
class BlocksInFile {
 public:
  // An empty folder changes nothing.
  explicit BlocksInFile(std::string folder);
  ~BlocksInFile();
  BlocksInFile(const BlocksInFile&) = delete;
  BlocksInFile& operator=(const BlocksInFile&) = delete;

 private:
  std::string before_;
};

}  // namespace nearfar
