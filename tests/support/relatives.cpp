#include "tests/support/relatives.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "engine/certificate/certificate.hpp"
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
Truth truth_of(const WildCase& wild, const Asked& question, std::int64_t most_nodes) {
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
    Asked only = question;
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

class Judge {
 public:
  Judge(const WildCase& wild, const JudgeSettings& settings, Tally& tally)
      : wild_(wild), settings_(settings), tally_(tally), question_(asked(wild)) {}

  std::string run() {
    truth_ = truth_of(wild_, question_, settings_.most_nodes);
    tally_["nodes"] += truth_.nodes;
    ++tally_[!truth_.finished ? "unfinished" : truth_.best ? "found" : "none"];
    for (const char* engine : {"order", "cnf"}) {
      std::string wrong = one(engine);
      if (!wrong.empty()) return wrong.insert(wrong.find(':') + 1, std::string(" ") + engine);
    }
    return "";
  }

 private:
  std::string one(const char* engine) {
    Options options = wild_.options;
    options.engine = engine;
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
    std::string wrong = wrong_answer(answer.problem, answer.solution);
    if (wrong.empty() && options.evidence) wrong = certify(answer.problem, answer.solution);
    if (wrong.empty() && !wild_.pool && !wild_.options.ii) wrong = ask_better(options);
    return wrong;
  }

  std::string wrong_answer(const Problem& problem, const Solution& got) {
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
    if (truth_.best && better(*truth_.best, s))
      return "not best: " + pair_text(s) + " where there is " + pair_text(*truth_.best);
    if (got.ii_lower_bound > s.initiation_interval ||
        (!wild_.options.ii && got.ii_lower_bound != s.initiation_interval) ||
        got.length_lower_bound != s.length)
      return "bounds: (" + std::to_string(got.ii_lower_bound) + ", " +
             std::to_string(got.length_lower_bound) + ") of an optimal " + pair_text(s);
    if (stage_count(s) > got.max_stages)
      return "stages: " + std::to_string(stage_count(s)) + " of a search of up to " +
             std::to_string(got.max_stages);
    for (const Op& op : problem.ops)
      if (op.streaming && (!got.ring_depths.contains(op.id) ||
                           got.ring_depths.at(op.id) != measured(problem, s, "ring:" + op.id)))
        return "ring depth: of " + op.id;
    return wrong_goals(problem, got);
  }

  std::string wrong_goals(const Problem& problem, const Solution& got) {
    const std::vector<std::string> names = all_goals(problem, wild_.options.goals);
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
    if (truth_.finished && !wild_.pool && !wild_.options.goals.empty() &&
        wild_.options.goals.back() == "canonical" && *truth_.best != *got.schedule)
      return "canonical: is another schedule";
    return "";
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

  // Around the best the answer is known: it is the best, or there is none.
  std::string ask_better(Options options) {
    if (!truth_.finished) return "";
    options.evidence = false;
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
    for (const auto& [ii, length] : asked) {
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
        if (const std::string wrong = wrong_answer(wild_.problem, got); !wrong.empty())
          return "better:" + than + wrong;
      } catch (const std::exception& e) {
        return "better throws:" + than + e.what();
      }
    }
    return "";
  }

  const WildCase& wild_;
  const JudgeSettings& settings_;
  Tally& tally_;
  Asked question_;
  Truth truth_;
};

}  // namespace

std::string fault(const WildCase& wild, const JudgeSettings& settings, Tally& tally) {
  return Judge(wild, settings, tally).run();
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
    try_options([](WildCase& c) { c.options.goals.clear(); });
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
  for (std::size_t g = 0; g < o.goals.size(); ++g)
    text += (g == 0 ? " --goals " : ",") + o.goals[g];
  if (wild.pool) text += " --registers auto (a pool)";
  return text;
}

}  // namespace twill::test
