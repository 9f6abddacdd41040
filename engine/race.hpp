// Attempts of a search run ahead of time on other threads, with the answer of running them one by
// one.
//
// How long an attempt takes varies by orders of magnitude with its seed (Gomes, Selman and Kautz,
// AAAI 1998), so a search makes a sequence of them: what each one is follows from the outcomes of
// those before, and most decide nothing. A race begins the attempts that would follow if the ones
// before decide nothing. Its outcomes are taken in the sequence's order, and what a decision has
// made pointless is stopped and forgotten: time depends on the threads, the answer does not.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/lane.hpp"
#include "graph/threads.hpp"

namespace twill {

/// `Plan`: all that an attempt depends on besides the problem, with ==. `Outcome`: what it found.
template <class Plan, class Outcome>
class Race {
 public:
  /// Does what the plan says, by the search of a lane; run on any thread. It should end soon once
  /// that search's budget is spent, and it may not throw Budget::Spent.
  using Attempt = std::function<Outcome(const Plan&, Search&)>;

  /// `search.threads` lanes at most. `search` must outlive the race.
  Race(const Search& search, Attempt attempt)
      : search_(search), attempt_(std::move(attempt)), threads_(threads_for(search.threads)) {}
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;
  ~Race() {
    for (const std::shared_ptr<Run>& run : ahead_) abandon(*run);
    if (!workers_) return;
    workers_->arena.execute([this] {  // what never began would never be freed
      workers_->tasks.cancel();
      workers_->tasks.wait();
    });
  }

  /// How many attempts beyond the one that is taken are worth telling.
  std::size_t lanes_ahead() const { return static_cast<std::size_t>(threads_) - 1; }

  /// The outcome of `plan`, found ahead of time or now, with the lane that it was found on, which
  /// has joined the search. `next`: the plans that follow if it decides nothing; the first
  /// lanes_ahead() of them are begun. Whatever else was begun is stopped.
  struct Taken {
    std::shared_ptr<Lane> lane;
    Outcome outcome;
  };
  Taken take(const Plan& plan, std::span<const Plan> next) {
    std::shared_ptr<Run> run = begun(plan);
    keep_only(next);
    // Most searches on real loops are decided by their first attempt or two, in less time than
    // others take to begin.
    const std::size_t ahead = taken_++ < kAlone ? 0 : std::min(next.size(), lanes_ahead());
    for (const Plan& later : next.first(ahead))
      if (!among_ahead(later)) begin(later);
    if (run == nullptr) run = std::make_shared<Run>(search_, plan);
    if (run->claimed.exchange(true)) {
      run->done.wait(false);
      rethrow(*run);
      if (run->lane->within_limit()) {
        run->lane->join();
        return {std::move(run->lane), *std::move(run->outcome)};
      }
      run = std::make_shared<Run>(search_, plan);  // it began when more conflicts were left
    }
    run->lane->join();
    work(*run);
    rethrow(*run);
    return {std::move(run->lane), *std::move(run->outcome)};
  }

 private:
  struct Run {
    Run(const Search& search, const Plan& what)
        : plan(what), lane(std::make_shared<Lane>(search, stop.get_token())) {}
    Plan plan;
    std::stop_source stop;
    std::shared_ptr<Lane> lane;
    std::optional<Outcome> outcome;
    std::exception_ptr error;
    std::atomic<bool> claimed{false}, done{false};
  };

  struct Workers {
    explicit Workers(int threads) : arena(threads) {}
    oneapi::tbb::task_arena arena;
    oneapi::tbb::task_group tasks;
  };

  void work(Run& run) const {
    try {
      run.outcome.emplace(attempt_(run.plan, run.lane->search()));
    } catch (...) {
      run.error = std::current_exception();
    }
    run.done = true;
    run.done.notify_all();
  }
  static void rethrow(const Run& run) {
    if (run.error) std::rethrow_exception(run.error);
  }

  void begin(const Plan& plan) {
    auto run = std::make_shared<Run>(search_, plan);
    ahead_.push_back(run);
    if (!workers_) workers_.emplace(threads_);
    workers_->arena.execute([&] {
      workers_->tasks.run([this, run] {
        if (!run->claimed.exchange(true)) work(*run);
      });
    });
  }
  // Stops a run and waits until nothing of it is left; one that has not begun never will.
  static void abandon(Run& run) {
    run.stop.request_stop();
    if (run.claimed.exchange(true)) run.done.wait(false);
  }

  std::shared_ptr<Run> begun(const Plan& plan) {
    for (auto it = ahead_.begin(); it != ahead_.end(); ++it) {
      if (!((*it)->plan == plan)) continue;
      std::shared_ptr<Run> run = std::move(*it);
      ahead_.erase(it);
      return run;
    }
    return nullptr;
  }
  bool among_ahead(const Plan& plan) const {
    return std::any_of(ahead_.begin(), ahead_.end(),
                       [&](const std::shared_ptr<Run>& run) { return run->plan == plan; });
  }
  void keep_only(std::span<const Plan> wanted) {
    std::erase_if(ahead_, [&](const std::shared_ptr<Run>& run) {
      if (std::find(wanted.begin(), wanted.end(), run->plan) != wanted.end()) return false;
      abandon(*run);
      return true;
    });
  }

  static constexpr int kAlone = 1;

  const Search& search_;
  const Attempt attempt_;
  int taken_ = 0;
  const int threads_;
  std::optional<Workers> workers_;  // once something is begun ahead of time
  std::vector<std::shared_ptr<Run>> ahead_;
};

}  // namespace twill
