#include "bench/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace twill::bench {
namespace {

constexpr std::size_t kKept = 1 << 20;
constexpr int kPollMilliseconds = 20;
constexpr double kGraceSeconds = 2, kGroupSeconds = 0.1;
constexpr int kCannotStart = 127;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// The two ends of a pipe, closed when they go.
struct Pipe {
  std::array<int, 2> end = {-1, -1};
  Pipe() {
    if (::pipe2(end.data(), O_CLOEXEC) != 0) fail("pipe");
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close(std::size_t k) {
    if (end[k] >= 0) ::close(end[k]);
    end[k] = -1;
  }
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void limit(int resource, rlim_t soft, rlim_t hard) {
  const rlimit value = {soft, hard};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &value);
}

/// Between fork and exec only calls that are async-signal-safe: this process
/// has threads.
[[noreturn]] void become(char* const* arguments, const ProcessLimits& limits, pid_t parent, int in,
                         int out, int err, int failure) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotStart);
  if (limits.cpu_seconds > 0) {
    // The parent watches the exact clock. The kernel counts ticks, which are unfair on a busy
    // machine: its limit is there for what the child itself starts.
    const auto twice = static_cast<rlim_t>(std::ceil(2 * limits.cpu_seconds));
    limit(RLIMIT_CPU, twice, twice + 2);
  }
#ifndef __SANITIZE_ADDRESS__  // whose shadow memory takes terabytes of addresses
  if (limits.memory > 0) {
    limit(RLIMIT_AS, static_cast<rlim_t>(limits.memory), static_cast<rlim_t>(limits.memory));
  }
#endif
  if (limits.file > 0)
    limit(RLIMIT_FSIZE, static_cast<rlim_t>(limits.file), static_cast<rlim_t>(limits.file));
  limit(RLIMIT_CORE, 0, 0);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  const int reason = errno;
  if (::write(failure, &reason, sizeof reason) < 0) {
    // The parent then sees the exit code alone.
  }
  ::_exit(kCannotStart);
}

/// CPU seconds of a child that has not been waited for; 0 where its clock cannot be read.
double cpu_seconds_of(pid_t child) {
  clockid_t clock;
  timespec time;
  if (::clock_getcpuclockid(child, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// CPU seconds of all in a process group and of what they waited for, in ticks of the kernel.
double cpu_seconds_of_group(pid_t group) {
  double ticks = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text, '\0');
    const std::size_t behind = text.rfind(')');  // the name before it may hold anything
    if (behind == std::string::npos) continue;
    std::istringstream words(text.substr(behind + 1));
    std::string state, skipped;
    long parent = 0, its_group = 0;
    words >> state >> parent >> its_group;
    if (its_group != group) continue;
    for (int i = 0; i < 8; ++i) words >> skipped;  // session to cmajflt
    for (int i = 0; i < 4; ++i) {
      double part = 0;  // utime, stime, cutime, cstime
      words >> part;
      ticks += part;
    }
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// Appends what is there, keeping the last `kept` bytes; closes the end at the
/// end of the file.
void drain(Pipe& pipe, std::string& text, std::size_t kept = kKept) {
  std::array<char, 1 << 16> buffer;
  const ssize_t got = ::read(pipe.end[0], buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return pipe.close(0);
  text.append(buffer.data(), static_cast<std::size_t>(got));
  if (text.size() > 2 * kept) text.erase(0, text.size() - kept);
}

/// What is in the pipe now: a process that has left the group may hold the other end, and write,
/// for ever.
void drain_rest(Pipe& pipe, std::string& text, std::size_t kept = kKept) {
  constexpr int kReads = 64;  // more than a pipe holds
  for (int i = 0; i < kReads && pipe.end[0] >= 0; ++i) {
    pollfd end = {pipe.end[0], POLLIN, 0};
    if (::poll(&end, 1, 0) <= 0) break;
    drain(pipe, text, kept);
  }
  pipe.close(0);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessLimits& limits,
                          const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) fail("/dev/null");
  Pipe out, err, failure;
  const pid_t parent = ::getpid();
  const auto begin = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) become(argv.data(), limits, parent, null, out.end[1], err.end[1], failure.end[1]);
  const int fork_error = errno;
  ::close(null);
  if (child < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  ::setpgid(child, child);  // in both processes: whichever comes first
  for (Pipe* pipe : {&out, &err, &failure}) pipe->close(1);

  ProcessResult result;
  rusage usage = {};
  int status = 0;
  double killed = -1;  // when it was asked to end
  double group_cpu = 0, group_asked = 0;
  const auto kept = limits.output > 0 ? static_cast<std::size_t>(limits.output) : kKept;
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto kill_for = [&](ProcessResult::End why) {
    result.end = why;
    killed = elapsed();
    ::kill(-child, SIGTERM);
  };
  for (;;) {
    const pid_t ended = ::wait4(child, &status, WNOHANG, &usage);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) fail("wait4");
    if (killed < 0 && stop.stop_requested()) kill_for(ProcessResult::End::stopped);
    const bool late = limits.wall_seconds > 0 && elapsed() > limits.wall_seconds;
    bool spent = limits.cpu_seconds > 0 && cpu_seconds_of(child) >= limits.cpu_seconds;
    // Reading all of /proc costs milliseconds.
    if (limits.group && limits.cpu_seconds > 0 && elapsed() > group_asked + kGroupSeconds) {
      group_cpu = std::max(group_cpu, cpu_seconds_of_group(child));
      group_asked = elapsed();
      spent = spent || group_cpu >= limits.cpu_seconds;
    }
    if (killed < 0 && (late || spent)) kill_for(ProcessResult::End::limit);
    if (limits.output > 0 && result.out.size() > kept && killed < 0)
      kill_for(ProcessResult::End::output);
    if (killed >= 0 && elapsed() > killed + kGraceSeconds) ::kill(-child, SIGKILL);
    // A closed end is -1, which poll() ignores; it returns at once when the
    // child's ends close.
    std::array<pollfd, 2> ends = {{{out.end[0], POLLIN, 0}, {err.end[0], POLLIN, 0}}};
    const bool closed = out.end[0] < 0 && err.end[0] < 0;
    ::poll(ends.data(), ends.size(), closed ? 1 : kPollMilliseconds);
    if (ends[0].revents != 0) drain(out, result.out, kept);
    if (ends[1].revents != 0) drain(err, result.err);
  }
  result.seconds = elapsed();
  ::kill(-child, SIGKILL);  // what it left behind
  drain_rest(out, result.out, kept);
  drain_rest(err, result.err);
  if (limits.output > 0 && result.out.size() > kept && killed < 0) {
    killed = result.seconds;
    result.end = ProcessResult::End::output;
  }
  int reason = 0;
  if (::read(failure.end[0], &reason, sizeof reason) == sizeof reason) {
    throw std::system_error(reason, std::generic_category(), arguments.front());
  }
  if (result.out.size() > kept) result.out.erase(0, result.out.size() - kept);
  if (result.err.size() > kKept) result.err.erase(0, result.err.size() - kKept);
  result.cpu_seconds = std::max(group_cpu, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  result.peak_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  const bool signalled = WIFSIGNALED(status);
  result.code = signalled ? WTERMSIG(status) : WEXITSTATUS(status);
  if (killed >= 0) return result;
  result.end = signalled ? ProcessResult::End::signalled : ProcessResult::End::exited;
  if (signalled && result.code == SIGXCPU) result.end = ProcessResult::End::limit;
  return result;
}

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    if (folder.empty()) continue;
    std::string file = folder + "/" + name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return {};
}

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace twill::bench
