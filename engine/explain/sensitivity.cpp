// Why bisection is right: from `cycles` to `cycles` + 1 no reservation gets shorter, no delay
// smaller, and no wait easier, and nothing else changes. With single segments from the issue a
// schedule of the longer op is therefore one of the shorter op.
#include "engine/explain/sensitivity.hpp"

#include <algorithm>
#include <cstdlib>

#include "engine/decide.hpp"
#include "engine/limits_left.hpp"
#include "engine/options.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

class Questions {
 public:
  Questions(const Problem& problem, const Schedule& schedule, const Options& options,
            const std::stop_token& stop)
      : problem_(problem), schedule_(schedule), options_(options), left_(options, stop) {
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
      slots_.push_back({Pin::on_slot, v, schedule.warp[at(v)], -1, -1});
  }

  Verdict ask(int v, Cycle cycles, Cycle ii, bool same_slots) {
    if (ii < 1) return Verdict::unsat;
    if (left_.spent()) return Verdict::unknown;
    Problem question = with_cycles(problem_, v, cycles);
    if (same_slots) question.pins.insert(question.pins.end(), slots_.begin(), slots_.end());
    const Decided decided = decide_interval(question, ii, left_.of(options_), left_.stop());
    left_.took(decided.conflicts);
    return decided.verdict;
  }

  /// The most cycles with which the schedule's I is possible.
  std::optional<Cycle> most(int v, bool same_slots, bool& decided) {
    const Cycle ii = schedule_.initiation_interval, now = problem_.ops[at(v)].cycles;
    const Cycle high = 4 * std::max(ii, now);
    const Verdict far = ask(v, high, ii, same_slots);
    if (far == Verdict::sat) return std::nullopt;
    if (far == Verdict::unknown) decided = false;
    return last_with(Verdict::sat, now, high, decided,
                     [&](Cycle cycles) { return ask(v, cycles, ii, same_slots); });
  }

  /// The fewest cycles with which no smaller I is possible.
  Cycle least(int v, bool& decided) {
    const Cycle below = schedule_.initiation_interval - 1;
    return last_with(Verdict::unsat, problem_.ops[at(v)].cycles, 0, decided,
                     [&](Cycle cycles) { return ask(v, cycles, below, false); });
  }

 private:
  /// The last number of cycles with the verdict, between `with`, which has it, and `without`, which
  /// counts as not having it. Clears `decided` where a limit ends the bisection.
  template <typename Ask>
  static Cycle last_with(Verdict verdict, Cycle with, Cycle without, bool& decided,
                         const Ask& ask) {
    while (std::abs(with - without) > 1) {
      const Cycle middle = with + (without - with) / 2;
      const Verdict found = ask(middle);
      if (found == Verdict::unknown) {
        decided = false;
        break;
      }
      (found == verdict ? with : without) = middle;
    }
    return with;
  }

  const Problem& problem_;
  const Schedule& schedule_;
  const Options& options_;
  LimitsLeft left_;
  std::vector<Pin> slots_;
};

}  // namespace

Problem with_cycles(const Problem& problem, int v, Cycle cycles) {
  Problem changed = problem;
  Op& op = changed.ops[at(v)];
  const Cycle before = op.cycles;
  const auto scaled = [&](Cycle x) { return (x * cycles + before - 1) / before; };
  for (Reservation& r : op.reservations) r.length = scaled(r.length);
  for (Edge& e : changed.edges)
    if (e.from == v) e.delay = scaled(e.delay);
  op.cycles = cycles;
  return changed;
}

std::vector<OpSensitivity> sensitivity(const Problem& problem, const Schedule& schedule,
                                       const Options& options, const std::stop_token& stop) {
  check(problem);
  std::vector<OpSensitivity> all;
  if (!monotone_from(problem)) return all;  // several segments, or inner loops
  Questions questions(problem, schedule, options, stop);
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
    if (problem.ops[at(v)].cycles == 0) continue;
    OpSensitivity range;
    range.op = v;
    range.least = questions.least(v, range.decided);
    range.most = questions.most(v, false, range.decided);
    range.most_with_slots = questions.most(v, true, range.decided);
    all.push_back(range);
  }
  return all;
}

}  // namespace twill
