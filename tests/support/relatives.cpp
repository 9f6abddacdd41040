#include "tests/support/relatives.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "engine/certificate/certificate.hpp"
#include "engine/options.hpp"
#include "tests/support/random_pool.hpp"
#include "tests/support/shrink.hpp"

namespace twill::test {

namespace {

std::string pair_text(const Schedule& s) {
  return "(" + std::to_string(s.initiation_interval) + ", " + std::to_string(s.length) + ")";
}

bool better(const Schedule& a, const Schedule& b) {
  return std::pair(a.initiation_interval, a.length) < std::pair(b.initiation_interval, b.length);
}

// The best over all splits; the problem is that of the split.
Truth truth_of(const WildCase& wild, const TruthAsked& question, std::int64_t most_nodes) {
  if (!wild.pool) return every_schedule(wild.problem, question, most_nodes);
  Truth best;
  best.finished = true;
  for (const RegisterCounts& counts : all_splits(*wild.pool)) {
    // A split below another allows nothing that the other does not.
    bool maximal = true;
    for (std::size_t s = 0; s < counts.size(); ++s) {
      RegisterCounts more = counts;
      more[s] += wild.pool->granule;
      maximal = maximal && !is_split(*wild.pool, more);
    }
    if (!maximal) continue;
    TruthAsked only = question;
    only.goals.clear();
    Truth truth = every_schedule(with_counts(wild.problem, *wild.pool, counts), only, most_nodes);
    best.nodes += truth.nodes;
    best.finished = best.finished && truth.finished;
    if (truth.best && (!best.best || better(*truth.best, *best.best))) best.best = truth.best;
  }
  if (best.best) {
    best.ii = best.best->initiation_interval;
    best.length = best.best->length;
  }
  if (!best.finished) best.ii = best.length = 0;
  return best;
}

// The least time of N iterations, then the least I, by what is best at each I. Nothing where an
// enumeration was not finished.
struct LeastTime {
  std::optional<Schedule> best;
  Cycle time = 0;
};
Cycle time_of(const Schedule& s, Cycle iterations) {
  return (iterations - 1) * s.initiation_interval + s.length;
}
std::optional<LeastTime> least_time(const WildCase& wild, const Truth& truth, Cycle iterations,
                                    std::int64_t most_nodes) {
  LeastTime least{truth.best, 0};
  if (!least.best) return least;
  least.time = time_of(*least.best, iterations);
  // At so much more than the best length iterations do not meet: larger I are alike.
  Cycle reach = 1;
  for (const Op& op : wild.problem.ops) reach = std::max({reach, op.cycles, op.spill});
  for (const Edge& e : wild.problem.edges) reach = std::max(reach, e.spill.value_or(0));
  Cycle apart = reach;
  for (const Edge& e : wild.problem.edges) apart = std::max({apart, e.delay + reach, e.hold});
  TruthAsked question = asked(wild);
  question.goals.clear();
  for (Cycle ii = least.best->initiation_interval + 1; ii <= least.time + apart + 1; ++ii) {
    if ((iterations - 1) * ii >= least.time) break;
    question.ii = ii;
    const Truth there = truth_of(wild, question, most_nodes);
    if (!there.finished) return std::nullopt;
    if (!there.best || time_of(*there.best, iterations) >= least.time) continue;
    least.best = there.best;
    least.time = time_of(*there.best, iterations);
  }
  return least;
}

class Judge {
 public:
  Judge(const WildCase& wild, const JudgeSettings& settings, Tally& tally)
      : wild_(wild), settings_(settings), tally_(tally), question_(asked(wild)) {}

