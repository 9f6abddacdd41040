#include "engine/cli/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>

namespace twill::cli {
namespace {

std::atomic<int> pipe_to_write{-1};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr char kSignal = 's';
constexpr char kEnd = 'e';

void on_signal(int) {
  const int saved = errno;
  const int end = pipe_to_write.load();
  if (end >= 0 && ::write(end, &kSignal, 1) < 0) {
    // The pipe is full: a stop is on its way already.
  }
  errno = saved;
}

}  // namespace

Interrupt::Interrupt() {
  if (::pipe2(pipe_, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  pipe_to_write.store(pipe_[1]);
  reader_ = std::thread([this] {
    char byte = 0;
    std::optional<std::chrono::steady_clock::time_point> first;
    for (;;) {
      const ssize_t got = ::read(pipe_[0], &byte, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got == 1 && byte == kSignal) {
        const auto now = std::chrono::steady_clock::now();
        if (!first) {
          first = now;
          source_.request_stop();
        } else if (now - *first > std::chrono::seconds(1)) {
          ::signal(SIGTERM, SIG_DFL);
          ::raise(SIGTERM);
        }
        continue;
      }
      return;
    }
  });
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &previous_int_);
  ::sigaction(SIGTERM, &action, &previous_term_);
  ::sigaction(SIGHUP, &action, &previous_hup_);
  if (previous_hup_.sa_handler == SIG_IGN) ::sigaction(SIGHUP, &previous_hup_, nullptr);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &previous_int_, nullptr);
  ::sigaction(SIGTERM, &previous_term_, nullptr);
  ::sigaction(SIGHUP, &previous_hup_, nullptr);
  pipe_to_write.store(-1);
  while (::write(pipe_[1], &kEnd, 1) < 0 && errno == EINTR) {
  }
  reader_.join();
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

}  // namespace twill::cli
