// What is left of the limits of a task that is solved in parts, one after the other.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

#include "engine/include/twill.hpp"

namespace twill {

class LimitsLeft {
 public:
  /// The limits of `whole` begin to run now.
  LimitsLeft(const Options& whole, std::stop_token stop)
      : seconds_(whole.time_limit),
        conflicts_(whole.conflict_limit),
        stop_(std::move(stop)),
        begin_(std::chrono::steady_clock::now()) {}

  /// Conflicts of a part that is done. (Seconds pass by themselves.)
  void took(std::int64_t conflicts) { spent_ += conflicts; }
  /// The next parts have the conflicts of the whole again, but not its time.
  void renew() { spent_ = 0; }

  bool spent() const { return out_of_time() || (conflicts_ > 0 && spent_ >= conflicts_); }
  /// Options for the next part. Where nothing is left, a limit so small that the part ends at once
  /// and says which: 0 would be none.
  Options of(Options part) const {
    part = timed(std::move(part));
    if (conflicts_ > 0) {
      const std::int64_t left = std::max<std::int64_t>(1, conflicts_ - spent_);
      part.conflict_limit = part.conflict_limit > 0 ? std::min(part.conflict_limit, left) : left;
    }
    return part;
  }
  /// Options for a part that has conflicts of its own, and the time of the whole.
  Options timed(Options part) const {
    if (seconds_ > 0) part.time_limit = std::max(1e-6, seconds_ - elapsed());
    return part;
  }
  bool out_of_time() const {
    return stop_.stop_requested() || (seconds_ > 0 && elapsed() >= seconds_);
  }
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  const std::stop_token& stop() const { return stop_; }

 private:
  double seconds_;
  std::int64_t conflicts_;
  std::int64_t spent_ = 0;
  std::stop_token stop_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace twill