  std::string run() {
    truth_ = truth_of(wild_, question_, settings_.most_nodes);
    tally_["nodes"] += truth_.nodes;
    ++tally_[!truth_.finished ? "unfinished" : truth_.best ? "found" : "none"];
    for (const char* engine : {"order", "time_indexed"}) {
      std::string wrong = one(engine);
      if (!wrong.empty()) return wrong.insert(wrong.find(':') + 1, std::string(" ") + engine);
    }
    if (wild_.iterations > 0 && !wild_.options.ii && truth_.finished) {
      std::string wrong = whole_times();
      if (!wrong.empty()) return wrong;
    }
    if (wild_.pool) return "";
    if (wild_.options.length_slack) {
      if (wild_.stopped) return stopped();
      return wild_.threads ? threads() : "";
    }
    std::string wrong = judges();
    if (wrong.empty() && wild_.straight) wrong = straight_line();
    if (wrong.empty() && wild_.paper) wrong = paper();
    if (wrong.empty() && wild_.stopped) wrong = stopped();
    if (wrong.empty() && wild_.threads) wrong = threads();
    return wrong;
  }

 private:
  std::string one(const char* engine) {
    Options options = wild_.options;
    options.engine = engine;
    options.encoding = options.engine == "time_indexed" ? wild_.cnf : wild_.order;
    options.evidence = !settings_.folder.empty();
    SplitSolution answer;
    try {
      if (wild_.pool) {
        answer = solve_split(wild_.problem, *wild_.pool, options);
      } else {
        answer.solution = solve(wild_.problem, options);
        answer.problem = wild_.problem;
      }
    } catch (const std::exception& e) {
      return std::string("solve throws: ") + e.what();
    }
    std::string wrong = wrong_answer(answer.problem, answer.solution, wild_.options.goals);
    if (wrong.empty() && options.evidence) wrong = certify(answer.problem, answer.solution);
    if (wild_.options.length_slack) ++tally_["goals cost L"];
    if (wrong.empty() && !wild_.pool && !wild_.options.ii && !wild_.options.length_slack)
      wrong = ask_better(options);
    return wrong;
  }

  std::string whole_times() {
    const Cycle n = wild_.iterations;
    const auto least = least_time(wild_, truth_, n, settings_.most_nodes);
    if (!least) return "";
    ++tally_["times"];
    if (least->best && least->best->initiation_interval != truth_.ii) ++tally_["larger I is best"];
    for (const char* engine : {"order", "time_indexed"}) {
      Options options = wild_.options;
      options.engine = engine;
      options.encoding = options.engine == "time_indexed" ? wild_.cnf : wild_.order;
      options.evidence = !settings_.folder.empty();
      drop_goals(options);
      options.iterations = n;
      std::string wrong = whole_time(options, *least);
      if (wrong.empty() && least->best && !wild_.pool) wrong = better_time(options, *least);
      if (!wrong.empty())
        return "time: " + std::string(engine) + ", N = " + std::to_string(n) + ": " + wrong;
    }
    return "";
  }

  std::string whole_time(const Options& options, const LeastTime& least) {
    SplitSolution answer;
    try {
      if (wild_.pool)
        answer = solve_split(wild_.problem, *wild_.pool, options);
      else
        answer = {wild_.problem, {}, solve(wild_.problem, options)};
    } catch (const std::exception& e) {
      return std::string("throws ") + e.what();
    }
    const Solution& got = answer.solution;
    if (!got.whole_time || got.whole_time->iterations != options.iterations) return "no time";
    if (got.schedule.has_value() != least.best.has_value())
      return std::string("is ") + to_string(got.status);
    if (!got.schedule) return got.status == Status::infeasible ? "" : to_string(got.status);
    const Schedule& s = *got.schedule;
    if (const std::string rule = broken_rule(answer.problem, question_, s); !rule.empty())
      return "breaks " + rule;
    if (got.status != Status::optimal || got.whole_time->cycles != least.time ||
        got.whole_time->lower_bound != least.time || time_of(s, options.iterations) != least.time ||
        s.initiation_interval != least.best->initiation_interval)
      return std::string(to_string(got.status)) + " " + pair_text(s) + " in " +
             std::to_string(got.whole_time->cycles) + ", bound " +
             std::to_string(got.whole_time->lower_bound) + ", the best is " +
             pair_text(*least.best);
    if (got.ii_lower_bound > truth_.ii || got.length_lower_bound != s.length) return "bounds";
    return options.evidence ? certify(answer.problem, got) : "";
  }

