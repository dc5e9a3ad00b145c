// What C++ throws where Python has an error class for it. errors.cpp translates; every other
// mistake
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace nearfar {

// A file that does not follow its format: nearfar.errors.GraphFormatError with this line.
struct FormatError : std::runtime_error {
  FormatError(int64_t at, const std::string& message) : std::runtime_error(message), line(at) {}
  int64_t line;  // from 1; 0 where the format has no lines
};

// A sum that does not fit 64 bits: nearfar.errors.DistanceOverflowError.
struct DistanceOverflow : std::overflow_error {
  using std::overflow_error::overflow_error;
};

// What only the caller's own library can hold, such as numbers of other types than Python's and
// NumPy's: NotImplementedError.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace nearfar
