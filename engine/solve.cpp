// solve(): bounds, interval, length, verification, in this order.
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "engine/decide.hpp"
#include "engine/include/twill.hpp"
#include "engine/limits_left.hpp"
#include "engine/objective.hpp"
#include "engine/options.hpp"
#include "engine/order/searcher.hpp"
#include "engine/search.hpp"
#include "engine/sturdiest.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/loop.hpp"
#include "graph/restriction.hpp"
#include "graph/ring_depth.hpp"
#include "graph/slack.hpp"

namespace twill {

namespace {

// No schedule at this I is shorter; 0 when there is none at all.
Cycle length_bound(const Problem& problem, Cycle ii) {
  const std::vector<Bound> bounds = length_bounds(problem, ii);
  return bounds.empty() ? 0 : bounds.front().value;
}

bool is_better(const Schedule& schedule, const Value& than) {
  return Objective{}.value(schedule) < than;
}

Reason none_better(const std::pair<Cycle, Cycle>& than) {
  return {Reason::better, none_better_text(than)};
}

// Is there a schedule better than options.better_than? Most likely not, so what refutes all is
// asked: every smaller I that no larger one decides, then the largest of them, which decides the
// others, then the same I and a smaller L. nullopt = there is one of a smaller I, which the search
// as usual finds.
std::optional<Solution> search_better(const Search& search, const Options& options, Cycle low) {
  const auto [ii, length] = *options.better_than;
  if (ii > search.problem.interval.most) return std::nullopt;  // as is all in the range
  const Cycle monotone = monotone_from(search.problem).value_or(ii);
  Solution solution;
  solution.ii_lower_bound = std::min(low, ii);
  for (Cycle asked = low; asked < ii; ++asked) {
    if (asked >= monotone) asked = ii - 1;
    const Answer answer = search.engine.ask(search, asked, solution.max_stages);
    if (answer.verdict == Verdict::sat) return std::nullopt;
    if (answer.verdict == Verdict::unknown) return solution;
    solution.ii_lower_bound = asked + 1;
  }
  LengthResult same{Verdict::unsat, std::nullopt, 0};
  if (low <= ii && length > 0)  // else a smaller I alone is better
    same = search.engine.shortest_within(
        search, ii, length_bound(search.problem, ii),
        std::min(length - 1, longest_needed(search.problem, ii, search.stage_limit)), {});
  solution.schedule = same.best;
  solution.length_lower_bound = same.low;
  if (same.verdict == Verdict::sat)
    solution.status = Status::optimal;
  else if (same.best)
    solution.status = Status::feasible;
  else if (same.verdict == Verdict::unsat) {
    solution.status = Status::infeasible;
    set_reasons(solution, {none_better(*options.better_than)});
  }
  return solution;
}

Search search_for(const Problem& problem, const Options& options, const EncodingChoice& choice,
                  Budget& budget, Reporter& report) {
  const Engine& engine = chosen_engine(problem, options, choice);
  Search search{problem, choice, options.seed, budget, report, engine, {options.handover}};
  search.threads = options.threads;
  search.stage_limit = stages_of(options).most;
  return search;
}

// Does a refutation of an interval of at least `low`, a proved bound, refute all smaller ones?
bool none_below(const Problem& problem, Cycle low) {
  const std::optional<Cycle> from = monotone_from(problem);
  return from && *from <= low;
}

// Why one interval has no schedule, which is proved.
Reason why_none(const Problem& problem, Cycle ii, const Bound& bound) {
  const std::string none = "no schedule has initiation interval " + std::to_string(ii);
  if (ii < bound.value)
    return {Reason::bound, none + ": at least " + std::to_string(bound.value) +
                               " is needed, by the " + bound.name + " bound: " + bound.text};
  return {Reason::interval, none + (none_below(problem, bound.value) ? ", nor a smaller one" : "")};
}

// What did not fit within the memory limit, when first something did not.
std::string not_begun_text(std::int64_t bytes) {
  if (bytes < 0) return "what a formula would have learned";
  return "formulas of " + std::to_string((bytes >> 20) + 1) + " MiB";
}

// What the problem's range of I leaves out.
std::optional<Solution> search_outside(const Problem& problem, const Options& options,
                                       const Bound& bound) {
  const Cycle most = problem.interval.most;
  Solution solution;
  solution.status = Status::infeasible;
  solution.ii_lower_bound = bound.value;
  if (options.ii && *options.ii > most)
    set_reasons(solution, {{Reason::bound, "the problem asks for I <= " + std::to_string(most)}});
  else if (!options.ii && bound.value > most)
    set_reasons(solution, {why_none(problem, most, bound)});
  else
    return std::nullopt;
  return solution;
}

// Below a bound on I a formula would take long to say what arithmetic says, or not say it: none has
// rule 9. The program as printed is asked all the same where it could know: other bounds need not
// hold for it.
std::optional<Solution> search_below(const Problem& problem, const Options& options, Form form,
                                     const Bound& bound) {
  if (!options.ii || *options.ii >= bound.value) return std::nullopt;
  Bound reason = bound;
  if (form == Form::straight_line_literal) {
    if (*options.ii >= least_by_channels(problem)) return std::nullopt;
    reason = std::ranges::max(channel_bounds(problem), {}, &Bound::value);
  }
  Solution solution;
  solution.status = Status::infeasible;
  solution.ii_lower_bound = bound.value;
  set_reasons(solution, {why_none(problem, *options.ii, reason)});
  return solution;
}

// Do bounds alone show that no I has a schedule? Those of channels and of a range say nothing of
// larger intervals.
bool none_by_bounds(const Problem& problem, Cycle low) {
  if (low <= serial_ii(problem)) return false;
  Problem rest = problem;
  drop_channels(rest);
  rest.interval = {};
  return lower_bounds(rest).front().value > serial_ii(problem);
}

Solution search_modulo(const Search& search, const Options& options, const Bound& bound) {
  Solution solution;
  const Cycle low = bound.value;
  if (options.better_than)
    if (auto better = search_better(search, options, low)) return *std::move(better);
  Interval interval;
  if (options.ii) {
    interval = only_interval(search, *options.ii);
  } else if (none_by_bounds(search.problem, low)) {
    interval.low = low;
    interval.none = true;
  } else {
    interval = interval_in_range(search, low);
    go_on_by_list(search, interval);
  }
  solution.max_stages = interval.max_stages;
  solution.ii_lower_bound = interval.low;
  if (options.ii && !interval.best)  // what is proved of all intervals
    solution.ii_lower_bound =
        interval.none && none_below(search.problem, low) ? std::max(low, *options.ii + 1) : low;
  if (interval.none) {
    solution.status = Status::infeasible;
    if (options.ii)
      set_reasons(solution, {why_none(search.problem, *options.ii, bound)});
    else if (const Cycle most = search.problem.interval.most;
             most < kMaxInterval && any_schedule(search))
      set_reasons(solution, {why_none(search.problem, most, bound)});
    else if (options.explain)
      set_reasons(solution, explain_infeasible(search));
    return solution;
  }
  if (!interval.best) return solution;
  Schedule& best = *interval.best;
  solution.length_lower_bound = length_bound(search.problem, best.initiation_interval);
  if (best.initiation_interval == search.known.interval)
    solution.length_lower_bound = std::max(solution.length_lower_bound, search.known.length);
  const bool shortest = smallest_length(search, best, solution.length_lower_bound);
  const bool smallest = options.ii || best.initiation_interval == interval.low;
  solution.status = smallest && shortest ? Status::optimal : Status::feasible;
  solution.schedule = std::move(best);
  // A limit can end the search at one that is not better.
  if (options.better_than && !is_better(*solution.schedule, *options.better_than)) {
    solution.status = Status::unknown;
    solution.schedule.reset();
    solution.length_lower_bound = 0;
  }
  return solution;
}

// From the smallest I, and the smallest L at it, on to larger I with less time in all. Where only a
// schedule better than another one is wanted, from the bound on.
Solution search_whole_time(const Search& search, const Options& options, const Bound& bound) {
  WholeTimeQuestion question(search.problem, options.iterations, search.stage_limit);
  Solution solution;
  solution.ii_lower_bound = bound.value;
  if (options.better_than) {
    const auto [ii, length] = *options.better_than;
    question.set_best(whole_time(options.iterations, ii, length), ii);
  } else {
    solution = search_modulo(search, options, bound);
    if (!solution.schedule) return solution;
    const Cycle ii = solution.schedule->initiation_interval;
    question.set_best(whole_time(options.iterations, ii, solution.schedule->length), ii);
  }
  Cycle least = std::min(question.time(),
                         whole_time(options.iterations, solution.ii_lower_bound, question.least()));
  if (options.better_than || solution.status == Status::optimal) {
    const Cycle first =
        options.better_than ? bound.value : solution.schedule->initiation_interval + 1;
    WholeTimeResult result = least_whole_time(search, question, first, solution.max_stages);
    least = result.lower_bound;
    if (result.best) {
      const Cycle ii = result.best->initiation_interval;
      solution.schedule = std::move(result.best);
      solution.length_lower_bound =
          least == question.time() ? solution.schedule->length : length_bound(search.problem, ii);
    }
    solution.status = Status::feasible;
    if (least == question.time())
      solution.status = solution.schedule ? Status::optimal : Status::infeasible;
    else if (!solution.schedule)
      solution.status = Status::unknown;
    if (solution.status == Status::infeasible)
      set_reasons(solution, {none_better(*options.better_than)});
  }
  solution.whole_time = WholeTime{options.iterations, 0, least};
  return solution;
}

}  // namespace

const char* version() {
  return TWILL_VERSION;
}

Decided decide_interval(const Problem& problem, Cycle ii, const Options& options,
                        const std::stop_token& stop) {
  if (!options.pins.empty()) {
    const PinnedProblem pinned = pinned_problem(problem, options);
    return decide_interval(pinned.problem, ii, pinned.options, stop);
  }
  const EncodingChoice choice = parse_encoding(options.encoding);
  refuse_paper(options, choice.form);
  Budget budget(stop, options.time_limit, options.conflict_limit, options.memory_limit);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  const Search search = search_for(problem, options, choice, budget, report);
  Cycle stages = 0;
  Decided decided;
  // No formula has rule 9, nor the range.
  if (ii < least_by_channels(problem) || !problem.interval.holds(ii)) {
    decided.verdict = Verdict::unsat;
    decided.by_bounds = true;
    return decided;
  }
  decided.verdict = search.engine.ask(search, ii, stages).verdict;
  decided.variables = report.largest_variables();
  decided.clauses = report.largest_clauses();
  decided.conflicts = budget.conflicts();
  decided.seconds = budget.elapsed();
  return decided;
}

std::vector<Reason> why_infeasible(const Problem& problem, const Options& options,
                                   std::stop_token stop) {
  if (!options.pins.empty()) {
    const PinnedProblem pinned = pinned_problem(problem, options);
    return why_infeasible(pinned.problem, pinned.options, std::move(stop));
  }
  const EncodingChoice choice = parse_encoding(options.encoding);
  refuse_paper(options, choice.form);
  Budget budget(std::move(stop), options.time_limit, options.conflict_limit, options.memory_limit);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  return explain_infeasible(search_for(problem, options, choice, budget, report));
}

std::vector<std::string> clash(const Problem& problem, const Options& options,
                               std::stop_token stop) {
  std::vector<std::string> texts;
  for (const Reason& reason : why_infeasible(problem, options, std::move(stop)))
    texts.push_back(conflict_text(reason));
  return texts;
}

// The earliest starts that the orders and slots of a schedule allow within the limits: of all goals
// only starts become smaller. The schedule itself where that would break a goal.
Schedule settled(const Problem& problem, const GoalLimits& limits, const Schedule& schedule) {
  const Problem within = limit_problem(problem, limits).problem;
  const Cycle ii = schedule.initiation_interval;
  const auto least = tighten(within, within, schedule, ii, ii);
  if (!least || least->length > schedule.length || verify(within, *least)) return schedule;
  for (const auto& [name, most] : limits)
    if (goal_value(problem, *least, parse_goal(problem, name)) > most) return schedule;
  return *least;
}

// What is said of the schedule that was found. It may have a stage more than the search needs, when
// an op without cycles ends it.
static void describe(const Problem& problem, Solution& solution) {
  solution.ring_depths = ring_depths(problem, *solution.schedule);
  solution.max_stages = std::max(solution.max_stages, stage_count(*solution.schedule));
}

// The time of the schedule, with the bound that was found or that its one interval has.
static void say_whole_time(const Options& options, Solution& solution) {
  if (!solution.whole_time) solution.whole_time = WholeTime{options.iterations, 0, 0};
  if (!solution.schedule) return;
  const Schedule& schedule = *solution.schedule;
  solution.whole_time->cycles =
      whole_time(options.iterations, schedule.initiation_interval, schedule.length);
  if (options.ii)
    solution.whole_time->lower_bound =
        whole_time(options.iterations, *options.ii, solution.length_lower_bound);
}

// What a goal that comes before L does not go with.
static void refuse_before_length(const Problem& problem, const Options& options,
                                 const std::string& goal) {
  if (options.evidence)
    throw InputError(
        "options", "--goals", goal,
        "has no certificate of its own: twill lower --slack K writes the problem whose "
        "schedules have K cycles to spare, which twill solve --ii I certifies, as it "
        "does that K + 1 has none");
  if (options.iterations > 0)
    throw InputError("options", "--goals", goal,
                     "comes before L, and --iterations is about I and L together");
  if (!problem.inner_loops.empty())
    throw InputError("options", "--goals", goal, "is not for loops with inner loops");
}

// Each goal by bisection between what is proved and what is reached; the last refutation, one below
// the value, is the proof. Starts and slots are asked for one less first, since the least
// starts of a schedule's orders, or the first slot, are mostly the best. Every question is about
// the schedules of at most the least L, or with Options::length_slack of a little more.
void pursue_goals(const Problem& problem, const Options& options, Solution& solution,
                  std::stop_token stop) {
  const std::vector<std::string> names = goals_of(problem, options);
  std::vector<GoalMeasure> measures;
  for (const std::string& name : names) measures.push_back(parse_goal(problem, name));
  const EncodingChoice choice = parse_encoding(options.encoding);
  if (!options.goals.empty() &&
      (stages_of(options).kind == StageChoice::paper || choice.form != Form::modulo))
    throw InputError("options", "--goals", options.goals.front(),
                     "needs the complete search on the modulo form");
  if (options.goals.empty() || solution.status != Status::optimal) return;
  if (!options.pins.empty()) {
    const PinnedProblem pinned = pinned_problem(problem, options);
    return pursue_goals(pinned.problem, pinned.options, solution, stop);
  }
  Budget budget(stop, options.time_limit, options.conflict_limit, options.memory_limit);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  const auto evidence =
      solution.evidence ? std::make_shared<Evidence>(*solution.evidence) : nullptr;
  GoalLimits limits;
  if (options.length_slack && !solution.length_slack)  // else by whoever knows other layouts
    solution.length_slack =
        LengthSlack{*options.length_slack, solution.schedule->length + *options.length_slack};
  Cycle longest =
      solution.length_slack ? solution.length_slack->at_most : solution.schedule->length;
  std::size_t first = 0;
  Problem within_slack = problem;
  if (measures.front().kind->before_length) {
    const Sturdiest found = make_sturdiest(problem, options, solution, stop);
    solution.goals.push_back({names.front(), -found.slack, 1 - found.refuted});
    within_slack = with_slack(problem, found.slack);
    longest = solution.schedule->length;
    first = 1;
    if (solution.status != Status::optimal || found.refuted - found.slack > 1)
      return describe(problem, solution);
  }
  Schedule& best = *solution.schedule;
  for (std::size_t g = first; g < measures.size(); ++g) {
    // A goal that was met stays so: named again it has nothing left to ask.
    const auto named =
        std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(g), names[g]);
    if (const auto before = static_cast<std::size_t>(named - names.begin()); before < g) {
      solution.goals.push_back(solution.goals[before]);
      continue;
    }
    const bool length = measures[g].kind->is_length;
    const bool position = measures[g].kind->position || length;
    if (position) best = settled(within_slack, limits, best);
    Goal goal{names[g], goal_value(problem, best, measures[g]),
              least_goal_value(problem, measures[g])};
    if (length) goal.lower_bound = std::max(goal.lower_bound, solution.length_lower_bound);
    bool one_less = true;
    while (goal.lower_bound < goal.value && goal.value <= measures[g].kind->most_asked) {
      const std::int64_t most = position && one_less
                                    ? goal.value - 1
                                    : goal.lower_bound + (goal.value - goal.lower_bound) / 2;
      one_less = !one_less;
      limits.emplace_back(goal.name, std::min(most, goal.value - 1));
      const LimitedProblem within = limit_problem(within_slack, limits);
      Search search = search_for(within.problem, options, choice, budget, report);
      search.placement.limits = within.placement;
      search.evidence = evidence.get();
      search.goals = limits;
      const Cycle deadline = deadline_within(limits, longest);
      const LengthResult answer =
          search.engine.shortest_within(search, best.initiation_interval, deadline, deadline, {});
      if (answer.best) {
        best = position ? settled(within_slack, limits, *answer.best) : *answer.best;
        goal.value = goal_value(problem, best, measures[g]);
        if (goal.value > limits.back().second || verify(problem, best))
          throw std::logic_error("a schedule that was found misses the goal " + goal.name);
      } else if (answer.verdict == Verdict::unsat) {
        goal.lower_bound = limits.back().second + 1;
      }
      limits.pop_back();
      if (!answer.best && answer.verdict == Verdict::unknown) break;
    }
    limits.emplace_back(goal.name, goal.value);
    solution.goals.push_back(std::move(goal));
  }
  // Where a limit left a goal open, a later schedule can have less of it.
  for (std::size_t g = 0; g < solution.goals.size(); ++g)
    solution.goals[g].value = goal_value(problem, best, measures[g]);
  describe(problem, solution);
  solution.seconds += budget.elapsed();
  solution.conflicts += budget.conflicts();
  if (budget.reason() != Stop::unsaid) set_stop(solution, budget.reason());
  solution.evidence = evidence;
}