  // Better than the best there is none, than what is a cycle longer there is the best.
  std::string better_time(Options options, const LeastTime& least) {
    options.evidence = false;
    const Cycle ii = least.best->initiation_interval, length = least.best->length;
    for (const bool more : {false, true}) {
      options.better_than = {ii, length + (more ? 1 : 0)};
      const Solution got = solve(wild_.problem, options);
      if (got.schedule.has_value() != more)
        return std::string("better than ") + (more ? "more: " : "the best: ") +
               to_string(got.status);
      if (got.status != (more ? Status::optimal : Status::infeasible))
        return std::string("better: ") + to_string(got.status);
      if (more && pair_text(*got.schedule) != pair_text(*least.best))
        return "better: " + pair_text(*got.schedule);
    }
    options.better_than.reset();
    options.conflict_limit = 1;
    const Solution got = solve(wild_.problem, options);
    if (got.whole_time && got.whole_time->lower_bound > least.time) return "stopped: its bound";
    return "";
  }

  std::string wrong_answer(const Problem& problem, const Solution& got,
                           const std::vector<std::string>& goals) {
    const auto status = [&] { return std::string("status: is ") + to_string(got.status); };
    if (!got.schedule) {
      if (got.status != Status::infeasible) return status() + " without a schedule";
      if (truth_.best) return status() + ", there is " + pair_text(*truth_.best);
      if (wild_.options.explain && got.conflict.empty()) return "conflict: is empty";
      return "";
    }
    const Schedule& s = *got.schedule;
    if (got.status != Status::optimal) return status() + " with a schedule";
    if (truth_.finished && !truth_.best) return status() + ", there is none";
    if (const std::string rule = broken_rule(problem, question_, s); !rule.empty())
      return "schedule: breaks " + rule;
    if (const auto violation = verify(problem, s))
      return "verify: refuses what breaks no rule: " + violation->text;
    if (s.initiation_interval < truth_.ii ||
        (s.initiation_interval == truth_.ii && s.length < truth_.length))
      return "too good: " + pair_text(s) + " where I >= " + std::to_string(truth_.ii) +
             ", L >= " + std::to_string(truth_.length);
    const std::optional<Cycle> slack = wild_.options.length_slack;  // else L is a goal
    if (!slack && truth_.best && better(*truth_.best, s))
      return "not best: " + pair_text(s) + " where there is " + pair_text(*truth_.best);
    if (got.ii_lower_bound > s.initiation_interval ||
        (!wild_.options.ii && got.ii_lower_bound != s.initiation_interval) ||
        (slack ? truth_.finished && got.length_lower_bound != truth_.length
               : got.length_lower_bound != s.length))
      return "bounds: (" + std::to_string(got.ii_lower_bound) + ", " +
             std::to_string(got.length_lower_bound) + ") of an optimal " + pair_text(s);
    if (stage_count(s) > got.max_stages)
      return "stages: " + std::to_string(stage_count(s)) + " of a search of up to " +
             std::to_string(got.max_stages);
    for (const Op& op : problem.ops)
      if ((op.streaming || op.in_flight) &&
          (!got.ring_depths.contains(op.id) ||
           got.ring_depths.at(op.id) != measured(problem, s, "ring:" + op.id)))
        return "ring depth: of " + op.id;
    return wrong_goals(problem, got, goals);
  }

