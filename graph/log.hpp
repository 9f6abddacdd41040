// TWILL_LOG(...): a line on stderr that tells what a search does, of everything that << can print.
// It is there in builds with the CMake option TWILL_LOG. In others nothing is compiled of it, and
// its arguments are not evaluated.
#pragma once

#if defined(TWILL_WITH_LOG)

#include <iostream>
#include <sstream>

namespace twill {

/// One string, so that the lines of several threads stay lines.
template <class... Parts>
void write_log(const Parts&... parts) {
  std::ostringstream line;
  (line << ... << parts) << '\n';
  std::cerr << line.str();
}

}  // namespace twill

#define TWILL_LOG(...) ::twill::write_log(__VA_ARGS__)

#else

namespace twill {

template <class... Parts>
void write_log(const Parts&... parts);  // never called

}  // namespace twill

#define TWILL_LOG(...)                                    \
  do {                                                    \
    if constexpr (false) ::twill::write_log(__VA_ARGS__); \
  } while (false)

#endif
