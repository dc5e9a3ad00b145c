// Parses a double like std::from_chars, for libraries without that overload: libc++ before 20.
#pragma once

#include <charconv>
#include <string>
#include <system_error>

#if (!defined(__cpp_lib_to_chars) && !(defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 200000)) || \
    defined(NEARFAR_WITHOUT_FLOAT_FROM_CHARS)  // a test uses the fallback
#define NEARFAR_FLOAT_BY_STRTOD
#include <locale.h>

#include <cerrno>
#include <cstdlib>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace nearfar::text {

#if !defined(NEARFAR_FLOAT_BY_STRTOD)

inline std::from_chars_result float_from_chars(const char* first, const char* last, double& value) {
  return std::from_chars(first, last, value);
}

#else

// strtod in the locale "C", independent of the process's locale.
inline double strtod_of_c(const char* text, char** stop) {
#if defined(_WIN32)
  static const _locale_t c = _create_locale(LC_ALL, "C");
  return _strtod_l(text, stop, c);
#else
  static const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(text, stop, c);
#endif
}

// strtod also accepts blanks, a plus and hexadecimal digits, and needs a terminating NUL: it gets a
// copy of the characters that from_chars would read.
inline std::from_chars_result float_from_chars(const char* first, const char* last, double& value) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const char* start = first != last && *first == '-' ? first + 1 : first;
  const char* end = start;
  if (end != last && is_letter(*end)) {  // inf, infinity, nan
    while (end != last && is_letter(*end)) ++end;
  } else {
    while (end != last && is_digit(*end)) ++end;
    if (end != last && *end == '.') ++end;
    while (end != last && is_digit(*end)) ++end;
    if (end != last && (*end == 'e' || *end == 'E')) {
      ++end;
      if (end != last && (*end == '+' || *end == '-')) ++end;
      while (end != last && is_digit(*end)) ++end;
    }
  }
  if (end == start) return {first, std::errc::invalid_argument};
  const std::string copy(first, end);
  char* stop = nullptr;
  const int before = errno;
  errno = 0;
  const double read = strtod_of_c(copy.c_str(), &stop);
  const bool no_range = errno == ERANGE;
  errno = before;
  if (stop == copy.c_str()) return {first, std::errc::invalid_argument};
  const char* const behind = first + (stop - copy.c_str());
  // A denormal result may be reported as an underflow but is a valid number.
  if (no_range && (read == 0 || read - read != 0)) return {behind, std::errc::result_out_of_range};
  value = read;
  return {behind, std::errc()};
}

#endif

}  // namespace nearfar::text