  std::string wrong_goals(const Problem& problem, const Solution& got,
                          const std::vector<std::string>& goals) {
    TruthAsked named = question_;
    named.goals = goals;
    const std::vector<std::string> names =
        goals.empty() ? std::vector<std::string>() : goals_asked(problem, named);
    if (const auto& slack = wild_.options.length_slack;
        got.length_slack.has_value() != slack.has_value() ||
        (slack && (got.length_slack->cycles != *slack ||
                   got.length_slack->at_most != got.length_lower_bound + *slack ||
                   got.schedule->length > got.length_slack->at_most)))
      return "length slack: is not what was asked";
    if (slack_bought(got)) ++tally_["L was worth it"];
    if (got.goals.size() != names.size())
      return "goals: " + std::to_string(got.goals.size()) + " of " + std::to_string(names.size());
    for (std::size_t g = 0; g < names.size(); ++g) {
      const Goal& goal = got.goals[g];
      const std::int64_t value = measured(problem, *got.schedule, names[g]);
      const std::string numbers = names[g] + " = " + std::to_string(goal.value) + ", bound " +
                                  std::to_string(goal.lower_bound);
      if (goal.name != names[g] || goal.value != value)
        return "goal value: " + numbers + ", the schedule has " + std::to_string(value);
      if (goal.lower_bound != goal.value) return "goal bound: " + numbers;
      if (!truth_.goals.empty() && truth_.finished && goal.value != truth_.goals[g])
        return "goal: " + numbers + ", the least is " + std::to_string(truth_.goals[g]);
    }
    if (!names.empty()) ++tally_["goals"];
    if (truth_.finished && !wild_.pool && !goals.empty() && goals.back() == "canonical" &&
        *truth_.best != *got.schedule)
      return "canonical: is another schedule";
    return "";
  }

  static bool slack_bought(const Solution& got) {
    return got.length_slack && got.schedule->length > got.length_lower_bound;
  }

