// The progress line: on standard error, only on a terminal, at most ten times a second.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "engine/include/twill.hpp"

namespace twill::cli {

class ProgressLine {
 public:
  /// Draws nothing when `quiet` or when standard error is no terminal.
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }

  /// May be called from any thread.
  void update(const Progress& progress);
  /// Takes the line away, so that other lines can be printed.
  void clear();

 private:
  bool enabled_;
  bool drawn_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace twill::cli
