// solve_layouts(): the main job as one call. The best of all layouts, what is said of the others,
// limits that are shared, and evidence for what is returned.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/include/twill.hpp"
#include "tests/support/streaming.hpp"
#include "tests/support/temporary_directory.hpp"

namespace layouts_test {

using namespace twill;
using namespace twill::test;

namespace {

std::vector<Lowered> layouts_of(const std::string& kernel, const std::string& machine,
                                int normalize, bool choose_registers = false) {
  LowerOptions options = streaming_loads();
  options.normalize = normalize;
  options.choose_registers = choose_registers;
  const std::string text = builtin_machine(machine);
  return lower(builtin_kernel(kernel_on_machine(kernel, text, machine)), kernel, text, machine,
               options);
}

using Value = std::pair<Cycle, Cycle>;

Value value(const Schedule& schedule) {
  return {schedule.initiation_interval, schedule.length};
}

}  // namespace

TEST_CASE("the best of all layouts is that of each, solved alone") {
  for (const auto& [kernel, machine] :
       {std::pair{"fmha-forward", "hopper"}, {"fmha-forward", "blackwell"}, {"gemm", "hopper"}}) {
    CAPTURE(kernel);
    CAPTURE(machine);
    const std::vector<Lowered> layouts = layouts_of(kernel, machine, 20);
    const LayoutsSolution all = solve_layouts(layouts);
    REQUIRE(all.status == Status::optimal);
    REQUIRE(all.outcomes.size() == layouts.size());
    const Value best = value(*all.solution().schedule);
    CHECK_FALSE(verify(all.layout().problem, *all.solution().schedule));
    for (std::size_t k = 0; k < layouts.size(); ++k) {
      const Solution alone = solve(layouts[k].problem);
      const LayoutOutcome& outcome = all.outcomes[k];
      CAPTURE(layouts[k].layout);
      if (alone.schedule) CHECK(value(*alone.schedule) >= best);
      if (k == all.chosen) {
        CHECK(value(*alone.schedule) == best);
      } else if (outcome.solution && outcome.solution->schedule) {
        CHECK(k < all.chosen);  // later ones are only asked for a better one
        CHECK(value(*outcome.solution->schedule) > best);
      } else if (outcome.none_better) {
        CHECK(outcome.solution->status == Status::infeasible);
      } else {
        CHECK((!outcome.covered_by.empty() || alone.status == Status::infeasible));
      }
    }
  }
}

TEST_CASE("goals, a register split and a certificate come with the one call") {
  Options options;
  options.goals = {"handovers", "registers"};
  options.evidence = true;
  const TemporaryDirectory folder;
  for (const bool choose : {false, true}) {
    const LayoutsSolution all =
        solve_layouts(layouts_of("fmha-forward", "hopper", 20, choose), options);
    REQUIRE(all.status == Status::optimal);
    CHECK(all.solution().goals.size() == 2);
    const std::string path = folder / (choose ? "split" : "given");
    write_certificate(path, all.layout().problem, all.solution());
    const CertificateReport report = check_certificate(path);
    CHECK(report.accepted);
    CHECK(report.refusal == "");
    for (std::size_t k = 0; k < all.outcomes.size(); ++k)
      if (k != all.chosen && all.outcomes[k].solution)
        CHECK(all.outcomes[k].solution->evidence == nullptr);
  }
}

TEST_CASE("goals that may cost cycles of L are compared across layouts") {
  // (Whoever has the fewest slots, then the fewest hand-overs, is found by asking each alone.)
  std::size_t cheaper = 0;
  for (const auto& [kernel, machine, slack] :
       {std::tuple<const char*, const char*, Cycle>{"blackwell-bwd", "blackwell", 0},
        {"blackwell-bwd", "blackwell", 2},
        {"blackwell-bwd", "blackwell", 3},
        {"hopper-layer-norm", "hopper", 8},
        {"gemm", "hopper", 2}}) {
    CAPTURE(kernel);
    CAPTURE(slack);
    const std::string text = builtin_machine(machine);
    const std::vector<Lowered> layouts =
        lower(builtin_kernel(kernel_on_machine(kernel, text, machine)), kernel, text, machine);
    Options options;
    options.goals = {"slots", "handovers"};
    options.length_slack = slack;
    options.evidence = true;
    const LayoutsSolution all = solve_layouts(layouts, options);
    REQUIRE(all.status == Status::optimal);
    std::optional<Value> shortest;
    for (const Lowered& layout : layouts)
      if (const Solution alone = solve(layout.problem);
          alone.schedule && (!shortest || value(*alone.schedule) < *shortest))
        shortest = value(*alone.schedule);
    REQUIRE(shortest);
    // Without slack a layout's goals are those at its own least L; here they are asked for by
    // hand: the least number of hand-overs with as few slots at each length that is allowed.
    using Goals = std::vector<std::int64_t>;
    std::optional<std::pair<Goals, std::size_t>> least;
    for (std::size_t k = 0; k < layouts.size(); ++k) {
      const Solution alone = solve(layouts[k].problem);
      if (!alone.schedule || alone.schedule->initiation_interval != shortest->first) continue;
      const Cycle own = shortest->second + slack - alone.schedule->length;
      if (own < 0) continue;
      Options of_one = options;
      of_one.length_slack = own;
      of_one.evidence = false;
      const Solution best = solve(layouts[k].problem, of_one);
      Goals goals;
      for (const Goal& goal : best.goals) goals.push_back(goal.value);
      if (!least || goals < least->first) least = {goals, k};
    }
    REQUIRE(least);
    const Solution& chosen = all.solution();
    Goals goals;
    for (const Goal& goal : chosen.goals) {
      goals.push_back(goal.value);
      CHECK(goal.lower_bound == goal.value);
    }
    CHECK(goals == least->first);
    CHECK(all.chosen == least->second);
    CHECK(chosen.goals.back().name == "length");
    CHECK(chosen.goals.back().value == chosen.schedule->length);
    REQUIRE(chosen.length_slack);
    CHECK(chosen.length_slack->at_most == shortest->second + slack);
    CHECK(chosen.schedule->length <= chosen.length_slack->at_most);
    CHECK(chosen.length_lower_bound >= shortest->second);
    if (std::string(kernel) == "blackwell-bwd")
      CHECK(all.layout().layout == (slack == 3 ? "8+4-wide" : "8+4"));
    cheaper += chosen.schedule->length > shortest->second ? 1 : 0;
    CHECK_FALSE(verify(all.layout().problem, *chosen.schedule));
    const TemporaryDirectory folder;
    write_certificate(folder / "c", all.layout().problem, chosen);
    CHECK(check_certificate(folder / "c").refusal == "");
    // It says no more than was proved.
    Solution forged = chosen;
    forged.length_slack->at_most = chosen.length_lower_bound + slack + 1;
    CHECK_THROWS_AS(write_certificate(folder / "d", all.layout().problem, forged), InputError);
    forged = chosen;
    forged.length_slack.reset();
    CHECK_THROWS_AS(write_certificate(folder / "d", all.layout().problem, forged), InputError);
    forged = chosen;
    forged.goals.pop_back();
    CHECK_THROWS_AS(write_certificate(folder / "d", all.layout().problem, forged), InputError);
    forged = chosen;
    forged.goals.back().lower_bound = forged.goals.back().value += 1;
    CHECK_THROWS_AS(write_certificate(folder / "d", all.layout().problem, forged), InputError);
    if (slack > 0 && chosen.length_lower_bound == shortest->second) {
      forged = chosen;
      forged.length_slack->cycles -= 1;
      CHECK_THROWS_AS(write_certificate(folder / "d", all.layout().problem, forged), InputError);
    }
  }
  CHECK(cheaper == 1);  // three cycles of L are a slot less, on another layout
}

TEST_CASE("where goals may not cost cycles of L") {
  std::vector<Lowered> layouts = layouts_of("gemm", "hopper", 20);
  const auto refused = [&](const Options& options, const std::string& rule) {
    try {
      solve_layouts(layouts, options);
      FAIL("was accepted: " << rule);
    } catch (const InputError& error) {
      CHECK(error.rule().find(rule) != std::string::npos);
    }
  };
  Options options;
  options.length_slack = 3;
  refused(options, "needs --goals");
  options.goals = {"slots"};
  options.iterations = 4;
  refused(options, "--iterations");
  options.iterations = 0;
  options.length_slack = -1;
  refused(options, "must be from 0 to");
  options.length_slack = 3;
  options.goals = {"slack"};
  refused(options, "comes before L");
  options.goals = {"length"};
  options.length_slack.reset();
  refused(options, "needs --length-slack");
  options.length_slack = 3;
  options.stages = "paper";
  refused(options, "complete search");
  options.stages = "complete";
  layouts = layouts_of("gemm", "hopper", 20, true);
  refused(options, "the register split is chosen");
}

TEST_CASE("what the problem was made of is in the answer, and not in the problem") {
  const std::vector<Lowered> layouts = layouts_of("fmha-forward", "hopper", 20);
  const LayoutsSolution all = solve_layouts(layouts);
  REQUIRE(all.solution().made_by);
  const MadeBy& made = *all.solution().made_by;
  CHECK(made.twill == version());
  CHECK(made.machine == "hopper");
  CHECK(made.machine_sha256 == sha256(builtin_machine("hopper")));
  CHECK(made.layout == all.layout().layout);
  CHECK(made.settings.empty());
  CHECK(made.options == std::vector<std::pair<std::string, std::string>>{
                            {"reading", "paper"}, {"holds", "on"}, {"normalize", "20"}});
  CHECK(schedule_text(all.layout().problem, all.solution()).find("\"version\": 2") !=
        std::string::npos);
  // A problem alone says nothing of it, nor does its file: version 1 as ever.
  const Solution alone = solve(all.layout().problem);
  CHECK_FALSE(alone.made_by);
  CHECK(schedule_text(all.layout().problem, alone).find("\"version\": 1") != std::string::npos);
  CHECK(alone.problem_sha256 == all.solution().problem_sha256);
  CHECK(problem_text(all.layout().problem).find("made_by") == std::string::npos);
  // A what-if is said in the answer; the problem is the one of a machine file with that value.
  LowerOptions options = streaming_loads();
  options.set = {{"units.SFU", "2"}};
  const std::string text = builtin_machine("hopper");
  std::string changed = text;
  const std::size_t at = changed.find("\"SFU\": 1");
  REQUIRE(at != std::string::npos);
  changed.replace(at, 8, "\"SFU\": 2");
  const std::string kernel = builtin_kernel("gemm", "hopper");
  const Lowered set = lower(kernel, "gemm", text, "hopper", options).front();
  const Lowered file = lower(kernel, "gemm", changed, "hopper", streaming_loads()).front();
  CHECK(problem_text(set.problem) == problem_text(file.problem));
  CHECK(set.made_by->settings == std::vector<std::string>{"units.SFU=2"});
  CHECK(set.made_by->machine_sha256 == made.machine_sha256);
  CHECK(file.made_by->machine_sha256 != made.machine_sha256);
}

TEST_CASE("pins of the options are pins of every layout's problem") {
  Options old;
  old.evidence = true;
  std::vector<Lowered> layouts = layouts_of("fmha-forward", "hopper", 20);
  const Problem first = layouts.front().problem;
  const auto slot = std::find_if(first.warps.begin(), first.warps.end(), [&](const WarpSlot& w) {
    return slot_allowed(first, static_cast<int>(first.ops.size()) - 1,
                        static_cast<int>(&w - first.warps.data()));
  });
  REQUIRE(slot != first.warps.end());
  old.pins = {{first.ops.back().id, slot->name}};
  std::erase_if(layouts, [&](const Lowered& layout) {  // a slot that they have
    return layout.problem.warps.size() <= static_cast<std::size_t>(slot - first.warps.begin()) ||
           layout.problem.warps[static_cast<std::size_t>(slot - first.warps.begin())].name !=
               slot->name;
  });
  REQUIRE(layouts.size() > 1);
  std::vector<Lowered> pinned = layouts;
  for (Lowered& layout : pinned)
    layout.problem.pins.push_back({Pin::on_slot, static_cast<int>(first.ops.size()) - 1,
                                   static_cast<int>(slot - first.warps.begin()), -1, -1});
  Options own = old;
  own.pins.clear();
  const LayoutsSolution by_options = solve_layouts(layouts, old);
  const LayoutsSolution by_problems = solve_layouts(pinned, own);
  REQUIRE(by_options.status == Status::optimal);
  CHECK(by_options.solution().schedule == by_problems.solution().schedule);
  CHECK(by_options.layout().problem == by_problems.layout().problem);
  const TemporaryDirectory folder;
  write_certificate(folder / "c", by_options.layout().problem, by_options.solution());
  CHECK(check_certificate(folder / "c").refusal == "");
}

TEST_CASE("callbacks are told the layouts in their order, and what is being solved") {
  const std::vector<Lowered> layouts = layouts_of("fmha-forward", "hopper", 20);
  std::vector<std::string> done;
  std::set<std::string> named;
  solve_layouts(
      layouts, {}, {}, [&](const Progress& progress) { named.insert(progress.layout); },
      [&](const Lowered& layout, const LayoutOutcome&) { done.push_back(layout.layout); });
  REQUIRE(done.size() == layouts.size());
  for (std::size_t k = 0; k < layouts.size(); ++k) CHECK(done[k] == layouts[k].layout);
  CHECK_FALSE(named.empty());
  for (const std::string& name : named)
    CHECK(std::find(done.begin(), done.end(), name) != done.end());
}

TEST_CASE("a stop from the start: one layout has an answer, and nothing is claimed") {
  std::stop_source stop;
  stop.request_stop();
  // Also where the first layout is covered by a later one: then another has the answer.
  std::vector<Lowered> layouts = layouts_of("fmha-forward", "hopper", 0);
  for (int turn = 0; turn < 2; ++turn) {
    const LayoutsSolution all = solve_layouts(layouts, {}, stop.get_token());
    int solved = 0;
    for (const LayoutOutcome& outcome : all.outcomes) solved += outcome.solution.has_value();
    CHECK(solved == 1);
    CHECK(all.solution().stop == Stop::interrupt);
    CHECK((all.status == Status::unknown || all.status == Status::feasible));
    Lowered larger = layouts.front();
    larger.layout = "larger";
    for (WarpSlot& slot : larger.problem.warps) slot.registers += 8;
    layouts.push_back(larger);
  }
}

TEST_CASE("no layout has a schedule: each says why, unless it is not asked") {
  std::vector<Lowered> layouts = layouts_of("figure-1", "figure-1", 0);
  layouts.push_back(layouts.front());
  for (std::size_t k = 0; k < 2; ++k) {
    layouts[k].layout = k == 0 ? "a" : "b";
    Problem& problem = layouts[k].problem;
    problem.pins = {{Pin::at_cycle, 0, -1, 0, -1}, {Pin::at_cycle, 1, -1, 0, -1}};
    problem.warps.front().registers += static_cast<Amount>(k == 0);
    problem.name = "p" + layouts[k].layout;
  }
  for (const bool explain : {true, false}) {
    Options options;
    options.explain = explain;
    const LayoutsSolution all = solve_layouts(layouts, options);
    CHECK(all.status == Status::infeasible);
    CHECK_FALSE(all.solution().schedule);
    CHECK(all.solution().conflict.empty() == !explain);
  }
  CHECK_THROWS_AS(solve_layouts({}), InputError);
}

TEST_CASE("limits are those of all layouts together") {
  const std::vector<Lowered> layouts = layouts_of("fmha-backward", "hopper", 0);
  Options options;
  options.conflict_limit = 50;
  const LayoutsSolution all = solve_layouts(layouts, options);
  REQUIRE(all.outcomes.size() > 1);
  CHECK(all.outcomes[0].solution->stop == Stop::conflict_limit);
  for (std::size_t k = 1; k < all.outcomes.size(); ++k) CHECK_FALSE(all.outcomes[k].solution);
}

}  // namespace layouts_test
