// C++ exceptions that have an error class in Python; errors.cpp translates them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace nearfar {

// A file that violates its format: nearfar.errors.GraphFormatError with this line.
struct FormatError : std::runtime_error {
  FormatError(int64_t at, const std::string& message) : std::runtime_error(message), line(at) {}
  int64_t line;  // from 1; 0 for a format without lines
};

// A sum that overflows 64 bits: nearfar.errors.DistanceOverflowError.
struct DistanceOverflow : std::overflow_error {
  using std::overflow_error::overflow_error;
};

// Input that only the caller's own library can represent, such as numbers of types other than those
// of Python and NumPy: NotImplementedError.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace nearfar