// Is the least L at the next I too much already?
static bool nothing_to_ask_above(const Problem& problem, const Solution& solution) {
  WholeTimeQuestion question(problem, solution.whole_time->iterations, 0);
  question.set_best(solution.whole_time->cycles, solution.schedule->initiation_interval);
  const std::optional<Cycle> end = question.end();
  return end && *end <= solution.schedule->initiation_interval + 1;
}

// A limit; else whether arithmetic was enough, or a question had to be refuted.
static Stop why_ended(const Problem& problem, const Options& options, const Solution& solution,
                      const Bound& bound, const Budget& budget) {
  if (budget.reason() != Stop::unsaid) return budget.reason();
  const std::optional<Schedule>& schedule = solution.schedule;
  bool arithmetic = false;
  if (solution.status == Status::optimal)
    arithmetic = (options.ii || schedule->initiation_interval == bound.value) &&
                 schedule->length == length_bound(problem, schedule->initiation_interval) &&
                 (!solution.whole_time || options.ii || nothing_to_ask_above(problem, solution));
  else if (solution.status == Status::infeasible)
    arithmetic = bound.value > options.ii.value_or(problem.interval.most) ||
                 (options.ii && !problem.interval.holds(*options.ii));
  else
    return Stop::unsaid;  // the paper's formula decides nothing
  return arithmetic ? Stop::bound : Stop::refuted;
}

