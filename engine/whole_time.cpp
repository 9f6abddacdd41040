// The smallest time of N iterations, (N - 1) I + L (rule 11), and of those the smallest I.
//
// The smallest L is not monotone in I, so from the bound up every I is a question: is there an L
// that makes it better than the best so far? One refutation answers for several I at once, where
// idle cycles can be inserted into periods (graph/bounds/whole_time.cpp): none at `last` that is
// longer by what the idle cycles of the first I would add. So ranges of I are halved until their
// last I refutes them, by arithmetic or by a formula, or until one I is left, whose shortest
// schedule is sought. What ends the ranges is that one iteration alone takes at least so long.
#include <algorithm>
#include <optional>
#include <vector>

#include "engine/search.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/bounds/whole_time.hpp"
#include "graph/index.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

class WholeTimeSearch {
 public:
  WholeTimeSearch(const Search& search, WholeTimeQuestion& question, Cycle& max_stages)
      : search_(search), question_(question), max_stages_(max_stages) {}

  WholeTimeResult run(Cycle first) {
    search_.report.phase("whole time");
    const Cycle last = question_.end() ? *question_.end() - 1
                                       : question_.apart(question_.deadline(question_.ii()));
    open_ = {{first, std::max(first, last), kNone}};
    if (first <= last && !raise_least()) return stopped();
    while (!open_.empty()) {
      const Range range = open_.back();
      if (!settle(range)) break;
    }
    return stopped();
  }

 private:
  static constexpr Cycle kNone = kMaxStart;
  /// Intervals of which a better one has not been excluded.
  struct Range {
    Cycle first, last;
    Cycle known;  ///< the length of a schedule at `last`
  };

  /// What has been found, and proved where some intervals are open.
  WholeTimeResult stopped() {
    result_.lower_bound = question_.time();
    for (const Range& range : open_)
      result_.lower_bound = std::min(
          result_.lower_bound, whole_time(question_.iterations(), range.first, question_.least()));
    return std::move(result_);
  }

  /// What one iteration alone needs is a bound on every L. Its orders, at the smallest I that they
  /// allow, are a schedule to begin with. False = stopped.
  bool raise_least() {
    const Problem alone = one_iteration(search_.problem);
    Search inner = search_.on(alone);
    inner.evidence = search_.evidence;
    inner.about = About::alone;
    const Cycle length =
        question_.time() - (question_.iterations() - 1) * question_.ii();  // of the best
    const Cycle far = question_.apart(length);
    const LengthResult shortest =
        inner.engine.shortest_within(inner, far, least_of(alone, far), length - 1, {});
    question_.raise_least(shortest.low);
    if (shortest.best && allowed(*shortest.best)) {
      Cycle ignored = kNone;
      keep(*shortest.best, ignored);
      if (const auto closer =
              tighten_within(search_, search_.problem, *shortest.best, open_.back().first, far);
          closer && !verify(search_.problem, *closer))
        keep(*closer, ignored);
    }
    return shortest.verdict != Verdict::unknown;
  }

  /// Is what was found of one iteration alone a schedule of the loop? Results that the next
  /// iteration wants may be too much, or cross slots where they must not.
  bool allowed(const Schedule& schedule) const {
    const Problem& problem = search_.problem;
    const auto crosses = [&](const Edge& e) {
      return spill_of(problem, e) > 0 && schedule.warp[at(e.from)] != schedule.warp[at(e.to)];
    };
    return !verify(problem, schedule) &&
           (search_.placement.handover || std::ranges::none_of(problem.edges, crosses));
  }

  /// Takes the topmost range: it is excluded, or its halves take its place. False = stopped.
  bool settle(const Range& range) {
    const std::optional<Cycle> end = question_.end();
    const Cycle last = end ? std::min(range.last, *end - 1) : range.last;
    const Cycle known = last == range.last ? range.known : kNone;
    if (range.first > last) return open_.pop_back(), true;
    if (range.first == last) {
      if (!settle_one(last)) return false;
      return open_.pop_back(), true;
    }
    Cycle found = known;
    if (const std::optional<Cycle> enough = question_.enough(range.first, last);
        enough && *enough < known) {
      const Verdict verdict = refute(last, *enough, found);
      if (verdict == Verdict::unknown) return false;
      if (verdict == Verdict::unsat) return open_.pop_back(), true;
    }
    const Cycle middle = range.first + (last - range.first) / 2;
    open_.back() = {middle + 1, last, found};
    open_.push_back({range.first, middle, kNone});
    return true;
  }

  /// Is there a schedule at `ii` of a length up to `deadline`? Its length goes to `found`.
  Verdict refute(Cycle ii, Cycle deadline, Cycle& found) {
    if (least_at(ii) > deadline) return Verdict::unsat;
    if (deadline >= longest_needed(search_.problem, ii, search_.stage_limit)) {  // any length
      const Answer answer = search_.engine.ask(search_, ii, max_stages_);
      if (answer.schedule) keep(earliest(search_, *answer.schedule), found);
      return answer.verdict;
    }
    const LengthResult answer = search_.engine.shortest_within(search_, ii, deadline, deadline, {});
    if (answer.best) keep(*answer.best, found);
    return answer.best ? Verdict::sat : answer.verdict;
  }

  /// The shortest schedule at `ii`, where it is better. False = stopped.
  bool settle_one(Cycle ii) {
    const Cycle low = least_at(ii);
    const Cycle longest = longest_needed(search_.problem, ii, search_.stage_limit);
    Cycle found = kNone;
    if (const Cycle most = question_.deadline(ii); most >= longest) {
      const Verdict verdict = refute(ii, most, found);
      if (verdict != Verdict::sat) return verdict == Verdict::unsat;
    }
    const Cycle high = std::min({question_.deadline(ii), found - 1, longest});
    if (high < low) return true;
    const LengthResult answer = search_.engine.shortest_within(search_, ii, low, high, {});
    if (answer.best) keep(*answer.best, found);
    return answer.verdict != Verdict::unknown;
  }

  Cycle least_at(Cycle ii) const { return least_of(search_.problem, ii); }
  /// 0 where arithmetic knows nothing.
  static Cycle least_of(const Problem& problem, Cycle ii) {
    const std::vector<Bound> bounds = length_bounds(problem, ii);
    return bounds.empty() ? 0 : bounds.front().value;
  }

  void keep(const Schedule& schedule, Cycle& found) {
    const Cycle ii = schedule.initiation_interval;
    found = std::min(found, schedule.length);
    if (schedule.length > question_.deadline(ii)) return;
    question_.set_best(whole_time(question_.iterations(), ii, schedule.length), ii);
    result_.best = schedule;
    search_.report.state().ii_high = ii;
    search_.report.state().length_high = schedule.length;
    search_.report.tell();
  }

  const Search& search_;
  WholeTimeQuestion& question_;
  Cycle& max_stages_;
  WholeTimeResult result_;
  std::vector<Range> open_;  // the smallest on top
};

}  // namespace

WholeTimeResult least_whole_time(const Search& search, WholeTimeQuestion& question, Cycle first,
                                 Cycle& max_stages) {
  return WholeTimeSearch(search, question, max_stages).run(first);
}

}  // namespace twill
