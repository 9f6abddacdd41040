#include "engine/program.hpp"

#include "engine/limits_left.hpp"
#include "engine/placed.hpp"
#include "engine/search.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "graph/index.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/program/links.hpp"

namespace twill {
namespace {

constexpr int kLimitsOfKind = 4;  // of conflicts, that all searches of one kind have together
constexpr int kSoonSteps = 2;
constexpr int kKeptSteps = 4;  // of memory kept back, for each way
constexpr int kSlower = 16;    // larger I that are tried, each a sixteenth of I later
constexpr int kFewWays = 16, kMostWays = 200;  // to the best schedule with a placement
constexpr Amount kShare = 16;  // of a memory, kept back where only the places do not fit

/// What a search for a schedule with room leaves out, beside memory.
struct Guess {
  bool held = false;      ///< operands are held until their reader ends, as they are read
  bool handovers = true;  ///< registers may cross slots, whose bytes the model does not count
};

/// Every operand in memory that its reader reads after its issue; but what an MMA may add to.
void hold_operands(Problem& problem) {
  for (Edge& e : problem.edges) {
    const Op &from = problem.ops[at(e.from)], &to = problem.ops[at(e.to)];
    const bool accumulator = to.kind == "gemm" && from.footprints == to.footprints;
    if (!from.footprints.empty() && !accumulator) e.hold = std::max(e.hold, to.cycles);
  }
}

/// Is it known that no schedule is better, and is that all that was asked?
bool searchable(const Solution& found, const Options& options) {
  return found.status == Status::optimal && !options.ii && options.iterations == 0 &&
         !options.better_than && options.goals.empty();
}

class Room {
 public:
  Room(const Problem& problem, const Solution& found, const Options& options, LimitsLeft& left,
       const program::DeriveOptions& how)
      : problem_(problem), found_(found), options_(options), left_(left), how_(how) {
    // (With a goal before L, or of few iterations, bounds on L are of some schedules alone.)
    if (searchable(found, options)) known_ = {found.ii_lower_bound, found.length_lower_bound};
  }

  /// One as good as the best, by a few guesses.
  std::optional<ProgramSolution> soon(const program::Refusal& refusal) {
    for (const auto& [way, steps] :
         {std::pair(Guess{false, false}, 1), std::pair(Guess{}, kSoonSteps),
          std::pair(Guess{true, true}, kSoonSteps)})
      if (auto one = try_way(way, refusal, steps))
        if (one->solution.status == Status::optimal) return one;
    return std::nullopt;
  }

  /// The best of all ways, or nothing; one with the I of `found_` at once.
  std::optional<ProgramSolution> run(const program::Refusal& refusal) {
    std::optional<ProgramSolution> best;
    for (const Guess way : {Guess{}, Guess{true, true}, Guess{false, false}, Guess{true, false}}) {
      auto one = try_way(way, refusal, kKeptSteps);
      if (!one) continue;
      if (!best || interval(*one) < interval(*best)) best = std::move(one);
      if (interval(*best) == found_.schedule->initiation_interval) return best;
    }
    left_.renew();
    return slower(best);
  }

 private:
  static Cycle interval(const ProgramSolution& one) {
    return one.solution.schedule->initiation_interval;
  }

  /// Copies that an op needs for a little of a period are gone at an I a little larger.
  std::optional<ProgramSolution> slower(const std::optional<ProgramSolution>& best) {
    const Cycle first = found_.schedule->initiation_interval;
    if (options_.ii) return best;
    for (int k = 1; k <= kSlower && !left_.spent(); ++k) {
      const Cycle ii = first + (first * k + kSlower - 1) / kSlower;
      if (best && ii >= interval(*best)) break;
      for (const bool handovers : {true, false}) {
        Problem held = problem_;
        hold_operands(held);
        Options options = options_;
        options.ii = ii;
        options.handover = options.handover && handovers;
        const Solution again = solve(held, left_.of(options), left_.stop());
        left_.took(again.conflicts);
        if (!again.schedule) continue;
        auto made = program::derive(problem_, *again.schedule, how_);
        if (std::holds_alternative<program::Program>(made))
          return result(again, std::move(made), 0, "");
      }
    }
    return best;
  }

