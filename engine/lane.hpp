// A search of its own beside another one, for work that may turn out not to be wanted.
#pragma once

#include <optional>
#include <stop_token>
#include <utility>

#include "engine/search.hpp"

namespace twill {

/// A copy of a search with statistics, limits and evidence of its own: what is done with it leaves
/// no trace in the other search until join(). `whole` must outlive it.
class Lane {
 public:
  /// Ends when `whole`'s budget does, or at `stop`.
  Lane(const Search& whole, std::stop_token stop)
      : whole_(whole),
        budget_(whole.budget, std::move(stop)),
        report_(silent_, budget_),
        search_(whole.with(whole.problem, budget_, report_)) {
    search_.threads = 1;
    search_.about = whole.about;
    search_.goals = whole.goals;
    if (whole.evidence != nullptr) search_.evidence = &evidence_.emplace(whole.evidence->none());
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() = default;

  Search& search() { return search_; }
  /// Would the whole's limit on conflicts have left the work be what it was?
  bool within_limit() const {
    const std::int64_t left = whole_.budget.conflicts_left();
    return left < 0 || budget_.conflicts() < left;
  }
  /// The work is wanted: it becomes part of the whole, and what follows is done there.
  void join() {
    budget_.join();
    report_.join(whole_.report);
    search_.evidence = whole_.evidence;
    if (evidence_)
      for (Refutation& r : evidence_->release()) whole_.evidence->keep(std::move(r));
  }

 private:
  const Search& whole_;
  const ProgressCallback silent_;
  Budget budget_;
  Reporter report_;
  std::optional<Evidence> evidence_;
  Search search_;
};

}  // namespace twill