  std::string certify(const Problem& problem, const Solution& solution) {
    const std::string folder = settings_.folder + "/certificate";
    std::string wrong;
    try {
      write_certificate(folder, problem, solution);
      const CertificateReport report = check_certificate(folder, {.drat_trim = false});
      if (!report.accepted)
        wrong = "certificate is refused: " + report.refusal;
      else if (report.solution.schedule != solution.schedule ||
               report.solution.status != solution.status)
        wrong = "certificate: is of another answer";
      ++tally_["certificates"];
    } catch (const std::exception& e) {
      wrong = std::string("certificate throws: ") + e.what();
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return wrong;
  }

  bool may_be_certified(const Solution& solution) {
    const std::string folder = settings_.folder + "/refused";
    bool accepted = false;
    try {
      write_certificate(folder, wild_.problem, solution);
      accepted = check_certificate(folder, {.drat_trim = false}).accepted;
    } catch (const InputError&) {
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return accepted;
  }

  // Around the best the answer is known: it is the best, or there is none.
  std::string ask_better(Options options) {
    if (!truth_.finished) return "";
    std::vector<std::pair<Cycle, Cycle>> asked = {{1, 1}, {4, 5}};
    if (truth_.best) {
      const Cycle ii = truth_.best->initiation_interval, length = truth_.best->length;
      asked = {{ii, length},
               {ii, length + 1},
               {ii, std::max<Cycle>(0, length - 1)},
               {ii, length + 3},
               {ii + 1, 0},
               {ii + 1, length},
               {ii + 3, 1},
               {std::max<Cycle>(1, ii - 1), length + 50}};
    }
    // Two of them: the loops are many.
    Random random(static_cast<std::uint64_t>(truth_.nodes));
    for (int i = 0; i < 2; ++i) {
      const auto [ii, length] =
          asked[static_cast<std::size_t>(random.range(0, std::ssize(asked) - 1))];
      options.better_than = {ii, length};
      const std::string than =
          " than (" + std::to_string(ii) + ", " + std::to_string(length) + "): ";
      const bool is_better = truth_.best && std::pair(truth_.best->initiation_interval,
                                                      truth_.best->length) < std::pair(ii, length);
      ++tally_["better_than"];
      try {
        const Solution got = solve(wild_.problem, options);
        if (!is_better) {
          if (got.status != Status::infeasible || got.schedule)
            return "better:" + than + to_string(got.status) +
                   (got.schedule ? " " + pair_text(*got.schedule) : "");
          if (got.conflict.empty() && options.explain) return "better:" + than + "no conflict";
          continue;
        }
        if (const std::string wrong = wrong_answer(wild_.problem, got, wild_.options.goals);
            !wrong.empty())
          return "better:" + than + wrong;
        if (options.evidence)
          if (const std::string wrong = certify(wild_.problem, got); !wrong.empty())
            return "better:" + than + wrong;
      } catch (const std::exception& e) {
        return "better throws:" + than + e.what();
      }
    }
    return "";
  }

  // Do the two judges agree on schedules next to a good one? Many of them break a rule.
  std::string judges() {
    if (!truth_.best) return "";
    TruthAsked problem_alone;
    Random random(static_cast<std::uint64_t>(truth_.nodes));
    for (int i = 0; i < 4; ++i) {
      Schedule s = *truth_.best;
      for (std::int64_t moves = random.range(1, 2); moves > 0; --moves) {
        const auto v = static_cast<std::size_t>(random.range(0, std::ssize(s.start) - 1));
        s.start[v] = std::max<Cycle>(0, s.start[v] + random.range(-2, 3));
        if (random.percent(20))
          s.warp[v] = static_cast<int>(random.range(0, std::ssize(wild_.problem.warps) - 1));
      }
      if (random.percent(20))
        s.initiation_interval = std::max<Cycle>(1, s.initiation_interval + random.range(-1, 1));
      s.length = schedule_length(wild_.problem, s.start);
      const std::string rule = broken_rule(wild_.problem, problem_alone, s);
      const auto violation = verify(wild_.problem, s);
      ++tally_[rule.empty() ? "judged good" : "judged bad"];
      if (rule.empty() != !violation) {
        std::string text = "judges: I = " + std::to_string(s.initiation_interval) + ", starts";
        for (std::size_t v = 0; v < s.start.size(); ++v)
          text += " " + std::to_string(s.start[v]) + " on " + std::to_string(s.warp[v]);
        return text + ": '" + rule + "', verify says '" + (violation ? violation->text : "") + "'";
      }
    }
    return "";
  }

  // The corrected straight-line program is exact; what it has not is refused.
  std::string straight_line() {
    Options options = wild_.options;
    options.encoding = "form=straight-line";
    drop_goals(options);
    const bool refused = !options.handover || !options.pins.empty() ||
                         !wild_.problem.pins.empty() || wild_.problem.interval != IntervalRange{};
    if (!refused && truth_.finished && truth_.length + truth_.ii > 12) return "";
    ++tally_["straight-line"];
    try {
      const Solution got = solve(wild_.problem, options);
      if (refused) return "straight-line: what it has not is not refused";
      const std::vector<std::string> none;
      if (std::string wrong = wrong_answer(wild_.problem, got, none); !wrong.empty())
        return "straight-line: " + wrong;
    } catch (const InputError& e) {
      if (!refused) return std::string("straight-line throws: ") + e.what();
    }
    return "";
  }

  // Algorithm 1: upward in I, LEN(M) under rules 1 and 2 alone, then only as many stages.
  std::string paper() {
    Options options = wild_.options;
    options.stages = "paper";
    drop_goals(options);
    if (anchored(wild_.problem) || wild_.problem.interval != IntervalRange{}) return "";
    Problem bare = wild_.problem;
    bare.pins.clear();
    bare.memories.clear();
    bare.channels.clear();
    for (Op& op : bare.ops) {
      op.registers = op.spill = 0;
      op.width = 1;
      op.variable_latency = op.streaming = op.in_flight = false;
      op.traffic.clear();
      op.footprints.clear();
    }
    bare.warps = {{"any", 1, 0, false}};
    for (Edge& e : bare.edges) {
      e.blocking = false;
      e.hold = 0;
    }
    TruthAsked question = question_;
    question.stages = 0;
    question.goals.clear();
    std::optional<Schedule> best;
    const Cycle last = enough_interval(wild_.problem);
    for (Cycle ii = question_.ii.value_or(1); ii <= question_.ii.value_or(last) && !best; ++ii) {
      TruthAsked only;
      only.ii = question.ii = ii;
      const Truth modulo = every_schedule(bare, only, settings_.most_nodes);
      if (!modulo.finished) return "";
      if (!modulo.best) continue;
      const Cycle length = std::max<Cycle>(1, modulo.length);
      const Truth joint = every_schedule(wild_.problem, question, settings_.most_nodes);
      if (!joint.finished || (joint.best && joint.length == 0)) return "";
      if (joint.best && joint.length <= (length + ii - 1) / ii * ii) best = joint.best;
    }
    ++tally_["paper"];
    try {
      const Solution got = solve(wild_.problem, options);
      if (!best != !got.schedule || got.status != (best ? Status::optimal : Status::infeasible))
        return std::string("paper: ") + to_string(got.status);
      if (best && (better(*best, *got.schedule) || better(*got.schedule, *best)))
        return "paper: " + pair_text(*got.schedule) + ", not " + pair_text(*best);
      if (best && !broken_rule(wild_.problem, question, *got.schedule).empty())
        return "paper: the schedule breaks a rule";
    } catch (const std::exception& e) {
      return std::string("paper throws: ") + e.what();
    }
    return "";
  }

  // The answer is a function of problem, options and seed.
  std::string threads() {
    Options options = wild_.options;
    for (const char* engine : {"order", "time_indexed"}) {
      options.engine = engine;
      options.threads = 1;
      const Solution one = solve(wild_.problem, options), again = solve(wild_.problem, options);
      options.threads = 3;
      const Solution several = solve(wild_.problem, options);
      ++tally_["threads"];
      for (const Solution* other : {&again, &several})
        if (one.schedule != other->schedule || one.status != other->status ||
            one.max_stages != other->max_stages || one.conflict != other->conflict)
          return std::string("threads: ") + engine + " gives another answer";
    }
    return "";
  }

  // A limit is not a proof: what is said then is true all the same.
  std::string stopped() {
    if (!truth_.finished) return "";
    std::stop_source source;
    source.request_stop();
    for (const char* engine : {"order", "time_indexed"})
      for (const bool by_conflicts : {false, true}) {
        Options options = wild_.options;
        options.engine = engine;
        options.conflict_limit = by_conflicts ? 1 : 0;
        for (const bool than : {false, true}) {
          if (than && (options.ii || options.length_slack)) continue;
          options.better_than.reset();
          if (than) {
            options.better_than = {3, 4};
            if (truth_.best) options.better_than = {truth_.ii, truth_.length};
          }
          ++tally_["stopped"];
          const std::string wrong = wrong_when_stopped(
              solve(wild_.problem, options, by_conflicts ? std::stop_token() : source.get_token()),
              options);
          if (!wrong.empty()) return std::string("stopped: ") + engine + " " + wrong;
        }
      }
    return "";
  }
  std::string wrong_when_stopped(const Solution& got, const Options& options) {
    const auto has = [&](const Schedule& s) {
      return !options.better_than ||
             std::pair(s.initiation_interval, s.length) < *options.better_than;
    };
    const bool any = truth_.best && has(*truth_.best);
    if (got.status == Status::infeasible && any) return "says there is none";
    if (got.schedule) {
      const Schedule& s = *got.schedule;
      if (!broken_rule(wild_.problem, question_, s).empty()) return "schedule breaks a rule";
      if (!has(s)) return "schedule is not better";
      if (options.length_slack) {
        if (got.length_slack && s.length > got.length_slack->at_most) return "is too long";
        if (got.status == Status::optimal && got.length_lower_bound != truth_.length)
          return "optimal without the bound";
      } else if (got.status == Status::optimal && pair_text(s) != pair_text(*truth_.best))
        return "optimal is " + pair_text(s) + ", not " + pair_text(*truth_.best);
      if (!options.length_slack && got.status == Status::optimal &&
          got.length_lower_bound != s.length)
        return "optimal without the bound";
      if (s.initiation_interval == truth_.ii && got.length_lower_bound > truth_.length)
        return "bound on L";
      for (const Goal& goal : got.goals)
        if (goal.value != measured(wild_.problem, s, goal.name) || goal.lower_bound > goal.value)
          return "goal " + goal.name;
    } else if (got.status != Status::infeasible && got.status != Status::unknown) {
      return "no schedule";
    }
    if (!options.better_than && truth_.best && got.ii_lower_bound > truth_.ii) return "bound on I";
    return "";
  }

  const WildCase& wild_;
  const JudgeSettings& settings_;
  Tally& tally_;
  TruthAsked question_;
  Truth truth_;
};

}  // namespace

std::string fault(const WildCase& wild, const JudgeSettings& settings, Tally& tally) {
  try {
    return Judge(wild, settings, tally).run();
  } catch (const std::exception& e) {
    return std::string("throws: ") + e.what();
  }
}

WildCase smaller(WildCase wild, const JudgeSettings& settings) {
  Tally ignored;
  const auto kind = [](const std::string& text) { return text.substr(0, text.find(':')); };
  const std::string wanted = kind(fault(wild, settings, ignored));
  // A name that is gone gives an exception, which is another kind, or is a fault of its own.
  const auto fails = [&](const WildCase& candidate) {
    try {
      const std::string text = fault(candidate, settings, ignored);
      return !text.empty() && kind(text) == wanted && text.find("must name") == text.npos &&
             text.find("of the problem") == text.npos;
    } catch (const std::exception&) {
      return false;
    }
  };
  const auto try_options = [&](const std::function<void(WildCase&)>& change) {
    WildCase candidate = wild;
    change(candidate);
    if (fails(candidate)) wild = std::move(candidate);
  };
  for (int round = 0; round < 2; ++round) {
    try_options([](WildCase& c) { c.pool.reset(); });
    try_options([](WildCase& c) { c.options.stages = "complete"; });
    try_options([](WildCase& c) { c.options.ii.reset(); });
    try_options([](WildCase& c) { c.options.handover = true; });
    try_options([](WildCase& c) { c.options.pins.clear(); });
    try_options([](WildCase& c) { c.options.explain = false; });
    try_options([](WildCase& c) { c.options.seed = 0; });
    try_options([](WildCase& c) { c.order.clear(); });
    try_options([](WildCase& c) { c.cnf.clear(); });
    try_options([](WildCase& c) { c.straight = false; });
    try_options([](WildCase& c) { c.paper = false; });
    try_options([](WildCase& c) { c.stopped = false; });
    try_options([](WildCase& c) { c.threads = false; });
    try_options([](WildCase& c) { c.iterations = 0; });
    try_options([](WildCase& c) { drop_goals(c.options); });
    for (std::size_t g = wild.options.goals.size(); g-- > 0;)
      try_options([g](WildCase& c) {
        if (g < c.options.goals.size())
          c.options.goals.erase(c.options.goals.begin() + static_cast<std::ptrdiff_t>(g));
      });
    if (wild.pool) break;  // its shares are the problem's slots
    wild.problem = shrink(wild.problem, [&](const Problem& problem) {
      WildCase candidate = wild;
      candidate.problem = problem;
      return fails(candidate);
    });
  }
  return wild;
}

std::string options_text(const WildCase& wild) {
  const Options& o = wild.options;
  std::string text = "--stages " + o.stages + " --seed " + std::to_string(o.seed);
  if (o.ii) text += " --ii " + std::to_string(*o.ii);
  if (!o.handover) text += " --no-handover";
  if (o.explain) text += " (explain)";
  for (const auto& [op, slot] : o.pins) text += " --pin " + op + "=" + slot;
  if (o.length_slack) text += " --length-slack " + std::to_string(*o.length_slack);
  for (std::size_t g = 0; g < o.goals.size(); ++g)
    text += (g == 0 ? " --goals " : ",") + o.goals[g];
  if (!wild.order.empty()) text += " order: " + wild.order;
  if (!wild.cnf.empty()) text += " cnf: " + wild.cnf;
  if (wild.straight) text += " (straight-line)";
  if (wild.paper) text += " (paper)";
  if (wild.stopped) text += " (stopped)";
  if (wild.threads) text += " (threads)";
  if (wild.iterations > 0) text += " (iterations " + std::to_string(wild.iterations) + ")";
  if (wild.pool) text += " --registers auto (a pool)";
  return text;
}

}  // namespace twill::test
