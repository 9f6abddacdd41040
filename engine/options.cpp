#include "engine/options.hpp"

#include <algorithm>

#include "encoders/goals.hpp"
#include "engine/order/searcher.hpp"
#include "engine/search.hpp"
#include "graph/bounds/whole_time.hpp"
#include "graph/index.hpp"

namespace twill {
namespace {

StageChoice parse_stages(const std::string& text) {
  if (text == "complete") return {};
  if (text == "paper") return {StageChoice::paper};
  const bool number = !text.empty() && text.size() <= 6 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  return {StageChoice::limited, number ? std::stoll(text) : 0};
}

EngineChoice parse_engine(const std::string& text) {
  if (text == "auto") return EngineChoice::automatic;
  if (text == "order") return EngineChoice::order;
  if (text == "order-cadical") return EngineChoice::order_cadical;
  if (text == "time_indexed" || text == "cnf") return EngineChoice::time_indexed;
  throw InputError("options", "--engine", text,
                   "must be order, order-cadical, time_indexed or auto");
}

}  // namespace

StageChoice stages_of(const Options& options) {
  const StageChoice stages =
      options.search_stages ? *options.search_stages : parse_stages(options.stages);
  if (stages.kind != StageChoice::limited) return {stages.kind};
  if (stages.most < 1 || stages.most > 999'999)
    throw InputError("options", "--stages",
                     options.search_stages ? to_string(stages) : options.stages,
                     "must be complete, paper or a number from 1 to 999999");
  return stages;
}

std::string to_string(const StageChoice& stages) {
  if (stages.kind == StageChoice::limited) return std::to_string(stages.most);
  return stages.kind == StageChoice::paper ? "paper" : "complete";
}

void check_options(const Options& o) {
  const auto not_negative = [](const char* name, auto value) {
    if (!(value >= 0)) throw InputError("options", name, std::to_string(value), "must be >= 0");
  };
  const bool paper = stages_of(o).kind == StageChoice::paper;
  if (o.ii && (*o.ii < 1 || *o.ii > kMaxCycles))
    throw InputError("options", "--ii", std::to_string(*o.ii),
                     "must be from 1 to " + std::to_string(kMaxCycles));
  if (o.better_than && (o.ii || paper || o.better_than->first < 1))
    throw InputError("options", "better_than", std::to_string(o.better_than->first),
                     "must be >= 1, without --ii and without the paper's window");
  if (o.iterations < 0 || o.iterations > kMaxIterations || (o.iterations > 0 && paper))
    throw InputError(
        "options", "--iterations", std::to_string(o.iterations),
        "must be from 1 to " + std::to_string(kMaxIterations) + ", without the paper's window");
  if (o.evidence && paper)
    throw InputError(
        "options", "--certificate", "--stages paper",
        "the paper's window leaves schedules out: only complete searches and limits on "
        "the stages can be certified");
  if (o.length_slack) {
    const std::string given = std::to_string(*o.length_slack);
    if (*o.length_slack < 0 || *o.length_slack > kMaxCycles)
      throw InputError("options", "--length-slack", given,
                       "must be from 0 to " + std::to_string(kMaxCycles));
    if (o.goals.empty())
      throw InputError("options", "--length-slack", given,
                       "needs --goals: what the cycles of L are to buy");
    if (o.iterations > 0)
      throw InputError("options", "--length-slack", given,
                       "does not go with --iterations, which is about I and L together");
    if (o.better_than)
      throw InputError("options", "--length-slack", given,
                       "does not go with better_than, which is about I and L alone");
  }
  not_negative("--threads", o.threads);
  not_negative("--time-limit", o.time_limit);
  not_negative("--conflict-limit", o.conflict_limit);
  not_negative("--memory", o.memory_limit);
}

void drop_goals(Options& options) {
  options.goals.clear();
  options.length_slack.reset();
}

std::vector<std::string> goals_of(const Problem& problem, const Options& options) {
  std::vector<std::string> names = options.goals;
  if (!options.length_slack) {
    names = listed_goals(problem, names);
    if (std::find(names.begin(), names.end(), kLengthGoal) != names.end())
      throw InputError("options", "--goals", kLengthGoal,
                       "L is the smallest before any goal: needs --length-slack");
    return names;
  }
  if (names.empty()) return names;  // check_options() refuses that
  if (parse_goal(problem, listed_goals(problem, names).front()).kind->before_length)
    throw InputError("options", "--length-slack", std::to_string(*options.length_slack),
                     "does not go with the goal " + names.front() + ", which comes before L");
  if (std::find(names.begin(), names.end(), kLengthGoal) == names.end())
    names.insert(names.back() == "canonical" ? names.end() - 1 : names.end(), kLengthGoal);
  return listed_goals(problem, names);
}

void refuse_length_slack(const Options& options, const std::string& what) {
  if (options.length_slack)
    throw InputError("options", "--length-slack", std::to_string(*options.length_slack),
                     what + " by I and L alone: must not be given");
}

void refuse_modulo_options(const Options& o) {
  const char* const rule = "the straight-line program does not have it: needs form=modulo";
  if (!o.handover) throw InputError("options", "--no-handover", o.encoding, rule);
  if (o.iterations > 0)
    throw InputError("options", "--iterations", std::to_string(o.iterations), rule);
  if (o.better_than)
    throw InputError("options", "better_than", std::to_string(o.better_than->first), rule);
}

void refuse_paper(const Options& options, Form form) {
  const StageChoice stages = stages_of(options);
  if (stages.kind == StageChoice::paper || form != Form::modulo)
    throw InputError("options", "--stages", to_string(stages), "must be complete or a number here");
}

/// Is a unit shared by several ops at a time, in parts of different sizes, and are cycles few? Then
/// sums over each cycle propagate more than sums over pairs of ops: of PSPLIB's projects with 30
/// activities the hardest take seconds, and the order form is not done in 30 s
/// (bench/results/hard.md).
bool counts_shares(const Problem& problem) {
  constexpr Cycle kFewCycles = 1'000;  // of all ops together
  Cycle cycles = 0;
  bool shares = false;
  for (const Op& op : problem.ops) {
    cycles += op.cycles;
    if (cycles > kFewCycles) return false;
    for (const Reservation& r : op.reservations)
      shares = shares || (r.amount > 1 && problem.units[at(r.unit)].capacity > r.amount);
  }
  return shares;
}

const Engine& chosen_engine(const Problem& problem, const Options& options,
                            const EncodingChoice& choice) {
  const bool time_indexed_only =
      choice.form != Form::modulo || choice.start != StartEncoding::automatic;
  const EngineChoice engine =
      options.search_engine ? *options.search_engine : parse_engine(options.engine);
  if (engine == EngineChoice::automatic)
    return time_indexed_only || problem.ops.size() > kMaxOrderOps || counts_shares(problem)
               ? time_indexed_engine()
               : order_engine();
  if (engine == EngineChoice::time_indexed) return time_indexed_engine();
  const bool cadical = engine == EngineChoice::order_cadical;
  const char* const name = cadical ? "order-cadical" : "order";
  if (time_indexed_only)
    throw InputError("options", "--engine", name,
                     "has no straight-line forms and no start encodings: use time_indexed");
  if (!cadical) return order_engine();
  if (!has_cadical_searcher())
    throw InputError(
        "options", "--engine", name,
        "needs CaDiCaL 1.6 or later, which has propagators: this is " + cadical_version());
  return order_cadical_engine();
}

std::string none_better_text(const std::pair<Cycle, Cycle>& than) {
  const std::string ii = std::to_string(than.first);
  if (than.second <= 0) return "no schedule has I < " + ii;
  return "no schedule is better than I = " + ii + ", L = " + std::to_string(than.second);
}

PinnedProblem pinned_problem(const Problem& problem, const Options& options) {
  const auto index = [](const auto& all, auto member, const std::string& name, const char* what) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].*member == name) return static_cast<int>(i);
    throw InputError("options", "--pin", name, std::string("must name ") + what);
  };
  PinnedProblem pinned{problem, options};
  for (const auto& [op, slot] : options.pins) {
    const int v = index(problem.ops, &Op::id, op, "an op of the problem");
    const int w = index(problem.warps, &WarpSlot::name, slot, "a slot of the problem");
    if (!slot_allowed(problem, v, w))
      throw InputError("options", "--pin", op + "=" + slot,
                       "the slot must be wide enough and of the op's latency class");
    const Pin pin{Pin::on_slot, v, w, -1, -1};
    if (std::find(problem.pins.begin(), problem.pins.end(), pin) == problem.pins.end())
      pinned.problem.pins.push_back(pin);
  }
  pinned.options.pins.clear();
  check(pinned.problem);
  return pinned;
}

}  // namespace twill
