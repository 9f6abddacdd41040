// A command run by the shell as a user would run it, and what it said.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/contains.hpp"
#include "tests/support/temporary_directory.hpp"

namespace twill::test {

struct Run {
  int code = -1;  ///< exit code; -1 when a signal ended it
  std::string out, err;
};

/// The whole file; "" when there is none.
inline std::string bytes(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Has it said nothing on standard error? (There a build with TWILL_LOG tells what a search does.)
inline bool is_silent([[maybe_unused]] const Run& run) {
#ifdef TWILL_WITH_LOG
  return true;
#else
  return run.err.empty();
#endif
}

inline Run run_command(const std::string& command) {
  const TemporaryDirectory folder;
  Run run;
  FILE* pipe = ::popen((command + " 2>'" + (folder / "err") + "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    run.out.append(buffer, got);
  const int status = ::pclose(pipe);
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.err = bytes(folder / "err");
  return run;
}

#ifdef TWILL_PROGRAM
/// Runs `twill ARGUMENTS`.
inline Run run_twill(const std::string& arguments) {
  return run_command(std::string("'") + TWILL_PROGRAM + "' " + arguments);
}
#endif

}  // namespace twill::test
