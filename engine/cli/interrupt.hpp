// SIGINT, SIGTERM and SIGHUP as a stop token.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace twill::cli {

/// While one exists, the first SIGINT, SIGTERM or SIGHUP (a terminal that closes; not where it is
/// ignored, as under nohup) requests a stop; one that comes more than a second later ends the
/// program at once (`timeout` sends two together). The handler only writes to a
/// pipe, which is async-signal-safe; a thread reads it. At most one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  int pipe_[2] = {-1, -1};
  struct sigaction previous_int_ = {};
  struct sigaction previous_term_ = {};
  struct sigaction previous_hup_ = {};
  std::stop_source source_;
  std::thread reader_;
};

}  // namespace twill::cli
