// Large blocks in a file instead of memory.
#pragma once

#include <string>

namespace nearfar {

// While an object exists, each HugeBlock that its thread makes is in an unnamed file in a folder,
// so that the system can write it out and read it again when memory is short.
class BlocksInFile {
 public:
  // Does nothing for an empty folder name.
  explicit BlocksInFile(std::string folder);
  ~BlocksInFile();
  BlocksInFile(const BlocksInFile&) = delete;
  BlocksInFile& operator=(const BlocksInFile&) = delete;

 private:
  std::string before_;
};

}  // namespace nearfar
