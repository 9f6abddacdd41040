// Limits of one solve: wall clock, conflicts, memory, and the caller's stop token.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

namespace twill {

/// Resident memory of this process in bytes (0 where the system does not tell).
std::int64_t resident_memory();

class Budget {
 public:
  Budget(std::stop_token stop, double seconds, std::int64_t conflicts, std::int64_t memory)
      : stop_(std::move(stop)),
        begin_(std::chrono::steady_clock::now()),
        seconds_(seconds),
        conflict_limit_(conflicts),
        memory_limit_(memory) {}

  /// Work ahead of time, which may turn out not to be wanted: what it spends is not part of `whole`
  /// until join(). Ends when `whole` is spent or `stop` is requested, or at the conflicts that
  /// `whole` has left now. `whole` must outlive it.
  Budget(Budget& whole, std::stop_token stop);
  /// From now on the same as the whole, to which the conflicts so far are added.
  void join();

  /// Thrown where work must end between two answers, caught by the search.
  struct Spent {};

  /// Has a limit been reached? Sticky; cheap enough for every few hundred clauses.
  bool spent();
  /// Why, for the user: "time limit", "conflict limit", "memory limit", "stopped"; "" = not spent.
  std::string reason() const;

  void count_conflict() {
    if (joined_)
      whole_->count_conflict();
    else
      ++conflicts_;
  }
  std::int64_t conflicts() const { return joined_ ? whole_->conflicts() : conflicts_.load(); }
  /// Conflicts left, or -1 for no limit.
  std::int64_t conflicts_left() const;
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  const std::stop_token& stop_token() const { return stop_; }

 private:
  Budget* whole_ = nullptr;
  bool joined_ = false;
  std::stop_token stop_;
  std::chrono::steady_clock::time_point begin_;
  double seconds_;
  std::int64_t conflict_limit_, memory_limit_;
  std::atomic<std::int64_t> conflicts_{0};
  std::atomic<const char*> reason_{nullptr};
  std::atomic<unsigned> polls_{0};
};

}  // namespace twill
