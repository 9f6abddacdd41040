// Limits of one solve: wall clock, conflicts, memory, and the caller's stop token.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <stop_token>

#include "graph/schedule.hpp"

namespace twill {

/// Resident memory of this process in bytes (0 where the system does not tell).
std::int64_t resident_memory();

/// What a program may reasonably take, in bytes: what it has, and three quarters of what is free
/// (MemAvailable of /proc/meminfo, less where a control group leaves less). 0 where the system does
/// not tell.
std::int64_t default_memory_limit();

class Budget {
 public:
  Budget(std::stop_token stop, double seconds, std::int64_t conflicts, std::int64_t memory)
      : stop_(std::move(stop)),
        begin_(std::chrono::steady_clock::now()),
        seconds_(seconds),
        conflict_limit_(conflicts),
        memory_limit_(memory),
        memory_before_(seconds > 0 ? resident_memory() : 0) {}

  /// Work ahead of time, which may turn out not to be wanted: what it spends is not part of `whole`
  /// until join(). Ends when `whole` is spent or `stop` is requested, or at the conflicts that
  /// `whole` has left now, and at `most` where that is not 0. `whole` must outlive it.
  Budget(Budget& whole, std::stop_token stop, std::int64_t most = 0);
  /// From now on the same as the whole, to which the conflicts so far are added.
  void join();

  /// Thrown where work must end between two answers, caught by the search.
  struct Spent {};

  /// Has a limit been reached? Sticky; cheap enough for every few hundred clauses.
  bool spent();
  /// May so many bytes more be taken? Asked before they are: where the memory limit does not allow
  /// them, the search is over ("memory limit") and the answer is false. Little is always allowed.
  bool room_for(std::int64_t bytes);
  /// The same question where the answer changes nothing.
  bool has_room(std::int64_t bytes) const;
  /// Where the memory limit has ended the search and what took it has been given back: true, and
  /// the search is not over. That so much was not begun for memory is known from now on.
  bool go_on_with_less();
  /// The bytes that were asked for when the memory limit was first met; 0 = it was not, -1 = it
  /// was, though nothing was asked for.
  std::int64_t not_begun() const { return not_begun_; }
  /// The limit on memory, in bytes; 0 = there is none.
  std::int64_t memory_limit() const {
    return whole_ != nullptr ? whole_->memory_limit() : memory_limit_;
  }
  /// Seconds to the limit of time; 0 = there is none.
  double seconds_left() const {
    if (whole_ != nullptr) return whole_->seconds_left();
    return seconds_ > 0 ? std::max(1e-9, seconds_ - elapsed()) : 0;
  }
  /// The system has refused memory: the search is over as at the memory limit.
  void out_of_memory();
  /// Does the work and says whether it came to its end, and not to that of the budget, by Spent or
  /// by memory that the system refused.
  template <class Work>
  bool complete(const Work& work) {
    try {
      work();
      return true;
    } catch (const Spent&) {
    } catch (const std::bad_alloc&) {
      out_of_memory();
    }
    return false;
  }
  /// Why: what cuts a search short, or unsaid = not spent.
  Stop reason() const;

  void count_conflict() {
    if (joined_)
      whole_->count_conflict();
    else
      ++conflicts_;
  }
  /// What is over is over a little early from now on: one part of kKeptBack of the limits on time
  /// and on conflicts is kept back, once there have been `after` conflicts.
  void keep_back(std::int64_t after) { kept_back_after_ = after; }
  /// And no longer: what has ended for that goes on, and reason() names the limit all the same;
  /// settled: not so, since all that was asked has its answer. When no thread asks this budget or
  /// one of its parts.
  void release(bool settled = false);

  std::int64_t conflicts() const { return joined_ ? whole_->conflicts() : conflicts_.load(); }
  /// Conflicts left, or -1 for no limit.
  std::int64_t conflicts_left() const;
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  const std::stop_token& stop_token() const { return stop_; }

 private:
  static constexpr std::int64_t kUnasked = 1 << 20;
  static constexpr std::int64_t kKeptBack = 16;
  void end(Stop reason);
  bool keeps_back() const;
  std::int64_t conflict_limit() const;  // with what is kept back
  /// What the process takes now, as it was at most a moment ago.
  std::int64_t size();
  /// Seconds that it will take to give back what was taken since the beginning: they belong to the
  /// time limit. At most a fifth of it.
  double giving_back();

  Budget* whole_ = nullptr;
  bool joined_ = false;
  std::stop_token stop_;
  std::chrono::steady_clock::time_point begin_;
  double seconds_;
  std::int64_t conflict_limit_, memory_limit_;
  std::int64_t memory_before_ = 0;
  std::atomic<std::int64_t> conflicts_{0};
  std::atomic<std::int64_t> kept_back_after_{-1};  // conflicts; -1 = nothing is
  std::atomic<Stop> reason_{Stop::unsaid};
  std::atomic<Stop> ended_early_{Stop::unsaid};  // by what, before it was released
  std::atomic<std::int64_t> next_look_{0}, size_{0};
  std::atomic<std::int64_t> not_begun_{0};
};

/// For sinks of clauses (ClauseSink::expect): throws Budget::Spent where the budget has no room for
/// what is about to come, by what a variable and a clause take at least in a solver.
inline void expect_within(Budget& budget, double variables, double clauses, double bytes) {
  constexpr double kVariable = 64, kClause = 32, kMost = 1e18;
  const double all = kVariable * variables + kClause * clauses + bytes;
  if (!budget.room_for(static_cast<std::int64_t>(all < kMost ? all : kMost))) throw Budget::Spent{};
}

}  // namespace twill