  /// A schedule, with less of each memory, and its program.
  struct Attempt {
    Solution schedule;
    std::variant<program::Program, program::Refusal> program;
  };

  /// The best schedule of a problem that asks for less, where it satisfies this one, too.
  const Solution* best_here(const Problem& smaller, const Guess& way,
                            const std::vector<Amount>& kept) const {
    for (const auto& [key, one] : attempts_) {
      const auto& [held, handovers, less] = key;
      const bool asks_less =
          handovers == way.handovers && held <= way.held &&
          std::equal(less.begin(), less.end(), kept.begin(), std::less_equal<Amount>());
      if (asks_less && one.schedule.status == Status::optimal &&
          !verify(smaller, *one.schedule.schedule))
        return &one.schedule;
    }
    return nullptr;
  }

  /// (run() begins as soon() did; what a limit has ended is asked again.)
  const Attempt& attempt(const Guess& way, const std::vector<Amount>& kept) {
    Attempt& tried = attempts_[{way.held, way.handovers, kept}];
    if (tried.schedule.status != Status::unknown || left_.spent()) return tried;
    Problem smaller = problem_;
    for (std::size_t m = 0; m < kept.size(); ++m) smaller.memories[m].capacity -= kept[m];
    if (way.held) hold_operands(smaller);
    Options options = options_;
    options.handover = options.handover && way.handovers;
    if (const Solution* known = best_here(smaller, way, kept)) {
      tried.schedule = *known;
    } else {
      tried.schedule = solve_above(known_, smaller, left_.of(options), left_.stop());
      left_.took(tried.schedule.conflicts);
    }
    if (tried.schedule.schedule)
      tried.program = program::derive(problem_, *tried.schedule.schedule, how_);
    return tried;
  }

  std::optional<ProgramSolution> try_way(const Guess& way, program::Refusal last, int steps) {
    std::vector<Amount> kept(problem_.memories.size(), 0);
    // Other ways first need no less memory.
    bool keep_less = !way.held && way.handovers;
    for (int step = 0; step < steps && last.rule == "placement" && last.memory >= 0; ++step) {
      const Amount capacity = problem_.memories[at(last.memory)].capacity;
      Amount& keep = kept[at(last.memory)];
      if (keep_less) {
        const Amount more = keep == 0 && last.hand_over > 0 ? last.hand_over : last.lacking;
        keep += more > 0 ? std::min(more, std::max<Amount>(capacity / 4, 1))
                         : std::max<Amount>(capacity / kShare, 1);
      }
      keep_less = true;
      if (keep >= capacity) break;
      const Attempt& tried = attempt(way, kept);
      if (!tried.schedule.schedule) break;
      if (const auto* no = std::get_if<program::Refusal>(&tried.program)) {
        last = *no;
        continue;
      }
      return result(tried.schedule, tried.program, keep, problem_.memories[at(last.memory)].name);
    }
    return std::nullopt;
  }

  ProgramSolution result(const Solution& again,
                         std::variant<program::Program, program::Refusal> made, Amount kept,
                         const std::string& memory) const {
    ProgramSolution result{found_, std::move(made), true, kept, memory, {}};
    const Schedule &before = *found_.schedule, &now = *again.schedule;
    const bool same_interval = before.initiation_interval == now.initiation_interval;
    if (!same_interval || before.length != now.length) result.solution.status = Status::feasible;
    if (!same_interval) result.solution.length_lower_bound = 0;
    result.solution.schedule = now;
    result.solution.ring_depths = again.ring_depths;
    result.solution.goals.clear();
    result.solution.whole_time.reset();
    return result;
  }

