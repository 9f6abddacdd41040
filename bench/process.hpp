// A child process with limits, measured.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace twill::bench {

struct ProcessLimits {
  double cpu_seconds = 0;   ///< of the child itself; what it starts has twice as much; 0 = none
  double wall_seconds = 0;  ///< 0 = none
  std::int64_t memory = 0;  ///< bytes of address space; 0 = none
  bool group = false;       ///< `cpu_seconds` is of the child and all in its process group
  std::int64_t output = 0;  ///< bytes of standard output, kept whole; more end the child; 0 = none
  std::int64_t file = 0;    ///< bytes of a file that it writes; 0 = none
};

struct ProcessResult {
  enum class End {
    exited,     ///< `code` is its exit code
    signalled,  ///< `code` is the signal's number
    limit,      ///< ended because of a limit of time
    output,     ///< ended because it printed more than the limit
    stopped,    ///< ended because the stop token asked
  };
  End end = End::exited;
  int code = 0;
  double seconds = 0;      ///< wall clock, from the start to the end
  double cpu_seconds = 0;  ///< user and system, with those of its own children that it waited for
  std::int64_t peak_bytes = 0;  ///< largest resident set
  std::string out, err;         ///< the last MiB of each; `out` whole with a limit of output
};

/// Runs `arguments` (the first is the path of the program) and waits for its
/// end. The child has a process group of its own, which is told to end
/// (SIGTERM, two seconds later SIGKILL) at a limit and on `stop`;
/// what the child leaves behind in its group is killed, and so is the child when
/// this thread ends; what has left the group is not waited for. Its standard input is empty. Throws
/// std::system_error when it cannot be started. (A child's peak counts from the memory of this
/// process at the time of the fork, so keep this process small.)
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessLimits& limits,
                          const std::stop_token& stop);

/// The path of an executable file of this name in a directory of PATH, "" when
/// there is none.
std::string find_program(const std::string& name);

/// The path of the running program.
std::string this_program();

}  // namespace twill::bench
