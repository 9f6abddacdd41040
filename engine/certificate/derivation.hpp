// What arithmetic and refutations prove of one problem: the sentences of a certificate about
// intervals and lengths.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/certificate/evidence.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/whole_time.hpp"
#include "graph/schedule.hpp"

namespace twill {

struct Claim {
  std::string says;     ///< "no schedule has I < 2436"
  std::string because;  ///< the arithmetic, or the refutation and why it is enough
  bool operator==(const Claim&) const = default;
};

/// An arithmetic bound that a claim rests on, for whoever computes it again (counting.hpp). No
/// schedule of the problem with these counts has I < value. Where `ii` is given, it is another
/// sentence: at that I none has L < value.
struct BoundUse {
  std::optional<Cycle> ii;
  Cycle value = 1;
  RegisterCounts counts = {};  ///< problem_at(); empty = the problem as it is
  bool channels = true;        ///< false = the bound holds without rule 9
};

/// Why no schedule is better than N iterations in `time` cycles at `ii`, for whoever follows it
/// again (counting.hpp): fewer cycles, or as many at a smaller I (ii = 0: only fewer). None has I <
/// low.
struct TimeUse {
  struct Step {
    Cycle first = 1, last = 1;      ///< of these I none is better,
    Cycle at = 1;                   ///< because at this one none ...
    std::optional<Cycle> deadline;  ///< ... has a length of at most this, or any
    bool operator==(const Step&) const = default;
  };
  static constexpr Cycle kForever = kMaxStart;  ///< last: all that are larger
  Cycle iterations = 1, time = 0, ii = 0, low = 1;
  Cycle least = 0;        ///< no schedule has a smaller L,
  Cycle least_at = 0;     ///< by a refutation of one iteration alone at this I; 0 = by arithmetic
  Cycle stage_limit = 0;  ///< Asked::stage_limit
  std::vector<Step> steps;
  RegisterCounts counts = {};  ///< as BoundUse
};

/// What a solution was asked for, from its stages and options.
struct Asked {
  Cycle stage_limit = 0;    ///< 0 = all
  std::optional<Cycle> ii;  ///< only this one
  /// Only a schedule better than this I and L; L = 0: only one of a smaller I.
  std::optional<std::pair<Cycle, Cycle>> better_than;
  bool handover = true;
  bool registers = false;   ///< the register split was a choice
  std::string unreadable;   ///< the option that cannot be read, or ""
  std::string restriction;  ///< restriction_of(): stands in every claim
};
Asked asked_of(const Solution& solution);

/// The option of a schedule file that says of what a better schedule was sought, and its value.
inline constexpr const char* kBetterOption = "better than";
std::string better_than_text(const std::pair<Cycle, Cycle>& than);

/// What in the solution's schedule was not asked for: more stages than the limit, another I, a slot
/// that a pin excludes, a hand-over; "" = nothing.
std::string beyond_asked(const Problem& problem, const Asked& asked, const Schedule& schedule);

/// A refutation that may be used in a derivation. The problem that it is about (or whose serial
/// problem) has every schedule of the one that is derived for.
struct UsableRefutation {
  const Refutation* refutation = nullptr;
  const Problem* problem = nullptr;
  std::size_t number = 0;  ///< in the certificate
  std::string name;
};

/// Takes refutations for granted (they are checked one by one) and everything else not: bounds are
/// recomputed, and of every refutation it is asked whether its formula covers all schedules that
/// were asked for: all stages, no rotation under a limit, no more pins.
class Derivation {
 public:
  /// Keeps references to `problem` and `asked`. `bound`: the first of lower_bounds(problem), where
  /// it is known.
  Derivation(const Problem& problem, const Asked& asked, std::vector<UsableRefutation> refutations,
             std::optional<Bound> bound = std::nullopt)
      : problem_(&problem),
        asked_(&asked),
        refutations_(std::move(refutations)),
        bound_(std::move(bound)) {}

  // Each adds what it derives to claims() and says whether it is all; if not, unproved() says what
  // is missing.

  /// No schedule has an interval below `claimed`.
  bool interval(Cycle claimed);
  /// At `ii` no schedule has a length below `claimed`.
  bool length(Cycle ii, Cycle claimed);
  /// No schedule has a smaller I than `than`, nor the same and a smaller length.
  bool none_better(const std::pair<Cycle, Cycle>& than);
  /// A goal limited in `limits` is refuted at an I and L.
  bool within(const GoalLimits& limits, Cycle ii, Cycle length, const std::string& says);
  /// No schedule is better than N iterations in `time` cycles at `ii`, 0 = in that time at all;
  /// that none has an interval below `low` is derived.
  bool whole_time(Cycle iterations, Cycle time, Cycle ii, Cycle low);
  /// No schedule exists, at any interval or at the one asked for.
  bool none();
  bool none_in_range();

  /// Adds a claim, about the schedules that were searched.
  void say(const std::string& says, const std::string& because);
  /// Takes over what another derivation, of the problem with `counts`, has claimed: each claim
  /// begins with `with`.
  void take(const Derivation& other, const std::string& with, const RegisterCounts& counts);
  /// Notes what is not proved; the first such note stays. Returns false.
  bool unproved(const std::string& what);

  const std::vector<Claim>& claims() const { return claims_; }
  const std::vector<BoundUse>& bounds() const { return bounds_; }
  const std::vector<TimeUse>& times() const { return times_; }
  /// Numbers of the refutations that the claims rest on. A refutation that is among them already is
  /// preferred to another.
  const std::vector<std::size_t>& needed() const { return needed_; }
  void prefer(std::vector<std::size_t> needed) { needed_ = std::move(needed); }
  const std::string& unproved() const { return unproved_; }

 private:
  const Bound& bound();
  void say_bound();
  std::optional<std::size_t> refuted(Cycle ii, bool or_above) const;
  bool one_by_one(Cycle first, Cycle end);
  void least_time(WholeTimeQuestion& question, TimeUse& use);
  bool time_step(const WholeTimeQuestion& question, Cycle first, TimeUse& use);
  std::string step_text(const TimeUse::Step& step) const;
  std::string use(std::size_t i);
  bool is_needed(std::size_t i) const;

  const Problem* problem_;
  const Asked* asked_;
  std::vector<UsableRefutation> refutations_;
  std::optional<Bound> bound_;
  std::vector<Claim> claims_;
  std::vector<BoundUse> bounds_;
  std::vector<TimeUse> times_;
  std::vector<std::size_t> needed_;
  std::string unproved_;
};

}  // namespace twill