Solution solve(const Problem& problem, const Options& options, std::stop_token stop,
               const ProgressCallback& progress) {
  return solve_above({}, problem, options, std::move(stop), progress);
}

Solution solve_above(const KnownBounds& known, const Problem& problem, const Options& options,
                     std::stop_token stop, const ProgressCallback& progress) {
  check(problem);
  if (!options.pins.empty()) {
    const PinnedProblem pinned = pinned_problem(problem, options);
    return solve_above(known, pinned.problem, pinned.options, std::move(stop), progress);
  }
  check_options(options);
  const EncodingChoice choice = parse_encoding(options.encoding);
  if (options.evidence && choice.form != Form::modulo)
    throw InputError("options", "--certificate", options.encoding,
                     "only the modulo form can be certified");
  if (choice.form != Form::modulo) refuse_modulo_options(options);
  if (choice.form != Form::modulo) refuse_pins(problem, "the straight-line program");
  if (choice.form != Form::modulo) refuse_inner_loops(problem, "the straight-line program");
  if (choice.form != Form::modulo) refuse_range(problem, "the straight-line program");
  if (choice.form == Form::straight_line_literal)
    refuse_rings(problem, "the straight-line program as printed");
  const StageChoice stages = stages_of(options);
  const bool paper = stages.kind == StageChoice::paper;
  if (paper && anchored(problem))
    throw InputError("options", "--stages", to_string(stages),
                     "the paper's window knows no pins to cycles or stages: must be complete or a "
                     "number");
  if (paper) refuse_inner_loops(problem, "the paper's window");
  if (paper) refuse_range(problem, "the paper's window");
  if (options.iterations > 0) {
    refuse_inner_loops(problem, "the bound on the whole time");
    refuse_range(problem, "the bound on the whole time");
    if (last_pinned_stage(problem) > 0)
      throw InputError("options", "--iterations", std::to_string(options.iterations),
                       "the bound on the whole time knows no pins to stages, which put off an op "
                       "the more the larger I is");
  }
  const std::vector<std::string> goals = goals_of(problem, options);
  if (!goals.empty() && parse_goal(problem, goals.front()).kind->before_length)
    refuse_before_length(problem, options, goals.front());
  LimitsLeft left(options, stop);
  Budget budget(stop, options.time_limit, options.conflict_limit, options.memory_limit);
  Reporter report(progress, budget);
  std::shared_ptr<Evidence> evidence;
  if (options.evidence) evidence = std::make_shared<Evidence>(monotone_from(problem));
  Search search = search_for(problem, options, choice, budget, report);
  search.evidence = evidence.get();

  report.phase("bounds");
  Bound bound = lower_bounds(problem).front();
  if (known.interval > bound.value)
    bound = {known.interval, "given", "proved of a problem that asks for less"};
  search.known = known;
  const Cycle low = bound.value;
  Solution solution;
  solution.ii_lower_bound = low;
  if (auto outside = search_outside(problem, options, bound))
    solution = *std::move(outside);
  else if (auto below = search_below(problem, options, choice.form, bound))
    solution = *std::move(below);
  else if (choice.form != Form::modulo)
    budget.complete([&] { solution = search_straight_line(search, options, low); });
  else if (paper)
    budget.complete([&] { solution = search_paper(search, options, low); });
  else
    budget.complete([&] {
      solution = options.iterations > 0 && !options.ii ? search_whole_time(search, options, bound)
                                                       : search_modulo(search, options, bound);
    });
  if (choice.form == Form::modulo && !paper) {
    // Where arithmetic alone refutes every smaller I, it does so for any number of stages.
    Cycle enough = 0;
    if (solution.schedule) enough = stage_bound(problem, solution.schedule->initiation_interval);
    if (stages.most > 0) enough = solution.schedule ? std::min(stages.most, enough) : stages.most;
    solution.max_stages = std::max(solution.max_stages, enough);
  }

  solution.problem = problem.name;
  std::string text = problem_text(problem);
  solution.problem_sha256 = sha256(text);
  if (evidence) evidence->add_known({problem, std::move(text), solution.problem_sha256, bound});
  solution.stages = to_string(stages);
  solution.engine = search.engine.name();
  solution.options = {{"encoding", encoding_text(choice)}, {"seed", std::to_string(options.seed)}};
  if (!options.handover) solution.options.emplace_back("handover", "no");
  if (options.ii) solution.options.emplace_back("ii", std::to_string(*options.ii));
  if (problem.interval != IntervalRange{})
    solution.options.emplace_back("interval", range_text(problem.interval));
  if (std::string only = restriction_of(solution); !only.empty())
    solution.options.emplace_back(kRestrictionOption, std::move(only));
  // Of smaller intervals than the one asked for the bound is all that is known.
  if (options.ii && solution.schedule) solution.ii_lower_bound = std::min(low, *options.ii);
  if (options.iterations > 0) say_whole_time(options, solution);
  if (solution.schedule) describe(problem, solution);
  solution.seconds = budget.elapsed();
  solution.conflicts = budget.conflicts();
  solution.variables = report.largest_variables();
  solution.clauses = report.largest_clauses();
  set_stop(solution, why_ended(problem, options, solution, bound, budget));
  if (budget.not_begun() != 0 && solution.status != Status::optimal &&
      solution.status != Status::infeasible)
    solution.options.emplace_back("not begun for memory", not_begun_text(budget.not_begun()));
  solution.evidence = std::move(evidence);
  if (!options.goals.empty()) {
    left.took(solution.conflicts);
    pursue_goals(problem, left.of(options), solution, std::move(stop));
  }
  return solution;
}

}  // namespace twill
