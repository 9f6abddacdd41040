// solve_layouts(): the main job as one call. The best of all layouts, what is said of the others,
// limits that are shared, and evidence for what is returned.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/include/twill.hpp"
#include "tests/support/streaming.hpp"
#include "tests/support/temporary_directory.hpp"

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
