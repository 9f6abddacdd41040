#include "engine/cli/progress.hpp"

#include <unistd.h>

#include <iostream>

#include "engine/cli/terminal.hpp"
#include "engine/output/style.hpp"

namespace twill::cli {
namespace {

/// "I 2064", "I 2000..2064", "I >= 2000".
std::string window(const char* name, Cycle low, Cycle high) {
  if (low <= 0 && high <= 0) return {};
  std::string text = std::string("  ") + name + " ";
  if (high <= 0) return text + ">= " + std::to_string(low);
  if (low <= 0) return text + "<= " + std::to_string(high);
  return low == high ? text + std::to_string(high)
                     : text + std::to_string(low) + ".." + std::to_string(high);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : enabled_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::update(const Progress& progress) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  std::string line = progress.layout.empty() ? "" : "layout " + printable(progress.layout) + "  ";
  line += progress.phase;
  line += window("I", progress.ii_low, progress.ii_high);
  line += window("L", progress.length_low, progress.length_high);
  if (progress.clauses > 0) line += "  " + std::to_string(progress.clauses) + " clauses";
  if (progress.conflicts > 0) line += "  " + std::to_string(progress.conflicts) + " conflicts";
  line += "  " + decimal(progress.seconds, 1) + " s";
  const auto room = static_cast<std::size_t>(terminal_width(STDERR_FILENO, 80) - 1);
  if (display_width(line) > room) line = fit(line, room, false);
  std::cerr << "\r\x1b[K" << line << std::flush;
}

void ProgressLine::clear() {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace twill::cli