  const Problem& problem_;
  const Solution& found_;
  const Options& options_;
  LimitsLeft& left_;  // (of all searches together)
  std::map<std::tuple<bool, bool, std::vector<Amount>>, Attempt> attempts_;
  const program::DeriveOptions& how_;
  KnownBounds known_;
};

/// What is known beside the schedule of `result`, which is not as good as that of `found`.
std::optional<program::PlacedBounds> bounds_of(const ProgramSolution& result, const Solution& found,
                                               const Placement& placement) {
  if (result.solution.status == Status::optimal || placement.none) return std::nullopt;
  const Schedule& now = *result.solution.schedule;
  const std::pair proved{placement.ii_lower_bound, placement.length_lower_bound};
  const auto [interval, length] =
      std::max(proved, std::pair(found.ii_lower_bound, found.length_lower_bound));
  return program::PlacedBounds{interval, length,
                               interval == now.initiation_interval && length == now.length};
}

/// A schedule that satisfies more satisfies the problem, too. Its bounds are those of `found`.
ProgramSolution of_placed(const Solution& found, PlacedSearch placed) {
  ProgramSolution result{found, std::move(*placed.program), true, 0, "", {}};
  const Schedule &first = *found.schedule, &now = *placed.solution->schedule;
  Solution& solution = result.solution;
  if (now.initiation_interval != first.initiation_interval || now.length != first.length)
    solution.status = Status::feasible;
  // (A bound on L is one at its I.)
  if (now.initiation_interval != first.initiation_interval) solution.length_lower_bound = 0;
  solution.ring_depths = placed.solution->ring_depths;
  solution.goals = placed.solution->goals;
  solution.whole_time.reset();
  solution.schedule = std::move(placed.solution->schedule);
  result.placed = bounds_of(result, found, placed.placement);
  return result;
}

}  // namespace

std::optional<std::string> program::add_meaning(Program& program, std::string_view kernel,
                                                const std::string& source,
                                                const ParameterValues& values,
                                                const std::vector<std::string>& stored) {
  program.meaning = meaning_of_kernel(std::string(kernel), source, values, stored);
  if (!program.meaning) return "the kernel does not say what its ops compute";
  Links links;
  auto no = link(program, links);
  if (no) program.meaning.reset();
  return no;
}

ProgramSolution solve_program(const Problem& problem, const Solution& found, const Options& options,
                              std::stop_token stop, const program::DeriveOptions& how) {
  ProgramSolution first{found, program::derive(problem, *found.schedule, how), false, 0, "", {}};
  const auto* refusal = std::get_if<program::Refusal>(&first.program);
  if (refusal == nullptr || refusal->rule != "placement") return first;
  const program::Refusal why = *refusal;
  // Guesses that often have what is wanted, then the search; each kind has all conflicts.
  const bool can_search = searchable(found, options);
  Options whole = options;
  whole.conflict_limit *= kLimitsOfKind;
  LimitsLeft left(whole, std::move(stop));
  Room room(problem, found, options, left, how);
  PlacedAnswers answers;
  for (const int ways : {1, kFewWays}) {
    if (can_search) {
      PlacedSearch few = search_placed(problem, found, options, left, how, {ways, {}}, answers);
      if (few.placement.reached) return of_placed(found, std::move(few));
    }
    if (ways > 1) break;
    if (auto soon = room.soon(why)) return std::move(*soon);
  }
  left.renew();
  std::optional<ProgramSolution> other = room.run(why);
  ProgramSolution result = other ? std::move(*other) : first;
  if (!can_search || (other && result.solution.status == Status::optimal)) return result;
  left.renew();
  PlacedLimits limits{kMostWays, {}};
  if (other) {
    const Schedule& best = *result.solution.schedule;
    limits.incumbent = {best.initiation_interval, best.length};
  }
  PlacedSearch placed = search_placed(problem, found, options, left, how, limits, answers);
  if (placed.solution) return of_placed(found, std::move(placed));
  if (other) {
    result.placed = bounds_of(result, found, placed.placement);
  } else if (placed.placement.none) {
    result.none_placed = true;
  } else {
    const auto [interval, length] =
        std::max(std::pair(placed.placement.ii_lower_bound, placed.placement.length_lower_bound),
                 std::pair(found.ii_lower_bound, found.length_lower_bound));
    result.placed = program::PlacedBounds{interval, length, false};
  }
  return result;
}

}  // namespace twill
